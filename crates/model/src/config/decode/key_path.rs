//! The path of a key in messages.

/// The current path of the walk as text.
#[derive(Debug, Default)]
pub(super) struct KeyPath {
    pub(super) text: String,
    segment_starts: Vec<usize>,
}

impl KeyPath {
    pub(super) fn push(&mut self, key: &str) {
        self.segment_starts.push(self.text.len());
        if !self.text.is_empty() {
            self.text.push('.');
        }
        self.text.push_str(&quote_key(key));
    }

    pub(super) fn push_index(&mut self, at: usize) {
        self.segment_starts.push(self.text.len());
        self.text.push_str(&format!("[{at}]"));
    }

    pub(super) fn pop(&mut self) {
        let mark = self.segment_starts.pop().unwrap_or_default();
        self.text.truncate(mark);
    }
}

/// A key in a key path: quoted unless it is a bare key (TOML 1.0).
pub fn quote_key(key: &str) -> String {
    let bare =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare {
        return key.to_owned();
    }
    let mut text = String::new();
    // Writing into a String cannot fail.
    let short: String = key.chars().take(80).collect();
    let _ = super::super::value::write_toml_string(&short, &mut text);
    text
}
