//! A small independent HTTP/1.1 reader for tests, so that the product's codec is not tested against itself.
//!
//! The reader accepts only well-formed messages, and returns an error for any other.

use std::io::{self, Read};

/// A request or a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedMessage {
    pub start: String,
    /// Fields in order, with names as received.
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl ReceivedMessage {
    /// The status of an answer.
    pub fn status(&self) -> u16 {
        let status = self.start.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.unwrap_or_else(|| panic!("no status in {:?}", self.start))
    }

    /// The value of a field. Several values are joined by a comma.
    pub fn field(&self, name: &str) -> Option<String> {
        let found = self.fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let values: Vec<&str> = found.map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// How much of a body follows a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedBody {
    /// No body, even if the fields declare one: HEAD, 1xx, 204, 304.
    NoBody,
    /// As the fields declare. A request without a length has no body.
    AsDeclared,
    /// As the fields declare. A response without a length lasts until the connection closes.
    DeclaredOrUntilEnd,
}

/// Reads messages from a stream and buffers the bytes that follow them.
#[derive(Debug)]
pub struct HttpReader<S> {
    stream: S,
    buffered: Vec<u8>,
}

impl<S: Read> HttpReader<S> {
    pub fn new(stream: S) -> HttpReader<S> {
        HttpReader { stream, buffered: Vec::new() }
    }

    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Reads a head without its body. `None` means that the stream ended between messages.
    pub fn head(&mut self) -> io::Result<Option<ReceivedMessage>> {
        let end = loop {
            if let Some(at) = self.buffered.windows(4).position(|four| four == b"\r\n\r\n") {
                break at;
            }
            if !self.fill_buffer()? {
                return if self.buffered.is_empty() {
                    Ok(None)
                } else {
                    Err(self.truncated("a head"))
                };
            }
        };
        let head: Vec<u8> = self.buffered.drain(..end + 4).collect();
        let head = String::from_utf8_lossy(&head[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let start = lines.next().unwrap_or_default().to_owned();
        let mut fields = Vec::new();
        for line in lines {
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| io::Error::other(format!("no field: {line:?} in {head:?}")))?;
            fields.push((name.to_owned(), value.trim().to_owned()));
        }
        Ok(Some(ReceivedMessage { start, fields, body: Vec::new() }))
    }

    /// Reads the body into its message.
    pub fn body(&mut self, message: &mut ReceivedMessage, follows: ExpectedBody) -> io::Result<()> {
        if follows == ExpectedBody::NoBody {
            return Ok(());
        }
        if message.field("transfer-encoding").is_some_and(|te| te.eq_ignore_ascii_case("chunked")) {
            return self.chunks(&mut message.body);
        }
        if let Some(length) = message.field("content-length") {
            let length = length.parse().map_err(io::Error::other)?;
            message.body = self.read_exactly(length)?;
        } else if follows == ExpectedBody::DeclaredOrUntilEnd {
            message.body = self.read_to_end()?;
        }
        Ok(())
    }

    pub fn read_exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffered.len() < length {
            if !self.fill_buffer()? {
                return Err(self.truncated(&format!("{length} bytes")));
            }
        }
        Ok(self.buffered.drain(..length).collect())
    }

    /// Reads to the end of the stream.
    pub fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        while self.fill_buffer()? {}
        Ok(std::mem::take(&mut self.buffered))
    }

    /// Takes the bytes that were read after the last message, and empties the buffer.
    pub fn take_buffered(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffered)
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let line = self.line()?;
            let size = usize::from_str_radix(&line, 16).map_err(io::Error::other)?;
            if size == 0 {
                // Skips trailers up to the empty line.
                while !self.line()?.is_empty() {}
                return Ok(());
            }
            body.extend(self.read_exactly(size)?);
            if self.read_exactly(2)? != b"\r\n" {
                return Err(io::Error::other("a chunk is longer than it says"));
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let end = loop {
            if let Some(at) = self.buffered.windows(2).position(|two| two == b"\r\n") {
                break at;
            }
            if !self.fill_buffer()? {
                return Err(self.truncated("a line"));
            }
        };
        let line: Vec<u8> = self.buffered.drain(..end + 2).collect();
        Ok(String::from_utf8_lossy(&line[..end]).into_owned())
    }

    fn fill_buffer(&mut self) -> io::Result<bool> {
        let mut piece = [0; 64 * 1024];
        let read = self.stream.read(&mut piece)?;
        self.buffered.extend_from_slice(&piece[..read]);
        Ok(read > 0)
    }

    fn truncated(&self, what: &str) -> io::Error {
        let seen =
            String::from_utf8_lossy(&self.buffered[..self.buffered.len().min(200)]).into_owned();
        let text = format!("the stream ended where {what} was expected, after {seen:?}");
        io::Error::new(io::ErrorKind::UnexpectedEof, text)
    }
}

/// Pseudo-random bytes, so that reordered or repeated pieces are detected. The same length gives the same bytes.
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ length as u64;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(step).take(length).collect()
}
