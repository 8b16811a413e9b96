//! keepalived's grammar: lines of words, blocks in braces, comments after `#` and `!`.

use crate::notes::ConversionNotes;

/// Deeper than any configuration: bounds the recursion on hostile input.
const DEEP: usize = 16;
/// The limit of lines.
/// A file of the largest size with short lines.
const MOST: usize = 100_000;

/// A line, and its block.
#[derive(Clone, Debug, Default)]
pub struct BlockNode {
    /// The words of the line; never empty.
    pub words: Vec<String>,
    /// The lines in its block.
    pub inner: Vec<BlockNode>,
    pub line: u32,
}

impl BlockNode {
    /// A word by its position, or an empty string.
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// The line, for messages.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }

    /// The last of its inner lines that begins so.
    pub fn get(&self, name: &str) -> Option<&BlockNode> {
        self.inner.iter().rfind(|node| node.word(0) == name)
    }
}

pub fn read(text: &str, notes: &mut ConversionNotes) -> Vec<BlockNode> {
    let mut open: Vec<BlockNode> = vec![BlockNode::default()];
    let mut count = 0;
    for (text, line) in text.lines().zip(1u32..) {
        for piece in tokenize(text) {
            match piece {
                BlockToken::Open if open.len() > DEEP => {
                    notes.left_out(line, "{", "blocks nest too deep", "");
                    return finish(open);
                }
                BlockToken::Open => {
                    let last = open.last_mut().and_then(|node| node.inner.pop());
                    open.push(last.unwrap_or_else(|| BlockNode {
                        words: vec!["{".to_owned()],
                        line,
                        ..BlockNode::default()
                    }));
                }
                BlockToken::Close if open.len() > 1 => close(&mut open),
                BlockToken::Close => notes.left_out(line, "}", "it closes nothing", ""),
                BlockToken::Words(words) => {
                    count += 1;
                    if count > MOST {
                        notes.left_out(line, text, "the file has too many lines", "split it");
                        return finish(open);
                    }
                    if let Some(node) = open.last_mut() {
                        node.inner.push(BlockNode { words, line, ..BlockNode::default() });
                    }
                }
            }
        }
    }
    if open.len() > 1 {
        let line = open.last().map_or(0, |node| node.line);
        notes.unreadable(line, "{", "a block is not closed", "the whole file");
    }
    finish(open)
}

fn close(open: &mut Vec<BlockNode>) {
    if let Some(done) = open.pop()
        && let Some(outer) = open.last_mut()
    {
        outer.inner.push(done);
    }
}

fn finish(mut open: Vec<BlockNode>) -> Vec<BlockNode> {
    while open.len() > 1 {
        close(&mut open);
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
        assert_eq!(nodes[0].inner[0].words, ["d", "e f"]);
        assert_eq!(nodes[0].get("g").map(|node| node.inner[0].text()).as_deref(), Some("h"));
        assert_eq!(notes.finish().1, 1, "the open block is told");
    }
}
