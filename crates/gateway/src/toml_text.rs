//! Values in the syntax of TOML, on one line.

/// A key with its value, which is already in the syntax of TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    pub key: &'static str,
    pub value: String,
}

impl ConfigEntry {
    pub fn new(key: &'static str, value: impl Into<String>) -> ConfigEntry {
        ConfigEntry { key, value: value.into() }
    }

    pub fn text(key: &'static str, text: &str) -> ConfigEntry {
        ConfigEntry::new(key, quote(text))
    }
}

pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A string, or a list of strings if there are several.
pub fn quote_all(texts: &[String]) -> String {
    match texts {
        [one] => quote(one),
        several => list(several.iter().map(|one| quote(one))),
    }
}

pub fn list(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", values.into_iter().collect::<Vec<_>>().join(", "))
}

pub fn inline_table(entries: &[ConfigEntry]) -> String {
    let pairs: Vec<String> =
        entries.iter().map(|entry| format!("{} = {}", entry.key, entry.value)).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// A text for a comment: one line of visible characters.
pub fn comment_text(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
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
