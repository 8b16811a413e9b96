//! Lines of HAProxy's files and their words: quotes, escapes and comments by section 2.2 of its manual.

/// The limit of words in one line.
/// HAProxy itself takes 64 words in a line (MAX_LINE_ARGS).
const WORDS: usize = 256;

/// A line that is neither empty nor a comment.
#[derive(Clone, Debug, Default)]
pub struct ConfigLine {
    pub number: u32,
    /// The words of the line, without quotes.
    pub words: Vec<String>,
    /// The line uses an environment variable, whose value is unknown here.
    pub has_variable: bool,
    /// A quote is not closed.
    pub unclosed_quote: bool,
}

impl ConfigLine {
    /// A word by its position, or an empty string.
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// The words from this position on.
    pub fn rest(&self, from: usize) -> &[String] {
        self.words.get(from..).unwrap_or(&[])
    }

    /// The whole line, for messages.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// All lines that are neither empty nor comments.
pub fn lines(text: &str) -> Vec<ConfigLine> {
    let numbered = text.lines().zip(1u32..);
    numbered
        .map(|(text, number)| line(text, number))
        .filter(|line| !line.words.is_empty())
        .collect()
}

fn line(text: &str, number: u32) -> ConfigLine {
    let mut out = ConfigLine { number, ..ConfigLine::default() };
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (_, '\\') => {
                let escaped = chars.next().map_or('\\', |next| match next {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    other => other,
                });
                // Other escapes belong to a regular expression, so the backslash stays.
                let kept =
                    escaped.is_ascii_punctuation() && !matches!(escaped, '\\' | '"' | '\'' | '#');
                let word = word.get_or_insert_default();
                if kept || escaped.is_ascii_alphanumeric() {
                    word.push('\\');
                }
                word.push(escaped);
            }
            (None, '#') => break,
            (None, c) if c.is_whitespace() => {
                out.words.extend(word.take().filter(|_| out.words.len() < WORDS));
            }
            (Some('"'), '$') => {
                out.has_variable = true;
                word.get_or_insert_default().push('$');
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    out.words.extend(word);
    out.unclosed_quote = quote.is_some();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_with_quotes_escapes_and_comments() {
        for (text, words) in [
            ("  bind :80 # all\n", vec!["bind", ":80"]),
            ("acl a path_reg ^/x\\.php$", vec!["acl", "a", "path_reg", "^/x\\.php$"]),
            ("a 'b c' \"d e\" f\\ g h\\#i", vec!["a", "b c", "d e", "f g", "h#i"]),
            ("a \"\" ''", vec!["a", "", ""]),
        ] {
            assert_eq!(lines(text)[0].words, words, "{text}");
        }
        assert!(lines("x \"${HOME}\"")[0].has_variable && !lines("x '$HOME' $a")[0].has_variable);
        assert!(lines("x \"a")[0].unclosed_quote && lines("# a\n\n").is_empty());
    }
}
