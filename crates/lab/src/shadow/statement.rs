//! Splits the configuration of another balancer into statements and words, only as far as a shadow run needs them.
//!
//! The converter has the real parsers. This one must find hosts, paths and files also where the converter left them
//! out, and a wrong find costs one request.

use convert::dialect::Dialect;

/// A statement: its line from 1, and its words without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceStatement {
    pub line: u32,
    pub words: Vec<String>,
}

impl SourceStatement {
    /// The directive, in lower case.
    pub fn directive(&self) -> String {
        self.word(0).to_ascii_lowercase()
    }

    /// A word, or an empty string.
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }
}

/// All statements of a text.
pub fn split_statements(text: &str, dialect: Dialect) -> Vec<SourceStatement> {
    let ends: &[char] = match dialect {
        Dialect::Nginx => &[';', '{', '}'],
        Dialect::Apache => &['<', '>'],
        _ => &[],
    };
    let mut out = Vec::new();
    for (line, number) in text.lines().zip(1u32..) {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut quote = None;
        let mut escaped = false;
        for c in line.chars() {
            match quote {
                _ if escaped => {
                    word.push(c);
                    escaped = false;
                }
                Some(open) if c == open => quote = None,
                None if matches!(c, '"' | '\'') => quote = Some(c),
                None if c == '#' && word.is_empty() => break,
                None if c.is_whitespace() => words.extend(take_word(&mut word)),
                None if ends.contains(&c) && !belongs_to_word(&word, c) => {
                    words.extend(take_word(&mut word));
                    push_statement(&mut out, number, &mut words);
                }
                _ => {
                    escaped = c == '\\';
                    word.push(c);
                }
            }
        }
        words.extend(take_word(&mut word));
        push_statement(&mut out, number, &mut words);
    }
    out
}

/// Whether a brace is part of an expression such as `[0-9]{2}`.
fn belongs_to_word(word: &str, c: char) -> bool {
    match c {
        '{' => !word.is_empty(),
        '}' => word.contains('{'),
        _ => false,
    }
}

fn take_word(word: &mut String) -> Option<String> {
    (!word.is_empty()).then(|| std::mem::take(word))
}

fn push_statement(out: &mut Vec<SourceStatement>, line: u32, words: &mut Vec<String>) {
    if !words.is_empty() {
        out.push(SourceStatement { line, words: std::mem::take(words) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_where_each_dialect_ends_them() {
        let words = |text: &str, dialect| {
            let all = split_statements(text, dialect);
            all.into_iter().map(|one| one.words.join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(
            words("location = /a { return 200 \"x y\"; } # no", Dialect::Nginx),
            ["location = /a", "return 200 x y"]
        );
        assert_eq!(words("  acl a path_beg /b # c", Dialect::Haproxy), ["acl a path_beg /b"]);
        assert_eq!(
            words("<Location /a>\nRequire all", Dialect::Apache),
            ["Location /a", "Require all"]
        );
        assert_eq!(words("location ~ ^/[a]{2}$ { }", Dialect::Nginx), ["location ~ ^/[a]{2}$"]);
    }
}
