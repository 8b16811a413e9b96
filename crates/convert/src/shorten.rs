//! Texts of the source file, short and harmless enough for messages and comments.

/// The most characters of a directive in a note.
const SHOWN: usize = 120;

/// Shortens a text and replaces its control characters, for a message or a comment.
pub fn shorten(text: &str) -> String {
    // Nearly every text of a file is a short one.
    if text.len() <= SHOWN && text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_control()) {
        return text.to_owned();
    }
    let words: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() { format!("{words}…") } else { words }
}
