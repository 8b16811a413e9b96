//! HTTP/1: finds messages by their heads, and pairs responses with requests.
//!
//! The end of a response depends on its request: HEAD, CONNECT, an upgrade (RFC 9112, 6.3). After an upgrade decoding
//! stops.

use std::collections::VecDeque;

use super::head::{self, BodyLength, MessageHead};
use super::message::{HttpMessage, MessageStart};
use super::need::{DecodeStep, StreamBuffer};
use crate::event::ConnectionSide;

/// The decoder state of each side.
#[derive(Clone, Debug, Default)]
pub struct HttpDecoder {
    states: [HttpDecodeState; 2],
    pending_methods: VecDeque<RequestMethod>,
    tunnel: Option<TunnelStart>,
}

/// Where the protocol begins that an upgrade or CONNECT opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelStart {
    /// Offsets of its first bytes: of the client, of the server.
    pub from: [i64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestMethod {
    Head,
    Connect,
    Upgrade,
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HttpDecodeState {
    #[default]
    Head,
    /// At the line with a chunk's length.
    Chunk,
    /// At the fields behind the last chunk.
    Trailer,
    /// In a body that only the connection's end ends.
    UntilClose,
}

/// Requests that wait for their answers, at most; more is no HTTP that can be followed.
const MAX_WAITING: usize = 1_024;
/// The longest accepted line of a chunk.
const MAX_CHUNK_LINE: usize = 4_096;
/// Characters of a request's first line that are stored.
/// A title has one line.
const MAX_TITLE: usize = 120;

/// The message that begins with these bytes, interim responses apart.
pub fn message_start(side: ConnectionSide, bytes: &[u8]) -> Option<MessageStart> {
    let line = bytes.split(|byte| *byte == b'\n').next()?.trim_ascii_end();
    match side {
        ConnectionSide::Client => {
            head::is_request(line).then(|| MessageStart::Request(title(line)))
        }
        ConnectionSide::Server => {
            let status = head::parse_status(line)?;
            (status == 101 || status >= 200).then_some(MessageStart::Status(status))
        }
    }
}

/// Method and target of a request's first line.
fn title(line: &[u8]) -> Box<str> {
    let line = line.strip_suffix(b" HTTP/1.1").unwrap_or(line);
    let title: String = String::from_utf8_lossy(line).chars().take(MAX_TITLE).collect();
    title.into()
}

/// What the head of a message begins.
struct ParsedStart {
    start: MessageStart,
    /// `None`: an interim response, which has no body.
    body: Option<BodyLength>,
}

impl HttpDecoder {
    /// Whether a side is within a message of chunks.
    pub fn is_in_chunks(&self, side: ConnectionSide) -> bool {
        matches!(self.states[side.index()], HttpDecodeState::Chunk | HttpDecodeState::Trailer)
    }

    /// Where another protocol begins, if one was opened.
    pub fn tunnel(&self) -> Option<TunnelStart> {
        self.tunnel
    }

    /// Reads the next thing.
    pub fn step(
        &mut self,
        side: ConnectionSide,
        need: &mut StreamBuffer,
        messages: &mut [VecDeque<HttpMessage>; 2],
    ) -> DecodeStep {
        let asked_to = messages[0].get(messages[1].len()).and_then(|request| request.to);
        let messages = &mut messages[side.index()];
        match self.states[side.index()] {
            HttpDecodeState::Head => self.read_head(side, need, messages, asked_to),
            HttpDecodeState::Chunk => self.read_chunk(side, need, messages),
            HttpDecodeState::Trailer => self.read_trailer(side, need, messages),
            HttpDecodeState::UntilClose => {
                need.skip_to(i64::MAX / 2);
                DecodeStep::Wait
            }
        }
    }

    fn read_head(
        &mut self,
        side: ConnectionSide,
        need: &mut StreamBuffer,
        messages: &mut VecDeque<HttpMessage>,
        asked_to: Option<i64>,
    ) -> DecodeStep {
        let Some(head) = head::parse_head(need.bytes()) else {
            return if may_become_head(side, need.bytes()) {
                need.wait_step()
            } else {
                DecodeStep::Unreadable
            };
        };
        let from = need.start();
        let parsed = match side {
            ConnectionSide::Client => self.on_request(&head),
            ConnectionSide::Server => self.on_response(&head),
        };
        let Some(ParsedStart { start, body }) = parsed else { return DecodeStep::Unreadable };
        let behind = from + head.length as i64;
        let mut message = HttpMessage { from, to: None, start };
        if side == ConnectionSide::Server && self.states == [HttpDecodeState::UntilClose; 2] {
            // The answer ends with its head: what follows is the tunnel's.
            message.to = Some(behind);
            self.tunnel = asked_to.map(|asked_to| TunnelStart { from: [asked_to, behind] });
            need.skip_to(behind);
            messages.push_back(message);
            return DecodeStep::Advanced;
        }
        match body {
            Some(BodyLength::Bytes(bytes)) => {
                message.to = Some(behind + bytes);
                need.skip_to(behind + bytes);
            }
            Some(BodyLength::Chunks) => {
                self.states[side.index()] = HttpDecodeState::Chunk;
                need.skip_to(behind);
            }
            Some(BodyLength::UntilClose) => {
                self.states[side.index()] = HttpDecodeState::UntilClose;
                need.skip_to(behind);
            }
            // An interim response is not a separate message.
            None => {
                need.skip_to(behind);
                return DecodeStep::Advanced;
            }
        }
        messages.push_back(message);
        DecodeStep::Advanced
    }

    fn on_request(&mut self, head: &MessageHead<'_>) -> Option<ParsedStart> {
        if !head::is_request(head.line) || self.pending_methods.len() >= MAX_WAITING {
            return None;
        }
        let method = match head.line {
            line if line.starts_with(b"HEAD ") => RequestMethod::Head,
            line if line.starts_with(b"CONNECT ") => RequestMethod::Connect,
            _ if head.upgrade => RequestMethod::Upgrade,
            _ => RequestMethod::Other,
        };
        self.pending_methods.push_back(method);
        let body =
            if head.body == BodyLength::UntilClose { BodyLength::Bytes(0) } else { head.body };
        Some(ParsedStart { start: MessageStart::Request(title(head.line)), body: Some(body) })
    }

    fn on_response(&mut self, head: &MessageHead<'_>) -> Option<ParsedStart> {
        let status = head::parse_status(head.line)?;
        if (100..200).contains(&status) && status != 101 {
            return Some(ParsedStart { start: MessageStart::Status(status), body: None });
        }
        let method = self.pending_methods.pop_front()?;
        let bodiless = method == RequestMethod::Head || status == 204 || status == 304;
        let opens = status == 101 && method == RequestMethod::Upgrade
            || method == RequestMethod::Connect && (200..300).contains(&status);
        if opens {
            // From here on another protocol is used.
            self.states = [HttpDecodeState::UntilClose; 2];
        }
        let body = if bodiless { BodyLength::Bytes(0) } else { head.body };
        Some(ParsedStart { start: MessageStart::Status(status), body: Some(body) })
    }

    fn read_chunk(
        &mut self,
        side: ConnectionSide,
        need: &mut StreamBuffer,
        messages: &mut VecDeque<HttpMessage>,
    ) -> DecodeStep {
        let bytes = need.bytes();
        let Some(line) = bytes.iter().position(|byte| *byte == b'\n') else {
            return if bytes.len() > MAX_CHUNK_LINE {
                DecodeStep::Unreadable
            } else {
                need.wait_step()
            };
        };
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let text = std::str::from_utf8(&bytes[..digits]).unwrap_or("");
        let Ok(length) = u32::from_str_radix(text, 16) else { return DecodeStep::Unreadable };
        let behind = need.start() + line as i64 + 1;
        if length == 0 {
            self.states[side.index()] = HttpDecodeState::Trailer;
            need.skip_to(behind);
            return self.read_trailer(side, need, messages);
        }
        // The chunk and the end of line behind it.
        need.skip_to(behind + i64::from(length) + 2);
        DecodeStep::Advanced
    }

    fn read_trailer(
        &mut self,
        side: ConnectionSide,
        need: &mut StreamBuffer,
        messages: &mut VecDeque<HttpMessage>,
    ) -> DecodeStep {
        let bytes = need.bytes();
        let Some(line) = bytes.iter().position(|byte| *byte == b'\n') else {
            return if bytes.len() > MAX_CHUNK_LINE {
                DecodeStep::Unreadable
            } else {
                need.wait_step()
            };
        };
        let empty = bytes[..line].trim_ascii().is_empty();
        let behind = need.start() + line as i64 + 1;
        need.skip_to(behind);
        if empty {
            if let Some(message) = messages.back_mut() {
                message.to = Some(behind);
            }
            self.states[side.index()] = HttpDecodeState::Head;
        }
        DecodeStep::Advanced
    }
}

/// Whether the beginning of a head can still become a valid one.
fn may_become_head(side: ConnectionSide, bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    let short = bytes.len() < 12;
    match side {
        ConnectionSide::Client => short || head::is_request(bytes),
        ConnectionSide::Server => {
            // The length of `HTTP/1.`, as far as it was captured.
            let compared = bytes.len().min(7);
            bytes[..compared] == b"HTTP/1."[..compared]
        }
    }
}
