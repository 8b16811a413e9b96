//! The changes that a rule makes to the head of a response.

use super::added_lines::field_name;
use crate::config::RewriteConfig;

/// Changes of a response.
#[derive(Clone, Debug, Default)]
pub struct ResponseRewrite {
    /// Names of removed fields, lower case.
    pub removed_headers: Vec<String>,
    /// Added lines, each with its line end.
    pub added_lines: Vec<u8>,
}

impl ResponseRewrite {
    pub fn new(rewrite: &RewriteConfig) -> ResponseRewrite {
        let mut edits = ResponseRewrite::default();
        edits
            .removed_headers
            .extend(rewrite.answer_remove.iter().map(|name| name.to_ascii_lowercase()));
        for field in &rewrite.answer_set {
            edits.removed_headers.push(field_name(field));
            field_line(field, &mut edits.added_lines);
        }
        edits
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.removed_headers.is_empty() && self.added_lines.is_empty()
    }
}

/// A field as a line.
fn field_line(field: &str, out: &mut Vec<u8>) {
    let (name, value) = field.split_once(':').unwrap_or((field, ""));
    for part in [name, ": ", value.trim(), "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}
