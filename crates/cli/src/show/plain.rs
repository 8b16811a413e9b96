//! Foreign text without control characters: text from a server or a file must not steer the terminal.

/// `text` with every control character but the line feed replaced.
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() && letter != '\n' { '\u{fffd}' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn escapes_do_not_pass() {
        assert_eq!(
            plain("a\x1b[2J\x07é\u{9b}1m\tb\n\r"),
            "a\u{fffd}[2J\u{fffd}é\u{fffd}1m\u{fffd}b\n\u{fffd}"
        );
    }
}
