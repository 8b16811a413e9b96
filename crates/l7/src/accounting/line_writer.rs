//! Writes the fields of one line of the access log, each with its name.

use std::fmt::Display;
use std::io::Write;
use std::time::Duration;

use super::date::{Date, write_millis};
use super::escape;

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineForm {
    /// A JSON object.
    Json,
    /// `name=value`, with quotes where a value needs them.
    Logfmt,
}

/// A line that is being written.
pub struct LineWriter<'o> {
    out: &'o mut Vec<u8>,
    form: LineForm,
    is_first: bool,
}

impl<'o> LineWriter<'o> {
    /// Begins a line at the end of `out`.
    pub fn begin(form: LineForm, out: &'o mut Vec<u8>) -> LineWriter<'o> {
        if form == LineForm::Json {
            out.push(b'{');
        }
        LineWriter { out, form, is_first: true }
    }

    /// A text, of which at most `most` bytes are shown.
    pub fn text(&mut self, name: &str, value: &[u8], most: usize) {
        self.name(name);
        if self.form == LineForm::Logfmt && value.len() <= most && value.iter().all(is_bare) {
            return self.out.extend_from_slice(value);
        }
        self.out.push(b'"');
        escape::json(value, most, self.out);
        self.out.push(b'"');
    }

    /// Two texts with a slash between them.
    pub fn path(&mut self, name: &str, first: &str, second: &str, most: usize) {
        self.name(name);
        let is_plain = |part: &str| part.len() <= most && part.bytes().all(|byte| is_bare(&byte));
        let is_quoted = self.form == LineForm::Json || !is_plain(first) || !is_plain(second);
        self.quote(is_quoted);
        escape::json(first.as_bytes(), most, self.out);
        self.out.push(b'/');
        escape::json(second.as_bytes(), most, self.out);
        self.quote(is_quoted);
    }

    /// A value whose text needs no escaping.
    pub fn plain(&mut self, name: &str, value: impl Display) {
        self.name(name);
        self.quote(self.form == LineForm::Json);
        // Writing to a `Vec` cannot fail, here and below.
        let _ = write!(self.out, "{value}");
        self.quote(self.form == LineForm::Json);
    }

    pub fn date(&mut self, name: &str, date: &Date) {
        self.name(name);
        self.quote(self.form == LineForm::Json);
        date.write_rfc3339(self.out);
        self.quote(self.form == LineForm::Json);
    }

    pub fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        let _ = write!(self.out, "{value}");
    }

    pub fn decimal(&mut self, name: &str, value: f64) {
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
        if self.form == LineForm::Json {
            self.out.push(b'}');
        }
    }

    fn quote(&mut self, is_quoted: bool) {
        if is_quoted {
            self.out.push(b'"');
        }
    }

    fn name(&mut self, name: &str) {
        let is_first = std::mem::replace(&mut self.is_first, false);
        match self.form {
            LineForm::Json => {
                if !is_first {
                    self.out.push(b',');
                }
                self.out.push(b'"');
                self.out.extend_from_slice(name.as_bytes());
                self.out.extend_from_slice(b"\":");
            }
            LineForm::Logfmt => {
                if !is_first {
                    self.out.push(b' ');
                }
                self.out.extend_from_slice(name.as_bytes());
                self.out.push(b'=');
            }
        }
    }
}

/// Whether a reader of logfmt takes the byte as it is, without quotes.
fn is_bare(byte: &u8) -> bool {
    byte.is_ascii_graphic() && !b"\"=\\".contains(byte)
}
