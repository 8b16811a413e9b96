//! A shape: a way in which a file of one dialect is large.

use convert::dialect::Dialect;

/// One way to fill a file.
#[derive(Clone, Copy)]
pub struct FileShape {
    pub dialect: Dialect,
    pub name: &'static str,
    /// Writes a file of about so many lines.
    pub write: fn(usize) -> String,
}

impl FileShape {
    pub const fn new(
        dialect: Dialect,
        name: &'static str,
        write: fn(usize) -> String,
    ) -> FileShape {
        FileShape { dialect, name, write }
    }

    /// The shape's name with its dialect, as it is chosen on the command line.
    pub fn title(&self) -> String {
        format!("{} {}", self.dialect.name(), self.name)
    }
}

/// Writes each of so many numbers as a piece of text.
pub fn each(count: usize, piece: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    (0..count).for_each(|at| text.push_str(&piece(at)));
    text
}

/// An address of a server for each number.
pub fn address(at: usize) -> String {
    format!("10.{}.{}.{}", at >> 16 & 255, at >> 8 & 255, at & 255)
}
