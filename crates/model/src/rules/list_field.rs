//! The elements of a field that is a list with commas (RFC 9110 §5.6.1), as servers read them.

/// How a server takes a list apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListReading {
    /// Commas within quotes separate nothing.
    Quoted,
    /// The same, and an element is also what stands within its quotes.
    Unquoted,
    /// Every comma separates.
    EveryComma,
}

impl ListReading {
    /// A list without quotes has the first one alone.
    pub const ALL: [ListReading; 3] =
        [ListReading::Quoted, ListReading::Unquoted, ListReading::EveryComma];
}

/// Whether an element matches. Blanks around it are none of it.
pub fn any_element_matches(
    list: &[u8],
    reading: ListReading,
    matches: &dyn Fn(&[u8]) -> bool,
) -> bool {
    let mut rest = Some(list);
    while let Some(list) = rest {
        let end = match reading {
            ListReading::EveryComma => list.iter().position(|byte| *byte == b','),
            ListReading::Quoted | ListReading::Unquoted => element_end(list),
        };
        let element = list[..end.unwrap_or(list.len())].trim_ascii();
        if matches(element)
            || reading == ListReading::Unquoted
                && element.contains(&b'"')
                && matches(&without_quotes(element))
        {
            return true;
        }
        rest = end.map(|end| &list[end + 1..]);
    }
    false
}

/// Where the first comma outside of quotes is. A `\` within them takes the next byte along.
fn element_end(list: &[u8]) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    list.iter().position(|&byte| {
        if escaped {
            escaped = false;
            return false;
        }
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => escaped = true,
            b',' => return !quoted,
            _ => {}
        }
        false
    })
}

/// An element without quotes and without the `\` that stands for nothing within them.
fn without_quotes(element: &[u8]) -> Vec<u8> {
    let mut bytes = element.iter().copied();
    let mut plain = Vec::with_capacity(element.len());
    let mut quoted = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => plain.extend(bytes.next()),
            _ => plain.push(byte),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(list: &str, reading: ListReading) -> Vec<String> {
        let all = std::cell::RefCell::new(Vec::new());
        any_element_matches(list.as_bytes(), reading, &|element| {
            all.borrow_mut().push(String::from_utf8_lossy(element).into_owned());
            false
        });
        all.into_inner()
    }

    #[test]
    fn lists_are_taken_apart_as_servers_do() {
        for (list, quoted, every_comma) in [
            ("a", &["a"][..], &["a"][..]),
            ("", &[""], &[""]),
            ("a, b ,\tc", &["a", "b", "c"], &["a", "b", "c"]),
            ("a,,b,", &["a", "", "b", ""], &["a", "", "b", ""]),
            (r#"a;t="x,y", b"#, &[r#"a;t="x,y""#, "b"], &[r#"a;t="x"#, r#"y""#, "b"]),
            (r#""x\",y", b"#, &[r#""x\",y""#, "b"], &[r#""x\""#, r#"y""#, "b"]),
            (r#"a\,b"#, &[r"a\", "b"], &[r"a\", "b"]),
            (r#"a, "b, c"#, &["a", r#""b, c"#], &["a", r#""b"#, "c"]),
            (r#"a, "b\"#, &["a", r#""b\"#], &["a", r#""b\"#]),
        ] {
            assert_eq!(elements(list, ListReading::Quoted), quoted, "{list}");
            assert_eq!(elements(list, ListReading::EveryComma), every_comma, "{list}");
        }
        let unquoted = elements(r#""a", x;y="b\",c""#, ListReading::Unquoted);
        assert_eq!(unquoted, [r#""a""#, "a", r#"x;y="b\",c""#, r#"x;y=b",c"#]);
    }
}
