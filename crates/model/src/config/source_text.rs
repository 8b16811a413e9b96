//! The text of one configuration file, and positions in it. It parses nothing.

use std::ops::Range;

/// A range of the text in bytes. Empty at 0 for settings without a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceSpan {
    pub start: u32,
    pub end: u32,
}

impl From<Range<usize>> for SourceSpan {
    fn from(range: Range<usize>) -> SourceSpan {
        let clip = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        SourceSpan { start: clip(range.start), end: clip(range.end) }
    }
}

/// A place in the text as people count it, both numbers from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    pub line: u32,
    /// Counted in characters.
    pub column: u32,
}

/// The start of each line.
#[derive(Clone, Debug, Default)]
pub struct LineIndex(Vec<u32>);

impl LineIndex {
    pub fn new(text: &str) -> LineIndex {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = ends.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX));
        LineIndex(std::iter::once(0).chain(starts).collect())
    }

    /// The line of a span, from 1.
    pub fn line(&self, place: SourceSpan) -> u32 {
        let at = self.0.partition_point(|start| *start <= place.start);
        u32::try_from(at.max(1)).unwrap_or(u32::MAX)
    }

    /// The offset at which a line (from 1) starts.
    pub fn start(&self, line: u32) -> usize {
        self.0.get(line.saturating_sub(1) as usize).copied().unwrap_or_default() as usize
    }
}

/// A file's text with its name and its line index.
#[derive(Clone, Debug)]
pub struct SourceText<'t> {
    /// The file name as given by the operator.
    pub file: &'t str,
    pub text: &'t str,
    pub lines: LineIndex,
}

impl<'t> SourceText<'t> {
    /// Indexes the lines of `text`.
    pub fn new(text: &'t str, file: &'t str) -> SourceText<'t> {
        SourceText { file, text, lines: LineIndex::new(text) }
    }

    /// Where a span begins.
    pub fn position(&self, place: SourceSpan) -> TextPosition {
        let line = self.lines.line(place);
        let before =
            self.text.get(self.lines.start(line)..place.start as usize).unwrap_or_default();
        let column = u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX);
        TextPosition { line, column }
    }

    /// A line's text without its line break.
    pub fn line_text(&self, line: u32) -> &'t str {
        let rest = self.text.get(self.lines.start(line)..).unwrap_or_default();
        rest.lines().next().unwrap_or_default()
    }

    /// The text of a span, shortened to one line of at most 60 characters.
    pub fn excerpt(&self, place: SourceSpan) -> String {
        let text = self.text.get(place.start as usize..place.end as usize).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        // 60 characters leave room for the rest of the message on a line.
        let short: String = line.chars().take(60).collect();
        if short.len() < text.len() { format!("{short}…") } else { short }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = SourceText::new("a = 1\nüü = 22\n\nlast", "x");
        let at = |line, column| TextPosition { line, column };
        assert_eq!(source.position(SourceSpan { start: 0, end: 1 }), at(1, 1));
        assert_eq!(source.position(SourceSpan { start: 13, end: 15 }), at(2, 6));
        assert_eq!(source.position(SourceSpan { start: 17, end: 21 }), at(4, 1));
        assert_eq!(source.position(SourceSpan { start: 900, end: 901 }), at(4, 1));
        assert_eq!(source.line_text(2), "üü = 22");
        assert_eq!(source.line_text(9), "a = 1");
        assert_eq!(source.excerpt(SourceSpan { start: 13, end: 15 }), "22");
        assert_eq!(source.excerpt(SourceSpan { start: 0, end: 15 }), "a = 1…");
    }
}
