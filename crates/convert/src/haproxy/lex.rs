//! Lines and words of HAProxy's files. Quotes, escapes and comments follow section 2.2 of its manual.

use std::rc::Rc;

use crate::ledger::{Ledger, WordAccounts};
use crate::note_kind::NoteKind;
use crate::source::{SourcePlace, SourceWords};

use super::old_words::modern_lines;

/// A line that is neither empty nor a comment.
#[derive(Clone, Debug, Default)]
pub struct ConfigLine {
    pub source: SourcePlace,
    /// The words, without quotes; shared by the copies of the line.
    words: Rc<[String]>,
    accounts: WordAccounts,
    /// The line as its file has it, where `words` are the modern ones.
    written: Option<Rc<str>>,
    /// The line uses an environment variable, whose value the converter does not know.
    pub has_variable: bool,
    /// A quote is not closed.
    pub unclosed_quote: bool,
}

impl ConfigLine {
    /// A word by its position, or an empty string.
    pub fn word(&self, at: usize) -> &str {
        self.accounts.mark_read(at);
        self.words.get(at).map_or("", String::as_str)
    }

    /// The words from this position on.
    pub fn rest(&self, from: usize) -> &[String] {
        self.accounts.mark_read_from(from);
        self.words.get(from..).unwrap_or(&[])
    }

    /// Whether the line has this word. If so, the word counts as read.
    pub fn has_word(&self, wanted: &str) -> bool {
        let at = self.words.iter().position(|word| word == wanted);
        at.inspect(|at| self.accounts.mark_read(*at)).is_some()
    }

    /// The word after `name`. Both words then count as read.
    pub fn value_of(&self, name: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == name)?;
        self.accounts.mark_read(at);
        Some(self.word(at + 1))
    }

    /// A reader of the words from this position on. Each of these words needs its own outcome.
    pub fn keywords(&self, from: usize) -> KeywordReader<'_> {
        self.accounts.mark_read_from(from);
        self.accounts.account_singly(from);
        KeywordReader { line: self, keyword: from, next: from }
    }

    /// Marks the whole line as converted, because it is part of another written entry.
    pub fn mark_converted(&self) {
        self.accounts.settle(SourceWords::Whole, NoteKind::Converted);
    }

    /// Whether each word has an outcome.
    pub fn is_settled(&self) -> bool {
        self.accounts.is_settled()
    }

    /// All of its words; none counts as read by that.
    pub fn all_words(&self) -> &[String] {
        &self.words
    }

    /// How many words it has.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// The whole line, for messages.
    pub fn text(&self) -> String {
        self.written.as_deref().map_or_else(|| self.words.join(" "), str::to_owned)
    }
}

/// Reads the keywords of a line and their values one by one.
#[derive(Debug)]
pub struct KeywordReader<'l> {
    line: &'l ConfigLine,
    /// The position of the current keyword.
    keyword: usize,
    next: usize,
}

impl<'l> KeywordReader<'l> {
    /// Moves to the next keyword.
    pub fn keyword(&mut self) -> Option<&'l str> {
        self.keyword = self.next;
        let word = self.line.words.get(self.next)?;
        self.next += 1;
        Some(word)
    }

    /// The next value of the current keyword, or an empty string at the end of the line.
    pub fn value(&mut self) -> &'l str {
        let word = self.line.words.get(self.next).map_or("", String::as_str);
        self.next = (self.next + 1).min(self.line.words.len());
        word
    }

    /// The current keyword with the values that were read.
    pub fn source(&self) -> SourcePlace {
        self.line.source.range(self.keyword, self.next)
    }

    /// Marks the current keyword and its values as converted.
    pub fn mark_converted(&self) {
        self.line.accounts.settle(self.source().words(), NoteKind::Converted);
    }
}

/// All lines that are neither empty nor comments, entered into the ledger.
pub fn lines(text: &str, ledger: &mut Ledger) -> Vec<ConfigLine> {
    let mut out = Vec::new();
    for (text, number) in text.lines().zip(1u32..) {
        for mut line in modernise(line(text)) {
            let entered = ledger.enter(number, &line.text(), line.words.len());
            line.source = entered.source;
            line.accounts = entered.accounts;
            out.push(line);
        }
    }
    out
}

/// The line itself, the lines that its old words stand for, or none for an empty line.
fn modernise(line: ConfigLine) -> Vec<ConfigLine> {
    if line.words.is_empty() {
        return Vec::new();
    }
    let modern = modern_lines(&line.words);
    if modern.is_empty() {
        return vec![line];
    }
    let written: Option<Rc<str>> = Some(line.words.join(" ").into());
    let with = |words: Vec<String>| ConfigLine {
        words: words.into(),
        written: written.clone(),
        ..line.clone()
    };
    modern.into_iter().map(with).collect()
}

fn line(text: &str) -> ConfigLine {
    let mut out = ConfigLine::default();
    let mut words: Vec<String> = Vec::new();
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
                // Other escapes belong to a regular expression, so the backslash is preserved.
                let keeps_backslash =
                    escaped.is_ascii_punctuation() && !matches!(escaped, '\\' | '"' | '\'' | '#');
                let word = word.get_or_insert_default();
                if keeps_backslash || escaped.is_ascii_alphanumeric() {
                    word.push('\\');
                }
                word.push(escaped);
            }
            (None, '#') => break,
            (None, c) if c.is_whitespace() => {
                words.extend(word.take());
            }
            (Some('"'), '$') => {
                out.has_variable = true;
                word.get_or_insert_default().push('$');
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words.iter_mut().for_each(String::shrink_to_fit);
    out.words = words.into();
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
            assert_eq!(*lines(text, &mut Ledger::default())[0].words, words, "{text}");
        }
        let lines = |text: &str| lines(text, &mut Ledger::default());
        assert!(lines("x \"${HOME}\"")[0].has_variable && !lines("x '$HOME' $a")[0].has_variable);
        assert!(lines("x \"a")[0].unclosed_quote && lines("# a\n\n").is_empty());
    }
}
