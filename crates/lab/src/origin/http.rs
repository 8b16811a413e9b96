//! One HTTP/1 connection of an origin, without its socket: requests in, answers out, in order.
//!
//! Large bodies are a number of bytes still to be sent, not memory. A request that breaks the grammar gets the
//! codec's status and the end of the connection.

use std::time::Duration;

use model::moment::Moment;
use wire::http1::{BodyKind, Chunked, Emit, Slots, Version, parse_request};

use super::ask::Ask;
use super::route::Route;
use super::site::{FILLER, Fault, Framing, INLINE, Site};
use super::websocket::{self, Frames};

/// How a connection is to end once its output is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In order.
    Close,
    /// With a reset.
    Reset,
}

/// One connection.
#[derive(Debug)]
pub struct Http {
    input: Vec<u8>,
    out: Vec<u8>,
    written: usize,
    /// Body bytes that follow `out`.
    fill: u64,
    /// Body bytes still to be sent in chunks.
    chunks: Option<u64>,
    state: State,
    ending: Option<Ending>,
}

#[derive(Debug)]
enum State {
    Head,
    Body { ask: Ask, left: Left },
    Waiting { until: Moment, ask: Ask },
    WebSocket,
}

#[derive(Debug)]
enum Left {
    Length(u64),
    Chunked(Chunked),
}

impl Http {
    /// A new connection.
    pub fn new() -> Http {
        Http {
            input: Vec::new(),
            out: Vec::new(),
            written: 0,
            fill: 0,
            chunks: None,
            state: State::Head,
            ending: None,
        }
    }

    /// Bytes came, or (with none) what had to be waited for is there.
    pub fn received(&mut self, bytes: &[u8], site: &mut Site, now: Moment) {
        if self.input.is_empty() {
            let used = self.work(bytes, site, now);
            self.input.extend_from_slice(&bytes[used..]);
        } else {
            let mut input = std::mem::take(&mut self.input);
            input.extend_from_slice(bytes);
            let used = self.work(&input, site, now);
            input.drain(..used);
            self.input = input;
        }
        if self.input.len() > HELD {
            self.ending = Some(Ending::Close);
        }
    }

    /// What is to be sent: bytes, then so many of the filler.
    pub fn output(&self) -> (&[u8], u64) {
        (&self.out[self.written..], self.fill)
    }

