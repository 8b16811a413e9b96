//! HTTP/1: finds messages by their heads, and pairs answers with what was asked for.
//!
//! An answer's end depends on its request: HEAD, CONNECT, an upgrade (RFC 9112, 6.3). After an upgrade nobody listens.

use std::collections::VecDeque;

use super::head::{self, Body, Head};
use super::message::{Message, Said};
use super::need::{Need, Step};
use crate::event::Side;

/// What each side is at.
#[derive(Debug, Default)]
pub struct Http {
    states: [State; 2],
    asked: VecDeque<Asked>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Head,
    Connect,
    Upgrade,
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    /// At the line that says how long a chunk is.
    Chunk,
    /// At the fields behind the last chunk.
    Trailer,
    /// In a body that only the connection's end ends.
    UntilClose,
}

/// Requests that wait for their answers, at most; more is no HTTP that can be followed.
const MAX_WAITING: usize = 1_024;
/// The longest line of a chunk that is believed.
const MAX_CHUNK_LINE: usize = 4_096;
/// Characters of a request's first line that are kept.
const MAX_TITLE: usize = 120;

impl Http {
    /// Reads the next thing.
    pub fn step(
        &mut self,
        side: Side,
        need: &mut Need,
        messages: &mut [VecDeque<Message>; 2],
    ) -> Step {
        let messages = &mut messages[side.index()];
        match self.states[side.index()] {
            State::Head => self.head(side, need, messages),
            State::Chunk => self.chunk(side, need, messages),
            State::Trailer => self.trailer(side, need, messages),
            State::UntilClose => {
                need.skip_to(i64::MAX / 2);
                Step::Wait
            }
        }
    }

    fn head(&mut self, side: Side, need: &mut Need, messages: &mut VecDeque<Message>) -> Step {
        let Some(head) = head::read(need.bytes()) else {
            return if plausible(side, need.bytes()) { need.wait() } else { Step::Lost };
        };
        let from = need.start();
        let told = match side {
            Side::Client => self.request(&head),
            Side::Server => self.answer(&head),
        };
        let Some((said, body)) = told else { return Step::Lost };
        let behind = from + head.length as i64;
        let mut message = Message { from, to: None, said };
        match body {
            Some(Body::Bytes(bytes)) => {
                message.to = Some(behind + bytes);
                need.skip_to(behind + bytes);
            }
            Some(Body::Chunks) => {
                self.states[side.index()] = State::Chunk;
                need.skip_to(behind);
            }
            Some(Body::Untold) => {
                self.states[side.index()] = State::UntilClose;
                need.skip_to(behind);
            }
            // An interim answer is no message of its own.
            None => {
                need.skip_to(behind);
                return Step::More;
            }
        }
        messages.push_back(message);
        Step::More
    }

    fn request(&mut self, head: &Head<'_>) -> Option<(Said, Option<Body>)> {
        if !head::is_request(head.line) || self.asked.len() >= MAX_WAITING {
            return None;
        }
        let asked = match head.line {
            line if line.starts_with(b"HEAD ") => Asked::Head,
            line if line.starts_with(b"CONNECT ") => Asked::Connect,
            _ if head.upgrade => Asked::Upgrade,
            _ => Asked::Other,
        };
        self.asked.push_back(asked);
        let body = if head.body == Body::Untold { Body::Bytes(0) } else { head.body };
        let line = head.line.strip_suffix(b" HTTP/1.1").unwrap_or(head.line);
        let title: String = String::from_utf8_lossy(line).chars().take(MAX_TITLE).collect();
        Some((Said::Request(title.into()), Some(body)))
    }

    fn answer(&mut self, head: &Head<'_>) -> Option<(Said, Option<Body>)> {
        let status = head::status(head.line)?;
        if (100..200).contains(&status) && status != 101 {
            return Some((Said::Status(status), None));
        }
        let asked = self.asked.pop_front()?;
        let bodiless = asked == Asked::Head || status == 204 || status == 304;
        let opens = status == 101 && asked == Asked::Upgrade
            || asked == Asked::Connect && (200..300).contains(&status);
        if opens {
            // From here on it is somebody else's language.
            self.states = [State::UntilClose; 2];
        }
        let body = if bodiless { Body::Bytes(0) } else { head.body };
        Some((Said::Status(status), Some(body)))
    }

    fn chunk(&mut self, side: Side, need: &mut Need, messages: &mut VecDeque<Message>) -> Step {
        let bytes = need.bytes();
        let Some(line) = bytes.iter().position(|byte| *byte == b'\n') else {
            return if bytes.len() > MAX_CHUNK_LINE { Step::Lost } else { need.wait() };
        };
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let text = std::str::from_utf8(&bytes[..digits]).unwrap_or("");
        let Ok(length) = u32::from_str_radix(text, 16) else { return Step::Lost };
        let behind = need.start() + line as i64 + 1;
        if length == 0 {
            self.states[side.index()] = State::Trailer;
            need.skip_to(behind);
            return self.trailer(side, need, messages);
        }
        // The chunk and the end of line behind it.
        need.skip_to(behind + i64::from(length) + 2);
        Step::More
    }

    fn trailer(&mut self, side: Side, need: &mut Need, messages: &mut VecDeque<Message>) -> Step {
        let bytes = need.bytes();
        let Some(line) = bytes.iter().position(|byte| *byte == b'\n') else {
            return if bytes.len() > MAX_CHUNK_LINE { Step::Lost } else { need.wait() };
        };
        let empty = bytes[..line].trim_ascii().is_empty();
        let behind = need.start() + line as i64 + 1;
        need.skip_to(behind);
        if empty {
            if let Some(message) = messages.back_mut() {
                message.to = Some(behind);
            }
            self.states[side.index()] = State::Head;
        }
        Step::More
    }
}

/// Whether the beginning of a head can still become one.
fn plausible(side: Side, bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    let short = bytes.len() < 12;
    match side {
        Side::Client => short || head::is_request(bytes),
        Side::Server => {
            let compared = bytes.len().min(7);
            bytes[..compared] == b"HTTP/1."[..compared]
        }
    }
}
