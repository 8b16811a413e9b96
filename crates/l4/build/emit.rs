//! Writes the Rust side of the ABI: constants, enums with names, structs that turn into bytes and back.

use std::fmt::{self, Write};

use crate::abi::{AbiField, AbiItem, AbiMember};

/// The text of `abi.rs`. `headers` is fingerprinted.
pub fn emit_rust(items: &[AbiItem], headers: &str) -> Result<String, fmt::Error> {
    let mut out = String::new();
    writeln!(out, "/// Fingerprint of the headers (FNV-1a); pinned maps carry it.")?;
    writeln!(out, "pub const FINGERPRINT: u64 = {:#x};", fingerprint(headers))?;
    for item in items {
        match item {
            AbiItem::Number { doc, name, value } => {
                emit_docs(&mut out, doc, "")?;
                writeln!(out, "pub const {name}: u32 = {value:#x};")?;
            }
            AbiItem::Enum { doc, name, members } => emit_enum(&mut out, doc, name, members)?,
            AbiItem::Struct { doc, name, fields, size } => {
                emit_struct(&mut out, doc, name, fields, *size)?;
            }
        }
    }
    Ok(out)
}

fn emit_enum(out: &mut String, doc: &[String], name: &str, members: &[AbiMember]) -> fmt::Result {
    let name = camel_case(name);
    emit_docs(out, doc, "")?;
    writeln!(out, "#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]")?;
    writeln!(out, "#[repr(u32)]\npub enum {name} {{")?;
    for member in members {
        emit_docs(out, &member.doc, "    ")?;
        writeln!(out, "    {} = {},", camel_case(&member.name), member.value)?;
    }
    writeln!(out, "}}\nimpl {name} {{")?;
    writeln!(out, "    /// All, in their order.")?;
    writeln!(out, "    pub const ALL: [{name}; {}] = [", members.len())?;
    for member in members {
        writeln!(out, "        {name}::{},", camel_case(&member.name))?;
    }
    writeln!(out, "    ];")?;
    writeln!(out, "    /// The one with this number.")?;
    writeln!(out, "    pub fn of(number: u32) -> Option<{name}> {{")?;
    writeln!(out, "        Self::ALL.into_iter().find(|one| *one as u32 == number)\n    }}")?;
    writeln!(out, "    /// Its name, in kebab-case.")?;
    writeln!(out, "    pub fn name(self) -> &'static str {{\n        match self {{")?;
    for member in members {
        let kebab = member.name.to_lowercase().replace('_', "-");
        writeln!(out, "            {name}::{} => \"{kebab}\",", camel_case(&member.name))?;
    }
    writeln!(out, "        }}\n    }}")?;
    writeln!(out, "    /// What it means, in a sentence.")?;
    writeln!(out, "    pub fn text(self) -> &'static str {{\n        match self {{")?;
    for member in members {
        let text = member.doc.join(" ");
        writeln!(out, "            {name}::{} => {text:?},", camel_case(&member.name))?;
    }
    writeln!(out, "        }}\n    }}\n}}")
}

fn emit_struct(
    out: &mut String,
    doc: &[String],
    name: &str,
    fields: &[AbiField],
    size: usize,
) -> fmt::Result {
    let name = camel_case(name);
    emit_docs(out, doc, "")?;
    writeln!(out, "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]\npub struct {name} {{")?;
    for field in fields {
        emit_docs(out, &field.doc, "    ")?;
        let bits = field.width * 8;
        match field.count {
            Some(count) => writeln!(out, "    pub {}: [u{bits}; {count}],", field.name)?,
            None => writeln!(out, "    pub {}: u{bits},", field.name)?,
        }
    }
    writeln!(out, "}}\nimpl bpf::MapValue for {name} {{\n    const SIZE: usize = {size};")?;
    writeln!(out, "    fn write(&self, out: &mut [u8]) {{")?;
    for field in fields {
        let order = if field.big_endian { "be" } else { "ne" };
        for (of, at) in field_elements(field) {
            let end = at + field.width;
            writeln!(
                out,
                "        out[{at}..{end}].copy_from_slice(&self.{of}.to_{order}_bytes());"
            )?;
        }
    }
    writeln!(out, "    }}\n    fn read(bytes: &[u8]) -> Self {{\n        Self {{")?;
    for field in fields {
        let one = |at: usize| {
            let order = if field.big_endian { "be" } else { "ne" };
            let bytes: Vec<String> =
                (at..at + field.width).map(|byte| format!("bytes[{byte}]")).collect();
            format!("u{}::from_{order}_bytes([{}])", field.width * 8, bytes.join(", "))
        };
        let all: Vec<String> = field_elements(field).iter().map(|(_, at)| one(*at)).collect();
        match field.count {
            Some(_) => writeln!(out, "            {}: [{}],", field.name, all.join(", "))?,
            None => writeln!(out, "            {}: {},", field.name, all.join(""))?,
        }
    }
    writeln!(out, "        }}\n    }}\n}}")
}

/// Each element of a field as an expression, with its offset.
fn field_elements(field: &AbiField) -> Vec<(String, usize)> {
    match field.count {
        None => vec![(field.name.clone(), field.offset)],
        Some(count) => (0..count)
            .map(|at| (format!("{}[{at}]", field.name), field.offset + at * field.width))
            .collect(),
    }
}

fn emit_docs(out: &mut String, doc: &[String], indent: &str) -> fmt::Result {
    doc.iter().try_for_each(|line| writeln!(out, "{indent}/// {line}"))
}

fn camel_case(name: &str) -> String {
    let word = |word: &str| {
        let (head, tail) = word.split_at(1.min(word.len()));
        head.to_uppercase() + &tail.to_lowercase()
    };
    name.split('_').map(word).collect()
}

fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
