//! Something said, something expected: over TCP, and over UDP, where without expectation the same must come back.

use regex::bytes::Regex;

use crate::dialogue::{Dialogue, Step, Verdict, shown};

/// Bytes of a stream that are looked at.
const STREAM_BYTES: usize = 64 * 1_024;

/// Over a stream.
#[derive(Debug)]
pub struct Stream {
    send: Vec<u8>,
    expect: Regex,
    got: Vec<u8>,
    /// How much there was when it was last looked at.
    looked: usize,
}

/// By datagrams.
#[derive(Debug)]
pub struct Datagram {
    send: Vec<u8>,
    expect: Option<Regex>,
}

impl Stream {
    /// Says this and waits for that.
    pub fn new(send: &str, expect: Regex) -> Stream {
        Stream { send: send.as_bytes().to_vec(), expect, got: Vec::new(), looked: 0 }
    }

    fn look(&mut self) -> Option<Step> {
        self.looked = self.got.len();
        let found = self.expect.find(&self.got)?;
        Some(Step::good(format!("tcp {}", shown(found.as_bytes()))))
    }
}

impl Dialogue for Stream {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        out.append(&mut self.send);
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Step {
        let room = STREAM_BYTES - self.got.len();
        self.got.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let full = self.got.len() == STREAM_BYTES;
        // Bytes that drip in are looked at each time while they are few, then whenever they have grown by half.
        let grown = self.got.len() < 256 || self.got.len() >= self.looked + self.looked / 2;
        if (full || grown)
            && let Some(step) = self.look()
        {
            return step;
        }
        if full {
            return Step::bad(format!("nothing expected in the first {STREAM_BYTES} bytes"));
        }
        Step::Wait
    }

    fn end(&mut self) -> Verdict {
        match self.look() {
            Some(Step::Done(verdict)) => verdict,
            _ if self.got.is_empty() => Err("closed without an answer".to_owned()),
            _ => Err(format!("not the expected answer: {:?}", shown(&self.got))),
        }
    }

    fn awaits(&self) -> &'static str {
        "expected answer"
    }
}

impl Datagram {
    /// Says this and waits for that, or for the same.
    pub fn new(send: &str, expect: Option<Regex>) -> Datagram {
        Datagram { send: send.as_bytes().to_vec(), expect }
    }
}

impl Dialogue for Datagram {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        out.extend_from_slice(&self.send);
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Step {
        let good = match &self.expect {
            Some(expect) => expect.is_match(bytes),
            None => bytes == self.send,
        };
        match good {
            true => Step::good(format!("udp {}", shown(bytes))),
            false => Step::bad(format!("not the expected answer: {:?}", shown(bytes))),
        }
    }

    fn awaits(&self) -> &'static str {
        "answer"
    }
}
