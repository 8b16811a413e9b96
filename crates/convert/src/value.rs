//! Values in TOML syntax on one line: strings, lists, inline tables.

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

/// An inline table of values that are already in TOML syntax.
pub fn table<K: AsRef<str>>(pairs: &[(K, String)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(key, value)| format!("{} = {value}", key.as_ref())).collect();
    format!("{{ {} }}", pairs.join(", "))
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
        assert_eq!(table(&[("a", quote("b")), ("c", "1".into())]), "{ a = \"b\", c = 1 }");
    }
}
