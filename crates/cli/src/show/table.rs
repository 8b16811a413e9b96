//! Aligned tables. The last column gets the remaining width and wraps; without width it goes below its row.
//!
//! Widths are counted in characters, which is right for the names and sentences shown here.

use super::paint::{Colour, Paint};
use super::plain::plain;

/// Two spaces part columns whose texts have single ones.
const GAP: usize = 2;
/// Below this width the last column goes on lines of its own.
const LAST_MIN: usize = 34;
/// How far such lines are indented.
const INDENT: usize = 4;

/// On which side a column's cells begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// The heading of a column, and the side on which its cells begin.
#[derive(Clone, Copy, Debug)]
pub struct TableColumn {
    pub title: &'static str,
    pub align: Align,
}

/// A column of texts.
pub const fn left(title: &'static str) -> TableColumn {
    TableColumn { title, align: Align::Left }
}

/// A column of numbers.
pub const fn right(title: &'static str) -> TableColumn {
    TableColumn { title, align: Align::Right }
}

/// The parts of a cell's text.
#[derive(Clone, Copy, Debug)]
pub struct CellParts<'c> {
    /// The beginning, which has the colour.
    pub lead: &'c str,
    pub colour: Option<Colour>,
    pub rest: &'c str,
}

/// One cell; it may have several lines.
#[derive(Clone, Debug)]
pub struct TextCell {
    text: String,
    /// How many of its first characters are coloured.
    lead_chars: usize,
    colour: Option<Colour>,
}

impl TextCell {
    /// All of it coloured.
    pub fn coloured(text: impl Into<String>, colour: Colour) -> Self {
        TextCell { text: plain(&text.into()), lead_chars: usize::MAX, colour: Some(colour) }
    }

    /// A coloured word, and the text after it.
    pub fn with_lead(word: &str, colour: Colour, rest: &str) -> Self {
        TextCell {
            text: plain(&format!("{word}{rest}")),
            lead_chars: word.chars().count(),
            colour: Some(colour),
        }
    }

    /// The coloured part and the rest.
    pub fn parts(&self) -> CellParts<'_> {
        let cut =
            self.text.char_indices().nth(self.lead_chars).map_or(self.text.len(), |(at, _)| at);
        let (lead, rest) = self.text.split_at(cut);
        CellParts { lead, colour: self.colour, rest }
    }
}

impl<T: Into<String>> From<T> for TextCell {
    fn from(text: T) -> Self {
        TextCell { text: plain(&text.into()), lead_chars: 0, colour: None }
    }
}

#[derive(Clone, Debug)]
pub struct TextTable {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<TextCell>>,
}

impl TextTable {
    /// With these headings and no row.
    pub fn new(columns: &[TableColumn]) -> Self {
        TextTable { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: Vec<TextCell>) {
        self.rows.push(cells);
    }

    /// As text for a screen of `width` characters, each line ended. Nothing when there is no row.
    pub fn render(&self, width: usize, paint: Paint) -> String {
        let Some(last) = self.columns.len().checked_sub(1).filter(|_| !self.rows.is_empty()) else {
            return String::new();
        };
        let widths: Vec<usize> = (0..=last).map(|column| self.natural_width(column)).collect();
        let used = widths[..last].iter().map(|natural| natural + GAP).sum::<usize>();
        let flows = self.columns[last].align == Align::Left;
        let room = width.saturating_sub(used);
        let below = flows && room < LAST_MIN && widths[last] > room;
        let mut out = String::new();
        let headings: Vec<Vec<TextCell>> = self
            .columns
            .iter()
            .map(|column| vec![TextCell::coloured(column.title, Colour::Strong)])
            .collect();
        self.lines(&mut out, &headings, &widths, below, paint);
        for row in &self.rows {
            let cells: Vec<Vec<TextCell>> = (0..=last)
                .map(|column| {
                    let Some(cell) = row.get(column) else { return Vec::new() };
                    match (flows && column == last, below) {
                        (false, _) => wrap_cell(cell, usize::MAX),
                        (true, false) => wrap_cell(cell, room),
                        (true, true) => wrap_cell(cell, width.saturating_sub(INDENT).max(LAST_MIN)),
                    }
                })
                .collect();
            self.lines(&mut out, &cells, &widths, below, paint);
        }
        out
    }

    /// The widest line of a column, its heading included.
    fn natural_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widest = cells
            .flat_map(|cell| cell.text.lines())
            .map(|line| line.chars().count())
            .max()
            .unwrap_or(0);
        widest.max(self.columns[column].title.chars().count())
    }

    fn lines(
        &self,
        out: &mut String,
        cells: &[Vec<TextCell>],
        widths: &[usize],
        below: bool,
        paint: Paint,
    ) {
        let last = cells.len() - 1;
        let beside = if below { last } else { last + 1 };
        let height =
            cells[..beside].iter().map(Vec::len).max().unwrap_or(0).max(usize::from(!below));
        for line in 0..height {
            // Spaces are written only before something, so that no line ends in them.
            let mut owed = 0;
            for (column, cell) in cells[..beside].iter().enumerate() {
                let painted = cell.get(line).map(|piece| piece.paint_text(paint));
                let PaintedText { text, width } = painted.unwrap_or_default();
                let (padding, right) =
                    match column == last && self.columns[column].align == Align::Left {
                        true => (0, false),
                        false => (
                            widths[column].saturating_sub(width),
                            self.columns[column].align == Align::Right,
                        ),
                    };
                owed += if right { padding } else { 0 };
                if width > 0 {
                    out.extend(std::iter::repeat_n(' ', owed));
                    out.push_str(&text);
                    owed = 0;
                }
                owed += GAP + if right { 0 } else { padding };
            }
            out.push('\n');
        }
        if below {
            for piece in &cells[last] {
                out.extend(std::iter::repeat_n(' ', INDENT));
                out.push_str(&piece.paint_text(paint).text);
                out.push('\n');
            }
        }
    }
}

/// A text with its colour.
#[derive(Default)]
struct PaintedText {
    text: String,
    /// Its width on the screen in characters.
    width: usize,
}

impl TextCell {
    fn paint_text(&self, paint: Paint) -> PaintedText {
        let width = self.text.chars().count();
        let CellParts { lead, colour: Some(colour), rest } = self.parts() else {
            return PaintedText { text: self.text.clone(), width };
        };
        PaintedText { text: format!("{}{rest}", paint.text(colour, lead)), width }
    }
}

/// A cell's lines, wrapped at `width`; the coloured part stays within the first.
fn wrap_cell(cell: &TextCell, width: usize) -> Vec<TextCell> {
    let mut out = Vec::new();
    for line in cell.text.lines() {
        for text in wrap(line, width) {
            let first = out.is_empty();
            let colour = cell.colour.filter(|_| first || cell.lead_chars == usize::MAX);
            out.push(TextCell { text, lead_chars: cell.lead_chars, colour });
        }
    }
    out
}

/// Lines of at most `width` characters, broken between words, and within one only if it is longer than a line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width {
        return vec![text.to_owned()];
    }
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut filled = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if filled > 0 && filled + 1 + length > width {
            lines.push(String::new());
            filled = 0;
        }
        for (at, letter) in word.chars().enumerate() {
            if filled == width {
                lines.push(String::new());
                filled = 0;
            }
            if let Some(line) = lines.last_mut() {
                if at == 0 && filled > 0 {
                    line.push(' ');
                    filled += 1;
                }
                line.push(letter);
                filled += 1;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests;
