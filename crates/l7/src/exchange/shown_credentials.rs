//! What a client shows of itself: its head as it came, kept for authentication. It checks nothing.

use std::ops::Range;

use model::request_head::fields;

/// The head of a request before edits and rules.
pub struct ShownCredentials {
    pub received: Vec<u8>,
    /// The place of the target in it.
    pub target: Range<usize>,
    /// Field lines of a refusal.
    pub reply_lines: Vec<u8>,
}

impl ShownCredentials {
    /// The target as it came.
    pub fn target(&self) -> &[u8] {
        self.received.get(self.target.clone()).unwrap_or_default()
    }

    /// The value of a field as it came; `None`: it is missing, or there are several, of which it is not clear which one
    /// counts.
    pub fn single_field(&self, name: &str) -> Option<&[u8]> {
        let mut values = fields(&self.received, name.as_bytes());
        let value = values.next()?;
        values.next().is_none().then_some(value)
    }
}
