//! nginx's grammar: words, `;`, blocks, quotes and comments, and the files in the output of `nginx -T`.

use crate::ledger::{Ledger, WordAccounts};
use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;
use crate::source::{SourcePlace, SourceWords};

use super::characters::CharacterReader;

/// Deeper than any configuration: bounds the recursion on hostile input.
const DEEP: usize = 24;
/// The most directives of one file, with its includes as often as they are included.
pub const MOST: usize = 400_000;

/// A directive, simple or with a block.
#[derive(Clone, Debug, Default)]
pub struct Directive {
    pub name: String,
    args: Vec<String>,
    pub block: Option<Vec<Directive>>,
    pub source: SourcePlace,
    accounts: WordAccounts,
}

impl Directive {
    /// Creates the directive and enters it into the ledger.
    fn new(name: String, args: Vec<String>, line: u32, ledger: &mut Ledger) -> Directive {
        let mut out = Directive { name, args, ..Directive::default() };
        let entered = ledger.enter(line, &out.text(), out.args.len() + 1);
        out.source = entered.source;
        out.accounts = entered.accounts;
        out.accounts.mark_read(0);
        out
    }

    /// An argument by its position, or an empty string.
    pub fn word(&self, at: usize) -> &str {
        self.accounts.mark_read(at + 1);
        self.args.get(at).map_or("", String::as_str)
    }

    /// An argument by its position, or an empty string. The argument does not count as read.
    pub fn peek(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }

    /// All arguments. They do not count as read.
    pub fn peek_all(&self) -> &[String] {
        &self.args
    }

    /// All arguments. They count as read.
    pub fn args(&self) -> &[String] {
        self.accounts.mark_read_from(1);
        &self.args
    }

    /// The arguments from this position on. Each of these words needs its own outcome.
    pub fn options(&self, from: usize) -> impl Iterator<Item = DirectiveOption<'_>> {
        self.accounts.mark_read_from(from + 1);
        self.accounts.account_singly(from + 1);
        self.args
            .iter()
            .enumerate()
            .skip(from)
            .map(|(at, text)| DirectiveOption { text, source: self.source.range(at + 1, at + 2) })
    }

    /// Marks the whole directive as converted, because it is part of another written entry.
    pub fn mark_converted(&self) {
        self.accounts.settle(SourceWords::Whole, NoteKind::Converted);
    }

    /// Whether any argument was read. Always false without arguments.
    pub fn is_read(&self) -> bool {
        self.accounts.is_read_from(1)
    }

    /// Whether each word has an outcome.
    pub fn is_settled(&self) -> bool {
        self.accounts.is_settled()
    }

    /// The directives in its block.
    pub fn inner(&self) -> &[Directive] {
        self.block.as_deref().unwrap_or(&[])
    }

    /// The line without its block, for messages.
    pub fn text(&self) -> String {
        let mut text = self.name.clone();
        for arg in &self.args {
            text.push(' ');
            text.push_str(arg);
        }
        text
    }
}

/// A word of a directive that needs its own outcome.
#[derive(Clone, Copy, Debug)]
pub struct DirectiveOption<'d> {
    pub text: &'d str,
    pub source: SourcePlace,
}

/// Parses the directives of a text whose first line has this number.
pub fn parse(text: String, line: u32, notes: &mut ConversionNotes) -> Vec<Directive> {
    Parser::new(text, line).block(0, notes)
}

#[derive(Debug, PartialEq, Eq)]
enum NginxToken {
    Word(String),
    Open,
    Close,
    End,
}

struct Parser {
    reader: CharacterReader,
    count: usize,
    /// The line of a quote that is never closed.
    open_quote: Option<u32>,
}

impl Parser {
    fn new(text: String, line: u32) -> Parser {
        Parser { reader: CharacterReader::new(text, line), count: 0, open_quote: None }
    }

    fn token(&mut self) -> Option<NginxToken> {
        loop {
            match self.reader.next()? {
                c if c.is_whitespace() => {}
                '#' => while !matches!(self.reader.next(), None | Some('\n')) {},
                ';' => return Some(NginxToken::End),
                '{' => return Some(NginxToken::Open),
                '}' => return Some(NginxToken::Close),
                '"' => return Some(NginxToken::Word(self.quoted('"'))),
                '\'' => return Some(NginxToken::Word(self.quoted('\''))),
                c => return Some(NginxToken::Word(self.bare_word(c))),
            }
        }
    }

    fn quoted(&mut self, quote: char) -> String {
        let mut out = String::new();
        let begin = self.reader.line;
        loop {
            let Some(c) = self.reader.next() else {
                self.open_quote = Some(begin);
                break;
            };
            match c {
                c if c == quote => break,
                '\\' => self.escaped(&mut out),
                c => out.push(c),
            }
        }
        out
    }

    /// What stands behind a backslash. nginx takes it out before quotes and itself, and knows three other characters.
    fn escaped(&mut self, out: &mut String) {
        match self.reader.next() {
            Some(next @ ('"' | '\'' | '\\')) => out.push(next),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('n') => out.push('\n'),
            Some(next) => out.extend(['\\', next]),
            None => out.push('\\'),
        }
    }

