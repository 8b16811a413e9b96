//! Reads heads and bodies of HTTP/1.1 from a blocking stream, for the client and for the stand-in servers.
//!
//! It is lenient: what a balancer sends is compared, not validated. Sizes are limited.

use std::io::{self, Read, Write};

use super::observation::{SeenField, field_values};

/// The largest head and the largest body, bytes.
const HEAD_MAX: usize = 256 * 1_024;
const BODY_MAX: usize = 4 * 1_024 * 1_024;

/// The start line and the fields of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenHead {
    pub start: String,
    pub fields: Vec<SeenField>,
}

impl SeenHead {
    /// A word of the start line, or an empty string.
    pub fn word(&self, at: usize) -> &str {
        self.start.split(' ').nth(at).unwrap_or("")
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        field_values(&self.fields, name).first().copied()
    }

    /// Whether a list field contains an element.
    pub fn lists(&self, name: &str, element: &str) -> bool {
        let all = field_values(&self.fields, name);
        all.iter()
            .flat_map(|value| value.split(','))
            .any(|one| one.trim().eq_ignore_ascii_case(element))
    }
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    None,
    Length(usize),
    Chunked,
    /// At the connection's end.
    Closed,
}

impl BodyEnd {
    /// Of a request (RFC 9112 section 6.3).
    pub fn of_request(head: &SeenHead) -> BodyEnd {
        match (head.lists("transfer-encoding", "chunked"), length(head)) {
            (true, _) => BodyEnd::Chunked,
            (false, Some(length)) => BodyEnd::Length(length),
            (false, None) => BodyEnd::None,
        }
    }

    /// Of the answer to a request with this method.
    pub fn of_answer(head: &SeenHead, method: &str) -> BodyEnd {
        let status = head.word(1);
        if method == "HEAD" || status.starts_with('1') || matches!(status, "204" | "304") {
            return BodyEnd::None;
        }
        match BodyEnd::of_request(head) {
            BodyEnd::None => BodyEnd::Closed,
            other => other,
        }
    }
}

fn length(head: &SeenHead) -> Option<usize> {
    head.value("content-length").and_then(|value| value.trim().parse().ok())
}

/// A stream with a buffer of bytes that were read ahead.
#[derive(Debug)]
pub struct MessageStream<S> {
    stream: S,
    buffer: Vec<u8>,
}

impl<S: Read + Write> MessageStream<S> {
    pub fn new(stream: S, buffer: Vec<u8>) -> MessageStream<S> {
        MessageStream { stream, buffer }
    }

    /// The bytes that were read ahead and not taken.
    pub fn ahead(&self) -> &[u8] {
        &self.buffer
    }

    /// Drops the first bytes of those that were read ahead.
    pub fn skip(&mut self, bytes: usize) {
        self.buffer.drain(..bytes.min(self.buffer.len()));
    }

    /// The stream, and what was read ahead goes with it.
    pub fn into_parts(self) -> BufferedStream<S> {
        BufferedStream { stream: self.stream, ahead: self.buffer }
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Reads more; false at the end.
    pub fn fill(&mut self) -> io::Result<bool> {
        let mut piece = [0; 16 * 1_024];
        let read = self.stream.read(&mut piece)?;
        self.buffer.extend_from_slice(&piece[..read]);
        Ok(read > 0)
    }

    /// The next head; `None` at the end of the connection.
    pub fn head(&mut self) -> io::Result<Option<SeenHead>> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let text = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.skip(end + 4);
                return Ok(Some(parse_head(&text)));
            }
            if self.buffer.len() > HEAD_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// A body, without the framing of chunks.
    pub fn body(&mut self, end: BodyEnd) -> io::Result<Vec<u8>> {
        match end {
            BodyEnd::None => Ok(Vec::new()),
            BodyEnd::Length(length) => self.exactly(length),
            BodyEnd::Chunked => self.chunks(),
            BodyEnd::Closed => {
                while self.buffer.len() <= BODY_MAX && self.fill()? {}
                Ok(std::mem::take(&mut self.buffer))
            }
        }
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > BODY_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        while self.buffer.len() < length {
            if !self.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.skip(end + 2);
                return Ok(line);
            }
            if self.buffer.len() > HEAD_MAX || !self.fill()? {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = line.split(';').next().unwrap_or("").trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
            if size == 0 {
                while !self.line()?.is_empty() {}
                return Ok(body);
            }
            body.extend(self.exactly(size)?);
            self.line()?;
            if body.len() > BODY_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }
}

/// A stream, and the bytes that were read of it already.
#[derive(Debug)]
pub struct BufferedStream<S> {
    stream: S,
    ahead: Vec<u8>,
}

impl<S: Read> Read for BufferedStream<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
            return self.stream.read(into);
        }
        let taken = into.len().min(self.ahead.len());
        into[..taken].copy_from_slice(&self.ahead[..taken]);
        self.ahead.drain(..taken);
        Ok(taken)
    }
}

impl<S: Write> Write for BufferedStream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The position of `wanted` in `bytes`.
pub fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn parse_head(text: &str) -> SeenHead {
    let mut lines = text.split("\r\n");
    let start = lines.next().unwrap_or("").to_owned();
    let field = |line: &str| {
        let at = line.find(':')?;
        let name = line[..at].to_owned();
        Some(SeenField { name, value: line[at + 1..].trim().to_owned() })
    };
    SeenHead { start, fields: lines.filter_map(field).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(text: &str) -> MessageStream<io::Cursor<Vec<u8>>> {
        MessageStream::new(io::Cursor::new(Vec::new()), text.as_bytes().to_vec())
    }

    #[test]
    fn heads_and_bodies_are_read_by_their_framing() {
        for (text, body) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd", "abc"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n",
                "abc",
            ),
            ("HTTP/1.1 200 OK\r\n\r\nabc", "abc"),
            ("HTTP/1.1 204 None\r\n\r\nabc", ""),
        ] {
            let mut stream = stream(text);
            let head = stream.head().unwrap().unwrap();
            let read = stream.body(BodyEnd::of_answer(&head, "GET")).unwrap();
            assert_eq!(String::from_utf8_lossy(&read), body, "{text}");
        }
        let mut cut = stream("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
        let head = cut.head().unwrap().unwrap();
        assert!(cut.body(BodyEnd::of_answer(&head, "GET")).is_err());
        assert_eq!(stream("HTTP/1.1 200 OK\r\nA: b").head().unwrap(), None);
    }
}
