//! HTTP/1.1: one request, the first final answer, its body as far as it is wanted. It follows no redirect.

use std::sync::Arc;

use wire::http1::{AnswerBody, Asked, Chunked, Emit, Limits, Slots, may_complete, parse_response};

use crate::answer::{Body, Wanted};
use crate::dialogue::{Dialogue, Step, Verdict};

/// The largest answer head that is read, informational ones included.
const HEAD_BYTES: usize = 16 * 1024;
/// Fields of a head.
const HEAD_COUNT: usize = 128;

/// A dialogue under way.
#[derive(Debug)]
pub struct Http {
    wanted: Arc<Wanted>,
    host: String,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The head so far, and where the answer that counts begins.
    Head { bytes: Vec<u8>, from: usize },
    /// The body.
    Body { status: u16, left: Left, body: Body },
}

#[derive(Debug)]
enum Left {
    Bytes(u64),
    Chunks(Box<Chunked>),
    UntilClose,
}

impl Http {
    /// Asks for what is wanted.
    pub fn new(wanted: Arc<Wanted>, host: &str) -> Http {
        Http { wanted, host: host.to_owned(), state: State::Head { bytes: Vec::new(), from: 0 } }
    }

    fn head(&mut self, new: &[u8], out: &mut Vec<u8>) -> Step {
        let State::Head { bytes, from } = &mut self.state else { return Step::Wait };
        let limits =
            Limits { head_bytes: HEAD_BYTES, head_count: HEAD_COUNT, target_bytes: HEAD_BYTES };
        let had = bytes.len();
        let room = HEAD_BYTES - had;
        let (now, later) = new.split_at(new.len().min(room));
        bytes.extend_from_slice(now);
        // Only a line's end can complete a head: bytes that drip in one by one are not parsed one by one.
        while bytes.len() > *from && may_complete(bytes, had, &limits) {
            let mut slots = Slots::new();
            let asked = if self.wanted.ask.method == "HEAD" { Asked::Head } else { Asked::Other };
            match parse_response(&bytes[*from..], &limits, &mut slots, asked) {
                Err(defect) => {
                    return Step::bad(format!("the answer is not HTTP: {}", defect.name()));
                }
                Ok(None) => break,
                Ok(Some(answer)) if (100..200).contains(&answer.status) && answer.status != 101 => {
                    *from += answer.head_len;
                }
                Ok(Some(answer)) => {
                    let (status, end) = (answer.status, *from + answer.head_len);
                    if let Some(verdict) = self.wanted.status(status) {
                        return Step::Done(verdict);
                    }
                    let left = left(answer.body);
                    let rest = [&bytes[end..], later].concat();
                    let body = self.wanted.body();
                    self.state = State::Body { status, left, body };
                    return self.body(&rest, out);
                }
            }
        }
        if bytes.len() == HEAD_BYTES {
            return Step::bad(format!("the answer's head exceeds {HEAD_BYTES} bytes"));
        }
        Step::Wait
    }

    fn body(&mut self, bytes: &[u8], scratch: &mut Vec<u8>) -> Step {
        let State::Body { status, left, body } = &mut self.state else { return Step::Wait };
        let status = *status;
        let (step, finished) = match left {
            Left::UntilClose => (self.wanted.part(body, bytes, status), false),
            Left::Bytes(left) => {
                let most = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= most as u64;
                (self.wanted.part(body, &bytes[..most], status), *left == 0)
            }
            Left::Chunks(chunked) => {
                // What is decoded goes past the bytes to send, and is taken off again.
                let mark = scratch.len();
                let fed = match chunked.feed(bytes, scratch) {
                    Ok(fed) => fed,
                    Err(defect) => {
                        scratch.truncate(mark);
                        return Step::bad(format!("the answer is not HTTP: {}", defect.name()));
                    }
                };
                let step = self.wanted.part(body, &scratch[mark..], status);
                scratch.truncate(mark);
                (step, fed.finished)
            }
        };
        match step {
            Step::Wait if finished => Step::Done(self.wanted.whole(body, status)),
            step => step,
        }
    }
}

fn left(body: AnswerBody) -> Left {
    match body {
        AnswerBody::None => Left::Bytes(0),
        AnswerBody::Length(length) => Left::Bytes(length),
        AnswerBody::Chunked => Left::Chunks(Box::new(Chunked::new(Emit::Plain))),
        AnswerBody::UntilClose => Left::UntilClose,
    }
}

impl Dialogue for Http {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        let ask = &self.wanted.ask;
        for part in [&ask.method, " ", &ask.path, " HTTP/1.1\r\nhost: ", &self.host, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        let given = |name: &str| ask.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        for (name, value) in [("user-agent", "steelyard-probe"), ("accept", "*/*")] {
            if !given(name) {
                field(out, name, value);
            }
        }
        for (name, value) in &ask.headers {
            field(out, name, value);
        }
        if !matches!(ask.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "DELETE") {
            field(out, "content-length", "0");
        }
        out.extend_from_slice(b"connection: close\r\n\r\n");
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Step {
        match self.state {
            State::Head { .. } => self.head(bytes, out),
            State::Body { .. } => self.body(bytes, out),
        }
    }

    fn end(&mut self) -> Verdict {
        match &mut self.state {
            State::Head { bytes, .. } if bytes.is_empty() => {
                Err("closed without an answer".to_owned())
            }
            State::Head { .. } => Err("closed in the middle of the answer's head".to_owned()),
            State::Body { status, left: Left::UntilClose, body } => {
                self.wanted.whole(body, *status)
            }
            State::Body { .. } => Err("closed in the middle of the answer's body".to_owned()),
        }
    }

    fn awaits(&self) -> &'static str {
        match self.state {
            State::Head { .. } => "answer",
            State::Body { .. } => "end of the answer's body",
        }
    }
}

fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}
