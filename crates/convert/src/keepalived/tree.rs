//! keepalived's grammar: lines of words, blocks in braces, comments after `#` and `!`.

use crate::notes::Notes;

/// Blocks within blocks.
const DEEP: usize = 16;
/// Lines that are kept.
const MOST: usize = 100_000;

/// A line, and its block.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its words; never empty.
    pub words: Vec<String>,
    /// What is in its block.
    pub inner: Vec<Node>,
    /// From 1.
    pub line: u32,
}

impl Node {
    /// A word, or nothing.
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// The line, for messages.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }

    /// The last of its inner lines that begins so.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.inner.iter().rfind(|node| node.word(0) == name)
    }
}

/// Everything.
pub fn read(text: &str, notes: &mut Notes) -> Vec<Node> {
    let mut open: Vec<Node> = vec![Node::default()];
    let mut count = 0;
    for (text, line) in text.lines().zip(1u32..) {
        for piece in pieces(text) {
            match piece {
                Piece::Open if open.len() > DEEP => {
                    notes.left(line, "{", "blocks nest too deep", "");
                    return finish(open);
                }
                Piece::Open => {
                    let last = open.last_mut().and_then(|node| node.inner.pop());
                    open.push(last.unwrap_or_else(|| Node {
                        words: vec!["{".to_owned()],
                        line,
                        ..Node::default()
                    }));
                }
                Piece::Close if open.len() > 1 => close(&mut open),
                Piece::Close => notes.left(line, "}", "it closes nothing", ""),
                Piece::Words(words) => {
                    count += 1;
                    if count > MOST {
                        notes.left(line, text, "the file has too many lines", "split it");
                        return finish(open);
                    }
                    if let Some(node) = open.last_mut() {
                        node.inner.push(Node { words, line, ..Node::default() });
                    }
                }
            }
        }
    }
    if open.len() > 1 {
        let line = open.last().map_or(0, |node| node.line);
        notes.left(line, "{", "a block is not closed", "");
    }
    finish(open)
}

fn close(open: &mut Vec<Node>) {
    if let Some(done) = open.pop()
        && let Some(outer) = open.last_mut()
    {
        outer.inner.push(done);
    }
}

fn finish(mut open: Vec<Node>) -> Vec<Node> {
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().map(|node| node.inner).unwrap_or_default()
}

enum Piece {
    Words(Vec<String>),
    Open,
    Close,
}

fn pieces(text: &str) -> Vec<Piece> {
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
                    out.push(Piece::Words(std::mem::take(&mut words)));
                }
                out.push(if c == '{' { Piece::Open } else { Piece::Close });
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if !words.is_empty() {
        out.push(Piece::Words(words));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_blocks_are_read() {
        let mut notes = Notes::new("x");
        let nodes = read("a b { # c\n d \"e f\"\n g\n{\n h }\n}\n! i\nj {", &mut notes);
        assert_eq!(nodes.len(), 2);
        assert_eq!(nodes[0].text(), "a b");
        assert_eq!(nodes[0].inner[0].words, ["d", "e f"]);
        assert_eq!(nodes[0].get("g").map(|node| node.inner[0].text()).as_deref(), Some("h"));
        assert_eq!(notes.finish().1, 1, "the open block is told");
    }
}
