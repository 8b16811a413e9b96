//! Parses the subset of C in the ABI headers. Anything outside the subset is an error, so that no declaration is lost.

/// One item of the headers.
pub enum AbiItem {
    Number {
        doc: Vec<String>,
        name: String,
        value: u64,
    },
    Enum {
        doc: Vec<String>,
        name: String,
        members: Vec<AbiMember>,
    },
    /// A `struct` with its size in bytes.
    Struct {
        doc: Vec<String>,
        name: String,
        fields: Vec<AbiField>,
        size: usize,
    },
}

pub struct AbiMember {
    pub doc: Vec<String>,
    pub name: String,
    pub value: u64,
}

pub struct AbiField {
    pub doc: Vec<String>,
    pub name: String,
    /// Bytes of one element: 1, 2, 4 or 8.
    pub width: usize,
    pub big_endian: bool,
    /// Elements, for an array.
    pub count: Option<usize>,
    pub offset: usize,
}

/// Items in their order.
pub fn parse_headers(text: &str) -> Result<Vec<AbiItem>, String> {
    let mut items = Vec::new();
    let mut doc = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix("///") {
            doc.push(words.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("#define ") {
            if let Some((name, value)) = rest.split_once(' ') {
                let name = name.to_owned();
                let value = parse_number(value)?;
                items.push(AbiItem::Number { doc: std::mem::take(&mut doc), name, value });
            }
        } else if let Some(name) = line.strip_prefix("enum ") {
            let name = name.trim_end_matches(" {").to_owned();
            let members = parse_members(&mut lines)?;
            items.push(AbiItem::Enum { doc: std::mem::take(&mut doc), name, members });
        } else if let Some(name) = line.strip_prefix("struct ") {
            let name = name.trim_end_matches(" {").to_owned();
            let (fields, size) = parse_fields(&name, &mut lines)?;
            items.push(AbiItem::Struct { doc: std::mem::take(&mut doc), name, fields, size });
        } else if !(line.is_empty() || line.starts_with("/*") || line.starts_with('#')) {
            return Err(format!("the ABI headers may not say `{line}`"));
        }
    }
    Ok(items)
}

fn parse_members<'t>(lines: &mut impl Iterator<Item = &'t str>) -> Result<Vec<AbiMember>, String> {
    let mut out = Vec::new();
    let mut doc = Vec::new();
    for line in lines {
        if let Some(words) = line.strip_prefix("///") {
            doc.push(words.trim().to_owned());
        } else if line == "};" {
            return Ok(out);
        } else {
            let (name, value) = line
                .trim_end_matches(',')
                .split_once(" = ")
                .ok_or_else(|| format!("a member is `NAME = number,`, not `{line}`"))?;
            let name = name.to_owned();
            let value = parse_number(value)?;
            out.push(AbiMember { doc: std::mem::take(&mut doc), name, value });
        }
    }
    Err("an enum does not end".to_owned())
}

fn parse_fields<'t>(
    owner: &str,
    lines: &mut impl Iterator<Item = &'t str>,
) -> Result<(Vec<AbiField>, usize), String> {
    let mut out = Vec::new();
    let mut doc = Vec::new();
    let mut offset = 0;
    let mut align = 1;
    for line in lines {
        if let Some(words) = line.strip_prefix("///") {
            doc.push(words.trim().to_owned());
            continue;
        }
        if line == "};" {
            if offset % align != 0 {
                return Err(format!("struct {owner} has padding at its end"));
            }
            return Ok((out, offset));
        }
        let (kind, rest) = line
            .trim_end_matches(';')
            .split_once(' ')
            .ok_or_else(|| format!("a field is `type name;`, not `{line}`"))?;
        let (width, big) = match kind {
            "__u8" => (1, false),
            "__u16" => (2, false),
            "__u32" => (4, false),
            "__u64" => (8, false),
            "__be16" => (2, true),
            "__be32" => (4, true),
            other => return Err(format!("struct {owner} has a field of type `{other}`")),
        };
        let (name, count) = match rest.split_once('[') {
            Some((name, count)) => {
                (name, Some(parse_number(count.trim_end_matches(']'))? as usize))
            }
            None => (rest, None),
        };
        if offset % width != 0 {
            return Err(format!("struct {owner} has padding before {name}"));
        }
        let doc = std::mem::take(&mut doc);
        out.push(AbiField { doc, name: name.to_owned(), width, big_endian: big, count, offset });
        offset += width * count.unwrap_or(1);
        align = align.max(width);
    }
    Err(format!("struct {owner} does not end"))
}

fn parse_number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is not a number"))
}
