//! Writes the fields of one line of the access log, each with its name.

use std::fmt::Display;
use std::io::Write;
use std::time::Duration;

use super::date::{Date, write_millis};
use super::escape;

/// A line that is being written.
pub struct LineWriter<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'o> LineWriter<'o> {
    /// Begins a line at the end of `out`.
    pub fn begin(out: &'o mut Vec<u8>) -> LineWriter<'o> {
        out.push(b'{');
        LineWriter { out, is_first: true }
    }

    /// A text, of which at most `most` bytes are shown.
    pub fn text(&mut self, name: &str, value: &[u8], most: usize) {
        self.name(name);
        self.out.push(b'"');
        escape::json(value, most, self.out);
        self.out.push(b'"');
    }

    /// Two texts with a slash between them.
    pub fn path(&mut self, name: &str, first: &str, second: &str, most: usize) {
        self.name(name);
        self.out.push(b'"');
        escape::json(first.as_bytes(), most, self.out);
        self.out.push(b'/');
        escape::json(second.as_bytes(), most, self.out);
        self.out.push(b'"');
    }

    /// A value whose text needs no escaping.
    pub fn plain(&mut self, name: &str, value: impl Display) {
        self.name(name);
        // Writing to a `Vec` cannot fail, here and below.
        let _ = write!(self.out, "\"{value}\"");
    }

    pub fn date(&mut self, name: &str, date: &Date) {
        self.name(name);
        self.out.push(b'"');
        date.write_rfc3339(self.out);
        self.out.push(b'"');
    }

    pub fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        let _ = write!(self.out, "{value}");
    }

    pub fn flag(&mut self, name: &str) {
        self.name(name);
        self.out.extend_from_slice(b"true");
    }

    /// A time in milliseconds.
    pub fn millis(&mut self, name: &str, time: Duration) {
        self.name(name);
        write_millis(time, self.out);
    }

    /// Ends the line, without a line end.
    pub fn end(self) {
        self.out.push(b'}');
    }

    fn name(&mut self, name: &str) {
        if !self.is_first {
            self.out.push(b',');
        }
        self.is_first = false;
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}