    /// Reads an unquoted word, up to a space, `;` or `{`. The braces of `${name}` are part of the word.
    fn bare_word(&mut self, first: char) -> String {
        let mut out = String::new();
        match first {
            '\\' => self.escaped(&mut out),
            first => out.push(first),
        }
        while let Some(c) = self.reader.peek() {
            if c.is_whitespace() || c == ';' || (c == '{' && !out.ends_with('$')) {
                break;
            }
            let variable = c == '{';
            self.reader.next();
            match c {
                '\\' => self.escaped(&mut out),
                c => out.push(c),
            }
            while variable && !out.ends_with('}') {
                match self.reader.next() {
                    Some(c) => out.push(c),
                    None => return out,
                }
            }
        }
        out
    }

    fn block(&mut self, depth: usize, notes: &mut ConversionNotes) -> Vec<Directive> {
        let mut out = Vec::new();
        let mut words: Vec<String> = Vec::new();
        let mut line = self.reader.line;
        while let Some(token) = self.token() {
            let entered = notes.ledger.len();
            let block = match token {
                NginxToken::Word(word) => {
                    if words.is_empty() {
                        line = self.reader.line;
                    }
                    words.push(word);
                    continue;
                }
                NginxToken::Close if depth > 0 => return out,
                NginxToken::Close => {
                    // What stands before it may have begun in a block that is not here.
                    self.note_unreadable("}", "it closes nothing", notes);
                    continue;
                }
                NginxToken::End => None,
                NginxToken::Open if words.is_empty() => {
                    self.note_unreadable("{", "a block without a name", notes);
                    self.skip();
                    continue;
                }
                NginxToken::Open if depth >= DEEP => {
                    self.note_unreadable("{", "blocks nest too deep", notes);
                    self.skip();
                    words.clear();
                    continue;
                }
                NginxToken::Open
                    if words.last().is_some_and(|word| word.contains("_by_lua"))
                        || words.first().is_some_and(|word| word.contains("_by_lua")) =>
                {
                    self.reader.skip_lua();
                    Some(Vec::new())
                }
                NginxToken::Open => Some(self.block(depth + 1, notes)),
            };
            let mut all = std::mem::take(&mut words).into_iter();
            self.count += 1;
            if self.count == MOST + 1 {
                let reason = format!("the file has more than {MOST} directives");
                self.note_unreadable("the rest of the file", &reason, notes);
            }
            if let Some(name) = all.next().filter(|_| self.count <= MOST) {
                let args = all.collect();
                let directive = Directive::new(name, args, line, &mut notes.ledger);
                notes.ledger.adopt(entered, notes.ledger.len() - 1, directive.source);
                out.push(Directive { block, ..directive });
            }
        }
        self.note_open_end(depth, line, &words, notes);
        out
    }

    /// Reports a damaged place, because of which nothing is written.
    fn note_unreadable(&self, text: &str, reason: &str, notes: &mut ConversionNotes) {
        notes.unreadable(SourcePlace::at_line(self.reader.line), text, reason, "the whole file");
    }

    /// Reports what the end of the text leaves open.
    fn note_open_end(
        &mut self,
        depth: usize,
        line: u32,
        words: &[String],
        notes: &mut ConversionNotes,
    ) {
        if let Some(begin) = self.open_quote.take() {
            notes.unreadable(
                SourcePlace::at_line(begin),
                &words.join(" "),
                "a quote is not closed",
                "the whole file",
            );
        } else if depth > 0 {
            notes.unreadable(
                SourcePlace::at_line(line),
                "{",
                "a block is not closed",
                "the whole file",
            );
        } else if !words.is_empty() {
            notes.unreadable(
                SourcePlace::at_line(line),
                &words.join(" "),
                "its `;` is missing",
                "the whole file",
            );
        }
    }

    /// Skips to the end of a block.
    fn skip(&mut self) {
        let mut depth = 1;
        while depth > 0 {
            match self.token() {
                Some(NginxToken::Open) => depth += 1,
                Some(NginxToken::Close) => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<String> {
        let mut notes = ConversionNotes::new("x");
        parse(text.to_owned(), 1, &mut notes)
            .iter()
            .map(|one| format!("{} {}@{}", one.text(), one.inner().len(), one.source.line()))
            .collect()
    }

    #[test]
    fn damaged_blocks_are_unreadable() {
        for (text, line) in [
            ("a;\n}\nb;", 2),
            ("a { b; }\n { deny all; }", 2),
            (&format!("a\n{{ {}{}", "b { ".repeat(30), "} ".repeat(31)), 2),
            (&"a;\n".repeat(MOST + 1), 400_001),
        ] {
            let mut notes = ConversionNotes::new("x");
            parse(text.to_owned(), 1, &mut notes);
            assert!(notes.is_unreadable(), "{line}");
            assert_eq!(notes.finish().list.first().map(|note| note.line), Some(line));
        }
    }

    #[test]
    fn words_blocks_and_quotes_are_read() {
        for (text, expected) in [
            ("a b; # c;\nd 'e f' \"g\\\"\";", vec!["a b 0@1", "d e f g\" 0@2"]),
            ("s { a; b { c; } }", vec!["s 2@1"]),
            ("r ^/a\\.b$ ${x}y;", vec!["r ^/a\\.b$ ${x}y 0@1"]),
            ("a 'b\\n' \\\\.c;", vec!["a b\n \\.c 0@1"]),
            ("a\n", vec![]),
            ("}}}", vec![]),
            ("a {", vec!["a 0@1"]),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }
}
