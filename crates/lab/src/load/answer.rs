//! Reads one answer after the other from the bytes of a connection.
//!
//! Bodies are counted, not kept. It knows nothing of requests but what is needed to frame their answers.

use std::sync::Arc;

use wire::http1::{AnswerBody, Asked, Chunked, Emit, Limits, Slots, parse_response};

use super::fail::Fail;
use super::find::Find;

/// What a piece of an answer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// The answer is whole.
    Whole {
        /// Its status; 0 for an echo.
        status: u16,
        /// Whether the connection can serve another request.
        reusable: bool,
    },
    /// The peer says that it has not looked at the request and ends the connection (RFC 9113 §6.8): another one may
    /// carry it.
    Unprocessed,
    /// It is not an answer that can be accepted.
    Failed(Fail),
}

/// The reading side of an HTTP connection.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    held: Vec<u8>,
    scratch: Vec<u8>,
    body: Body,
    body_bytes: u64,
    asked_head: bool,
    text: Option<Find>,
    status: u16,
    reusable: bool,
    began: bool,
}

#[derive(Debug)]
enum Body {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

impl Reader {
    /// Before the first answer of a connection.
    pub fn new() -> Reader {
        Reader {
            limits: Limits::default(),
            held: Vec::new(),
            scratch: Vec::new(),
            body: Body::Head,
            body_bytes: 0,
            asked_head: false,
            text: None,
            status: 0,
            reusable: true,
            began: false,
        }
    }

    /// Whether a byte of the current answer has come.
    pub fn began(&self) -> bool {
        self.began
    }

    /// Makes ready for the next answer; `asked_head`: to a HEAD request, `text`: what to look for in its body.
    pub fn expect_next(&mut self, asked_head: bool, text: Option<&Arc<[u8]>>) {
        self.held.clear();
        self.body = Body::Head;
        self.body_bytes = 0;
        self.asked_head = asked_head;
        self.text = text.map(Find::new);
        self.began = false;
    }

    /// Bytes of the current answer's body so far, without framing.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether the text that was looked for was in the body; true without one.
    pub fn found_text(&self) -> bool {
        self.text.as_ref().is_none_or(Find::is_found)
    }

    /// Takes the next bytes of the connection.
    pub fn feed(&mut self, bytes: &[u8]) -> Progress {
        self.began |= !bytes.is_empty();
        if !matches!(self.body, Body::Head) {
            return self.feed_body(bytes);
        }
        if self.held.is_empty() {
            return self.feed_head(bytes).unwrap_or_else(|rest| {
                self.held.extend_from_slice(&bytes[rest..]);
                Progress::More
            });
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        match self.feed_head(&held) {
            Ok(progress) => progress,
            Err(rest) => {
                held.drain(..rest);
                self.held = held;
                Progress::More
            }
        }
    }

    /// The peer ended its direction in order: whether that completes the answer.
    pub fn end_completes(&self) -> Option<Progress> {
        matches!(self.body, Body::UntilClose)
            .then_some(Progress::Whole { status: self.status, reusable: false })
    }

    /// Reads the head, and the body that follows it; `Err`: from which byte on a head is incomplete.
    fn feed_head(&mut self, bytes: &[u8]) -> Result<Progress, usize> {
        let mut at = 0;
        let asked = if self.asked_head { Asked::Head } else { Asked::Other };
        loop {
            let mut slots = Slots::new();
            let rest = &bytes[at..];
            match parse_response(rest, &self.limits, &mut slots, asked) {
                Err(_) => return Ok(Progress::Failed(Fail::BadAnswer)),
                Ok(None) => return Err(at),
                Ok(Some(head)) if head.status == 101 => {
                    return Ok(Progress::Failed(Fail::WrongAnswer));
                }
                Ok(Some(head)) if head.status < 200 => at += head.head_len,
                Ok(Some(head)) => {
                    self.status = head.status;
                    self.reusable = head.keep_alive;
                    self.body = match head.body {
                        AnswerBody::None => Body::Length(0),
                        AnswerBody::Length(bytes) => Body::Length(bytes),
                        AnswerBody::Chunked => Body::Chunked(Chunked::new(Emit::Plain)),
                        AnswerBody::UntilClose => Body::UntilClose,
                    };
                    return Ok(self.feed_body(&rest[head.head_len..]));
                }
            }
        }
    }

    fn feed_body(&mut self, bytes: &[u8]) -> Progress {
        let (used, finished) = match &mut self.body {
            Body::Head => return Progress::More,
            Body::UntilClose => {
                self.body_bytes += bytes.len() as u64;
                look(&mut self.text, bytes);
                return Progress::More;
            }
            Body::Length(left) => {
                let used = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= used as u64;
                self.body_bytes += used as u64;
                look(&mut self.text, &bytes[..used]);
                (used, *left == 0)
            }
            Body::Chunked(chunked) => {
                self.scratch.clear();
                match chunked.feed(bytes, &mut self.scratch) {
                    Ok(fed) => {
                        self.body_bytes += self.scratch.len() as u64;
                        look(&mut self.text, &self.scratch);
                        (fed.consumed, fed.finished)
                    }
                    Err(_) => return Progress::Failed(Fail::BadAnswer),
                }
            }
        };
        match (finished, used == bytes.len()) {
            (false, _) => Progress::More,
            (true, false) => Progress::Failed(Fail::WrongAnswer),
            (true, true) => Progress::Whole { status: self.status, reusable: self.reusable },
        }
    }
}

fn look(text: &mut Option<Find>, bytes: &[u8]) {
    if let Some(find) = text {
        find.feed(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(status: u16, reusable: bool) -> Progress {
        Progress::Whole { status, reusable }
    }

    #[test]
    fn framings_in_every_split() {
        let rows: &[(&str, Progress)] = &[
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", whole(200, true)),
            ("HTTP/1.1 204 No Content\r\n\r\n", whole(204, true)),
            (
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                whole(200, false),
            ),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 1\r\n\r\nx",
                whole(503, true),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                whole(200, true),
            ),
        ];
        for (text, expected) in rows {
            for split in 0..text.len() {
                let (first, second) = text.as_bytes().split_at(split);
                let mut reader = Reader::new();
                assert_eq!(reader.feed(first), Progress::More, "{text} at {split}");
                assert_eq!(reader.feed(second), *expected, "{text} at {split}");
                reader.expect_next(false, None);
                assert_eq!(reader.feed(text.as_bytes()), *expected, "{text} again");
            }
        }
    }

    #[test]
    fn what_is_not_an_answer() {
        let rows: &[(&str, Fail)] = &[
            ("SSH-2.0-OpenSSH_9\r\n\r\n", Fail::BadAnswer),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy", Fail::WrongAnswer),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", Fail::BadAnswer),
        ];
        for (text, fail) in rows {
            assert_eq!(Reader::new().feed(text.as_bytes()), Progress::Failed(*fail), "{text}");
        }
    }

    #[test]
    fn until_close_ends_with_the_connection() {
        let mut reader = Reader::new();
        assert_eq!(reader.end_completes(), None);
        assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\n\r\nabc"), Progress::More);
        assert_eq!(reader.end_completes(), Some(whole(200, false)));
    }
}
