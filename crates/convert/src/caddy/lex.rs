//! Tokens of a Caddyfile: words, quotes, backticks, heredocs, comments and continued lines.

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

/// The most tokens of a file, with the snippets that it imports.
pub const MOST: usize = 400_000;

/// A word of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaddyToken {
    pub text: String,
    pub line: u32,
    /// It is the first one of its line.
    pub starts_line: bool,
    /// It was written in quotes: a brace in it opens nothing.
    pub quoted: bool,
    /// It is an `import` whose snippet was put in.
    pub imported: bool,
}

impl CaddyToken {
    /// Whether it opens a block.
    pub fn opens(&self) -> bool {
        self.text == "{" && !self.quoted
    }

    /// Whether it closes a block.
    pub fn closes(&self) -> bool {
        self.text == "}" && !self.quoted
    }
}

/// The tokens of a text. A quote or a heredoc that is not closed makes the file unreadable.
pub fn read_tokens(text: &str, notes: &mut ConversionNotes) -> Vec<CaddyToken> {
    let mut lexer = CaddyLexer {
        chars: text.chars().filter(|c| *c != '\r').collect(),
        at: 0,
        line: 1,
        starts_line: true,
        tokens: Vec::new(),
    };
    while lexer.tokens.len() < MOST {
        if let Err(line) = lexer.read_token() {
            let place = SourcePlace::at_line(line);
            notes.unreadable(place, "a quote or a heredoc", "it is not closed", "the whole file");
            break;
        }
        if lexer.at >= lexer.chars.len() {
            return lexer.tokens;
        }
    }
    if lexer.tokens.len() >= MOST {
        let place = SourcePlace::at_line(lexer.line);
        notes.unreadable(place, "the file", "it has too many words", "split the file");
    }
    lexer.tokens
}

struct CaddyLexer {
    chars: Vec<char>,
    at: usize,
    line: u32,
    starts_line: bool,
    tokens: Vec<CaddyToken>,
}

impl CaddyLexer {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        if c == '\n' {
            self.line += 1;
        }
        Some(c)
    }

    /// Reads a token, a comment or a blank.
    ///
    /// # Errors
    /// The line of a quote that is not closed.
    fn read_token(&mut self) -> Result<(), u32> {
        let line = self.line;
        match self.next() {
            None => {}
            Some('\n') => self.starts_line = true,
            Some('\\') if self.peek() == Some('\n') => {
                self.next();
            }
            Some(c) if c.is_whitespace() => {}
            Some('#') => {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.next();
                }
            }
            Some(quote @ ('"' | '`')) => {
                let text = self.quoted(quote).ok_or(line)?;
                self.push(text, line, true);
            }
            Some(first) => {
                let word = self.bare_word(first);
                match word.strip_prefix("<<").filter(|mark| is_marker(mark)) {
                    Some(mark) if self.peek() == Some('\n') => {
                        let text = self.heredoc(mark).ok_or(line)?;
                        self.push(text, line, true);
                    }
                    _ => self.push(word, line, false),
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, text: String, line: u32, quoted: bool) {
        let starts_line = std::mem::take(&mut self.starts_line);
        self.tokens.push(CaddyToken { text, line, starts_line, quoted, imported: false });
    }

    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut out = String::new();
        loop {
            match self.next()? {
                c if c == quote => return Some(out),
                '\\' if quote == '"' && self.peek() == Some('"') => out.extend(self.next()),
                c => out.push(c),
            }
        }
    }

    fn bare_word(&mut self, first: char) -> String {
        let mut out = String::from(first);
        while let Some(c) = self.peek().filter(|c| !c.is_whitespace()) {
            if c == '\\' && self.chars.get(self.at + 1) == Some(&'\n') {
                break;
            }
            out.push(c);
            self.next();
        }
        out
    }

    /// The lines up to one with the marker alone, without the marker's indentation.
    fn heredoc(&mut self, mark: &str) -> Option<String> {
        self.next();
        let mut lines: Vec<String> = Vec::new();
        loop {
            let mut line = String::new();
            while let Some(c) = self.peek().filter(|c| *c != '\n') {
                line.push(c);
                self.next();
            }
            let words = line.trim_start();
            let after = words
                .strip_prefix(mark)
                .filter(|after| !after.starts_with(|c: char| !c.is_whitespace()));
            if let Some(after) = after {
                // Words may follow the marker on its line.
                self.at -= after.chars().count();
                let indent = &line[..line.len() - words.len()];
                let cut = |one: &String| one.strip_prefix(indent).unwrap_or(one).to_owned();
                return Some(lines.iter().map(cut).collect::<Vec<_>>().join("\n"));
            }
            self.next()?;
            lines.push(line);
        }
    }
}

fn is_marker(mark: &str) -> bool {
    !mark.is_empty() && mark.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_quotes_heredocs_and_continued_lines_are_read() {
        for (text, expected) in [
            ("a b # c\nd", vec!["a", "b", "d"]),
            ("a \"b \\\" c\" `d \"e`", vec!["a", "b \" c", "d \"e"]),
            ("a \\\n b\nc#d", vec!["a", "b", "c#d"]),
            ("respond <<END\n  x {\n   y\n  END 200", vec!["respond", "x {\n y", "200"]),
            ("respond <<END\n  x\n  END\n}", vec!["respond", "x", "}"]),
        ] {
            let mut notes = ConversionNotes::new("x");
            let words: Vec<String> =
                read_tokens(text, &mut notes).into_iter().map(|one| one.text).collect();
            if !notes.is_unreadable() {
                assert_eq!(words, expected, "{text}");
            }
        }
    }

    #[test]
    fn what_is_not_closed_makes_the_file_unreadable() {
        for text in ["a \"b", "a `b\nc", "a <<X\nb\n"] {
            let mut notes = ConversionNotes::new("x");
            read_tokens(text, &mut notes);
            assert!(notes.is_unreadable(), "{text}");
        }
    }
}
