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
    /// A `\x` is followed by no two digits, or by those of a byte that no text has.
    pub has_bad_escape: bool,
}

/// What a backslash and the signs behind it stand for.
struct LineEscape {
    /// `None`: a byte that cannot be carried over.
    sign: Option<char>,
    /// How many bytes behind the backslash belong to it.
    taken: usize,
}

impl LineEscape {
    /// Reads what stands behind a backslash that is not in single quotes. Other signs than these stay, and so does the
    /// backslash before them.
    fn read(behind: &str, in_quotes: bool) -> LineEscape {
        let one = |sign: char| LineEscape { sign: Some(sign), taken: 1 };
        match behind.as_bytes().first() {
            Some(same @ (b' ' | b'\\' | b'#' | b'\'' | b'"')) => one(char::from(*same)),
            Some(b'$') if in_quotes => one('$'),
            Some(b't') => one('\t'),
            Some(b'n') => one('\n'),
            Some(b'r') => one('\r'),
            Some(b'x') => {
                let digits = behind.get(1..3).filter(|two| !two.starts_with('+'));
                let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
                let sign = byte.filter(|byte| (1..0x80).contains(byte)).map(char::from);
                LineEscape { sign, taken: if sign.is_some() { 3 } else { 1 } }
            }
            _ => LineEscape { sign: Some('\\'), taken: 0 },
        }
    }
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

    /// A line that refuses everybody, in the place of this one.
    pub fn refusal(&self) -> ConfigLine {
        let words = ["tcp-request", "content", "reject"].map(str::to_owned);
        let written = Some(self.text().into());
        ConfigLine { words: words.to_vec().into(), written, ..self.clone() }
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
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (_, '\\') => {
                let LineEscape { sign, taken } = LineEscape::read(rest, quote.is_some());
                out.has_bad_escape |= sign.is_none();
                word.get_or_insert_default().extend(sign);
                rest = &rest[taken..];
            }
            (None, '#') => break,
            (None, ' ' | '\t' | '\r' | '\x0b' | '\x0c') => {
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
            ("/\\x61dmin a\\x20b \"\\x41b\"", vec!["/admin", "a b", "Ab"]),
            ("\"^/a\\$\" ^/a\\$ '^/a\\$'", vec!["^/a$", "^/a\\$", "^/a\\$"]),
            ("\\d\\.\\é a\\\\b \\'", vec!["\\d\\.\\é", "a\\b", "'"]),
            ("a\u{a0}b\u{2003}c d", vec!["a\u{a0}b\u{2003}c", "d"]),
        ] {
            assert_eq!(*lines(text, &mut Ledger::default())[0].words, words, "{text}");
        }
        let lines = |text: &str| lines(text, &mut Ledger::default());
        assert!(lines("x \"${HOME}\"")[0].has_variable && !lines("x '$HOME' $a")[0].has_variable);
        assert!(lines("x \\x00")[0].has_bad_escape && lines("x \\xg1")[0].has_bad_escape);
        assert!(lines("x \"a")[0].unclosed_quote && lines("# a\n\n").is_empty());
    }
}