    /// So many of them were sent.
    pub fn wrote(&mut self, bytes: usize) {
        let from_out = bytes.min(self.out.len() - self.written);
        self.written += from_out;
        self.fill -= ((bytes - from_out) as u64).min(self.fill);
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
            self.next_chunk();
        }
    }

    /// How it ends, once there is nothing to be sent.
    pub fn ending(&self) -> Option<Ending> {
        let (bytes, fill) = self.output();
        if bytes.is_empty() && fill == 0 { self.ending } else { None }
    }

    /// When `received` is to be called although nothing came.
    pub fn wake_at(&self) -> Option<Moment> {
        match &self.state {
            State::Waiting { until, .. } if *until != Moment::NEVER => Some(*until),
            _ => None,
        }
    }

    /// Whether it is between two requests, with nothing to send.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Head)
            && self.input.is_empty()
            && self.out.is_empty()
            && self.fill == 0
    }

    /// Whether input is left that waits for output to be sent.
    pub fn has_input(&self) -> bool {
        !self.input.is_empty() && self.out.is_empty() && self.fill == 0
    }

    /// Does what can be done; how many bytes of input that used.
    fn work(&mut self, bytes: &[u8], site: &mut Site, now: Moment) -> usize {
        let mut used = 0;
        while self.ending.is_none() && self.fill == 0 && self.chunks.is_none() {
            let rest = &bytes[used..];
            match std::mem::replace(&mut self.state, State::Head) {
                State::Head => match self.head(rest, site, now) {
                    0 => break,
                    head => used += head,
                },
                State::Body { ask, left } => {
                    let (taken, finished) = self.body(rest, ask, left, site, now);
                    used += taken;
                    if !finished {
                        break;
                    }
                }
                State::Waiting { until, ask } if until <= now => self.answer(&ask, site),
                waiting @ State::Waiting { .. } => {
                    self.state = waiting;
                    break;
                }
                State::WebSocket => {
                    self.state = State::WebSocket;
                    match websocket::echo(rest, &mut self.out) {
                        Frames::Used(taken) => used += taken,
                        Frames::Close => {
                            used = bytes.len();
                            self.ending = Some(Ending::Close);
                        }
                    }
                    break;
                }
            }
        }
        used
    }

    /// A request's head; how many bytes it took.
    fn head(&mut self, bytes: &[u8], site: &mut Site, now: Moment) -> usize {
        if bytes.is_empty() {
            return 0;
        }
        let mut slots = Slots::new();
        let request = match parse_request(bytes, &site.limits, &mut slots) {
            Ok(Some(request)) => request,
            Ok(None) => return 0,
            Err(defect) => {
                site.head(
                    &mut self.out,
                    defect.status(),
                    Framing::Length(0),
                    &["Connection: close"],
                );
                self.ending = Some(Ending::Close);
                return bytes.len();
            }
        };
        let ask = Ask::of(&request);
        let left = match request.body {
            BodyKind::None | BodyKind::Length(0) => {
                self.arrived(ask, site, now);
                return request.head_len;
            }
            BodyKind::Length(bytes) => Left::Length(bytes),
            BodyKind::Chunked => Left::Chunked(Chunked::new(Emit::Plain)),
        };
        if request.expect_continue {
            self.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        self.state = State::Body { ask, left };
        request.head_len
    }

    /// A request's body; how many bytes were taken, and whether that was all.
    fn body(
        &mut self,
        bytes: &[u8],
        mut ask: Ask,
        mut left: Left,
        site: &mut Site,
        now: Moment,
    ) -> (usize, bool) {
        let (taken, finished) = match &mut left {
            Left::Length(left) => {
                let taken = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                ask.body.extend_from_slice(&bytes[..taken]);
                *left -= taken as u64;
                (taken, *left == 0)
            }
            Left::Chunked(chunked) => match chunked.feed(bytes, &mut ask.body) {
                Ok(fed) => (fed.consumed, fed.finished),
                Err(defect) => {
                    let close = &["Connection: close"];
                    site.head(&mut self.out, defect.status(), Framing::Length(0), close);
                    self.ending = Some(Ending::Close);
                    return (bytes.len(), true);
                }
            },
        };
        if ask.body.len() > KEPT {
            site.head(&mut self.out, 413, Framing::Length(0), &["Connection: close"]);
            self.ending = Some(Ending::Close);
            return (bytes.len(), true);
        }
        if finished {
            self.arrived(ask, site, now);
        } else {
            self.state = State::Body { ask, left };
        }
        (taken, finished)
    }

    /// A request is whole.
    fn arrived(&mut self, ask: Ask, site: &mut Site, now: Moment) {
        site.requests += 1;
        if let Some(id) = ask.identifier() {
            site.seen.record(id, ask.is_post);
        }
        if site.fault == Some(Fault::Silence) {
            self.state = State::Waiting { until: Moment::NEVER, ask };
        } else if let Route::Delay(ms) = ask.route {
            self.state = State::Waiting { until: now + Duration::from_millis(ms), ask };
        } else {
            self.answer(&ask, site);
        }
    }

    fn answer(&mut self, ask: &Ask, site: &Site) {
        if let Some(fault) = site.fault {
            return self.misbehave(fault, ask, site);
        }
        let is_usual = ask.persist && !ask.is_head && ask.version == Version::Http11;
        match ask.route {
            Route::Root if is_usual && !site.root.is_empty() => {
                self.out.extend_from_slice(&site.root);
            }
            Route::Root => self.send(ask, site, 200, Payload::Filler(site.body)),
            Route::Health => self.send(ask, site, 200, Payload::Bytes(b"ok\n")),
            Route::Bytes(bytes) => self.send(ask, site, 200, Payload::Filler(bytes)),
            Route::Delay(_) => self.send(ask, site, 200, Payload::Bytes(b"late\n")),
            Route::Status(status) => self.send(ask, site, status, Payload::Bytes(b"")),
            Route::Echo => self.send(ask, site, 200, Payload::Bytes(&ask.body)),
            Route::Chunked(bytes) if ask.version == Version::Http11 => {
                self.finish_head(ask, site, 200, Framing::Chunked);
                if !ask.is_head {
                    self.chunks = Some(bytes);
                }
            }
            Route::Chunked(bytes) => self.send(ask, site, 200, Payload::Filler(bytes)),
            Route::WebSocket => match &ask.accept {
                Some(accept) => {
                    let accept = format!("Sec-WebSocket-Accept: {accept}");
                    let fields = ["Upgrade: websocket", "Connection: Upgrade", &accept];
                    site.head(&mut self.out, 101, Framing::Nothing, &fields);
                    self.state = State::WebSocket;
                }
                None => {
                    self.send(ask, site, 400, Payload::Bytes(b"a WebSocket handshake is needed\n"))
                }
            },
            Route::Unknown => self.send(ask, site, 404, Payload::Bytes(b"no such page\n")),
        }
    }

    fn send(&mut self, ask: &Ask, site: &Site, status: u16, payload: Payload<'_>) {
        let bytes = match payload {
            Payload::Bytes(bytes) => bytes.len() as u64,
            Payload::Filler(bytes) => bytes,
        };
        let framing =
            if matches!(status, 204 | 304) { Framing::Nothing } else { Framing::Length(bytes) };
        self.finish_head(ask, site, status, framing);
        match payload {
            _ if ask.is_head => {}
            Payload::Bytes(bytes) => self.out.extend_from_slice(bytes),
            Payload::Filler(bytes) if bytes <= INLINE => {
                self.out.resize(self.out.len() + bytes as usize, FILLER);
            }
            Payload::Filler(bytes) => self.fill = bytes,
        }
    }

    fn finish_head(&mut self, ask: &Ask, site: &Site, status: u16, framing: Framing) {
        let fields: &[&str] = match (ask.persist, ask.version) {
            (true, Version::Http11) => &[],
            (true, Version::Http10) => &["Connection: keep-alive"],
            (false, _) => &["Connection: close"],
        };
        site.head(&mut self.out, status, framing, fields);
        if !ask.persist {
            self.ending = Some(Ending::Close);
        }
    }

    fn misbehave(&mut self, fault: Fault, ask: &Ask, site: &Site) {
        let ending = match fault {
            Fault::Status(status) => return self.send(ask, site, status, Payload::Bytes(b"")),
            Fault::Silence => return,
            Fault::Garbage => {
                self.out.extend_from_slice(b"\x16\x03this is not HTTP\r\n\r\n");
                Ending::Close
            }
            Fault::CloseBeforeAnswer => Ending::Close,
            Fault::ResetBeforeAnswer => Ending::Reset,
            Fault::CloseMidAnswer | Fault::ResetMidAnswer => {
                site.head(&mut self.out, 200, Framing::Length(100), &[]);
                self.out.extend_from_slice(b"only these");
                if fault == Fault::CloseMidAnswer { Ending::Close } else { Ending::Reset }
            }
        };
        self.ending = Some(ending);
    }

    fn next_chunk(&mut self) {
        let Some(left) = self.chunks else { return };
        let size = left.min(INLINE);
        self.out.extend_from_slice(format!("{size:x}\r\n").as_bytes());
        self.out.resize(self.out.len() + size as usize, FILLER);
        self.out.extend_from_slice(b"\r\n");
        self.chunks = (size > 0).then(|| left - size);
    }
}

enum Payload<'a> {
    Bytes(&'a [u8]),
    Filler(u64),
}

/// Request bodies are kept up to this, to be sent back.
const KEPT: usize = 4 << 20;
/// Input that waits for output to be sent; a connection that sends more is closed.
const HELD: usize = 1 << 20;

#[cfg(test)]
mod tests;
