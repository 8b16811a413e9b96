//! Values in TOML syntax on one line: strings, lists, inline tables.

/// A key of a table with its value, which is already in TOML syntax.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyValue {
    pub key: &'static str,
    pub value: String,
}

impl KeyValue {
    pub fn new(key: &'static str, value: impl Into<String>) -> KeyValue {
        KeyValue { key, value: value.into() }
    }
}

pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A string, or a list of strings if there are several.
pub fn quote_all<S: AsRef<str>>(texts: &[S]) -> String {
    match texts {
        [one] => quote(one.as_ref()),
        several => list(several.iter().map(|one| quote(one.as_ref()))),
    }
}

/// A list of values that are already in TOML syntax.
pub fn list(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", values.into_iter().collect::<Vec<_>>().join(", "))
}

/// An inline table of these keys.
pub fn table(keys: &[KeyValue]) -> String {
    let pairs: Vec<String> =
        keys.iter().map(|KeyValue { key, value }| format!("{key} = {value}")).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// A text in which `*`, `?` and `\` stand for themselves.
pub fn escape_glob(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '*' | '?' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for one in ["", "a", "\"", "\\", "a\nb\r\t", "\u{7f}\u{1}", "ä#\u{85}"] {
            let line = format!("a = {}\n", quote(one));
            let read = model::config::load(&line, "x").unwrap_err().to_string();
            assert!(!read.contains("not TOML"), "{line}: {read}");
        }
        assert_eq!(quote_all(&["a"]), "\"a\"");
        assert_eq!(quote_all(&["a", "b"]), "[\"a\", \"b\"]");
        let keys = [KeyValue::new("a", quote("b")), KeyValue::new("c", "1")];
        assert_eq!(table(&keys), "{ a = \"b\", c = 1 }");
    }
}
