//! A sentence as indented lines.

use super::plain::plain;

/// Indented lines of at most `width` characters.
pub fn wrapped(text: &str, width: usize) -> String {
    // Lines of more than 120 characters are hard to read; below 40 words would be broken.
    let room = width.clamp(40, 120) - 4;
    let mut out = String::new();
    let mut line = String::new();
    for word in plain(text).split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            out.push_str(&format!("    {line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    format!("{out}    {line}\n")
}
