//! keepalived's grammar: lines of words, blocks in braces, comments after `#` and `!`.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::ledger::{Ledger, WordAccounts};
use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;
use crate::source::{SourcePlace, SourceWords};

/// Deeper than any configuration: bounds the recursion on hostile input.
const DEEP: usize = 16;
/// The limit of lines: a file of the largest size with short lines.
const MOST: usize = 100_000;

/// A line and its block.
#[derive(Clone, Debug, Default)]
pub struct BlockNode {
    /// The line's words, at least one.
    words: Vec<String>,
    /// The lines in its block.
    pub inner: Vec<BlockNode>,
    pub source: SourcePlace,
    accounts: WordAccounts,
    /// The places of the inner lines by keyword, made when it is first asked for.
    by_keyword: OnceCell<HashMap<String, Vec<usize>>>,
}

impl BlockNode {
    /// Creates the line and enters it into the ledger.
    fn new(words: Vec<String>, line: u32, ledger: &mut Ledger) -> BlockNode {
        let mut out = BlockNode { words, ..BlockNode::default() };
        let entered = ledger.enter(line, &out.text(), out.words.len());
        out.source = entered.source;
        out.accounts = entered.accounts;
        out
    }

    /// A word by its position, or an empty string.
    pub fn word(&self, at: usize) -> &str {
        self.accounts.mark_read(at);
        self.words.get(at).map_or("", String::as_str)
    }

    /// Marks the first `words` words as converted.
    pub fn mark_converted(&self, words: u16) {
        self.accounts.settle(SourceWords::Range(0, words), NoteKind::Converted);
    }

    /// The words from this position on.
    pub fn rest(&self, from: usize) -> &[String] {
        self.accounts.mark_read_from(from);
        self.words.get(from..).unwrap_or(&[])
    }

    /// The line, for messages.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }

    /// The inner blocks of this name, whose lines add up. Their names count as converted.
    pub fn blocks<'n>(&'n self, name: &str) -> impl Iterator<Item = &'n BlockNode> {
        self.inner.iter().filter(move |node| node.word(0) == name).inspect(|node| {
            node.mark_converted(1);
        })
    }

    /// The last inner line with this keyword. Its keyword and its first value count as converted. Earlier lines with
    /// the keyword count as not needed.
    pub fn take(&self, name: &str) -> Option<&BlockNode> {
        let by_keyword = self.by_keyword.get_or_init(|| {
            let mut places: HashMap<String, Vec<usize>> = HashMap::new();
            for (at, node) in self.inner.iter().enumerate() {
                places.entry(node.word(0).to_owned()).or_default().push(at);
            }
            places
        });
        let mut all = by_keyword.get(name)?.iter().filter_map(|at| self.inner.get(*at));
        let mut last = all.next()?;
        last.mark_converted(2);
        for node in all {
            // keepalived uses the last line, so an earlier line has no effect.
            last.accounts.settle(SourceWords::Whole, NoteKind::NotNeeded);
            node.mark_converted(2);
            last = node;
        }
        Some(last)
    }
}

pub fn read(text: &str, notes: &mut ConversionNotes) -> Vec<BlockNode> {
    let mut open: Vec<BlockNode> = vec![BlockNode::default()];
    let mut count = 0;
    for (text, line) in text.lines().zip(1u32..) {
        for piece in tokenize(text) {
            match piece {
                BlockToken::Open if open.len() > DEEP => {
                    notes.left_out(SourcePlace::at_line(line), "{", "blocks nest too deep", "");
                    return finish(open, &mut notes.ledger);
                }
                BlockToken::Open => {
                    let last = open.last_mut().and_then(|node| node.inner.pop());
                    open.push(last.unwrap_or_else(|| {
                        BlockNode::new(vec!["{".to_owned()], line, &mut notes.ledger)
                    }));
                }
                BlockToken::Close if open.len() > 1 => close(&mut open, &mut notes.ledger),
                BlockToken::Close => {
                    notes.left_out(SourcePlace::at_line(line), "}", "it closes nothing", "")
                }
                BlockToken::Words(words) => {
                    count += 1;
                    if count > MOST {
                        notes.left_out(
                            SourcePlace::at_line(line),
                            text,
                            "the file has too many lines",
                            "split it",
                        );
                        return finish(open, &mut notes.ledger);
                    }
                    if let Some(node) = open.last_mut() {
                        node.inner.push(BlockNode::new(words, line, &mut notes.ledger));
                    }
                }
            }
        }
    }
    if open.len() > 1 {
        let source = open.last().map_or(SourcePlace::NONE, |node| node.source);
        notes.unreadable(source, "{", "a block is not closed", "the whole file");
    }
    finish(open, &mut notes.ledger)
}

fn close(open: &mut Vec<BlockNode>, ledger: &mut Ledger) {
    if let Some(done) = open.pop()
        && let Some(outer) = open.last_mut()
    {
        if let Some(place) = done.source.statement() {
            ledger.adopt(place + 1, ledger.len(), done.source);
        }
        outer.inner.push(done);
    }
}

fn finish(mut open: Vec<BlockNode>, ledger: &mut Ledger) -> Vec<BlockNode> {
    while open.len() > 1 {
        close(&mut open, ledger);
    }
    open.pop().map(|node| node.inner).unwrap_or_default()
}

enum BlockToken {
    Words(Vec<String>),
    Open,
    Close,
}

fn tokenize(text: &str) -> Vec<BlockToken> {
    let mut out = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' if quoted => word.get_or_insert_default().extend(chars.next()),
            c if quoted => word.get_or_insert_default().push(c),
            '#' | '!' => break,
            '{' | '}' => {
                words.extend(word.take());
                if !words.is_empty() {
                    out.push(BlockToken::Words(std::mem::take(&mut words)));
                }
                out.push(if c == '{' { BlockToken::Open } else { BlockToken::Close });
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if !words.is_empty() {
        out.push(BlockToken::Words(words));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_blocks_are_read() {
        let mut notes = ConversionNotes::new("x");
        let nodes = read("a b { # c\n d \"e f\"\n g\n{\n h }\n}\n! i\nj {", &mut notes);
        assert_eq!(nodes.len(), 2);
        assert_eq!(nodes[0].text(), "a b");
        assert_eq!(nodes[0].inner[0].rest(0), ["d", "e f"]);
        assert_eq!(nodes[0].take("g").map(|node| node.inner[0].text()).as_deref(), Some("h"));
        assert_eq!(notes.finish().left_out, 1, "the open block is reported");
    }
}
