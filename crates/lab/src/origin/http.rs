//! One HTTP/1 connection of an origin, without its socket: requests in, responses out, in order.
//!
//! Large bodies are a number of bytes still to be sent, not memory. A malformed request gets the codec's status and the
//! connection closes.

mod response;

use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use wire::http1::{BodyKind, ChunkedDecoder, ChunkedOutput, HeaderSlots, parse_request};

use super::content::{OriginContent, OriginFault, ResponseFraming};
use super::request::OriginRequest;
use super::route::OriginRoute;
use super::websocket::{self, FramesOutcome};

/// How a connection closes once its output is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseMode {
    Close,
    Reset,
}

#[derive(Debug)]
pub struct HttpOriginConnection {
    input: Vec<u8>,
    out: Vec<u8>,
    written: usize,
    /// Body bytes that follow `out`.
    fill: u64,
    /// Body bytes still to be sent as chunks.
    chunks: Option<u64>,
    state: HttpOriginState,
    ending: Option<CloseMode>,
}

#[derive(Debug)]
enum HttpOriginState {
    Head,
    Body { ask: OriginRequest, left: RemainingBody },
    Waiting { until: MonotonicTime, ask: OriginRequest },
    WebSocket,
}

#[derive(Debug)]
enum RemainingBody {
    Length(u64),
    Chunked(ChunkedDecoder),
}

/// The output of a connection that is still to be sent.
#[derive(Clone, Copy, Debug)]
pub struct OriginOutput<'a> {
    pub bytes: &'a [u8],
    /// The number of filler bytes behind them.
    pub fill: u64,
}

impl OriginOutput<'_> {
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.fill == 0
    }
}

impl HttpOriginConnection {
    pub fn new() -> HttpOriginConnection {
        HttpOriginConnection {
            input: Vec::new(),
            out: Vec::new(),
            written: 0,
            fill: 0,
            chunks: None,
            state: HttpOriginState::Head,
            ending: None,
        }
    }

    /// Processes received bytes; without bytes, a delay that has expired.
    pub fn on_received(&mut self, bytes: &[u8], site: &mut OriginContent, now: MonotonicTime) {
        if self.input.is_empty() {
            let used = self.process_input(bytes, site, now);
            self.input.extend_from_slice(&bytes[used..]);
        } else {
            let mut input = std::mem::take(&mut self.input);
            input.extend_from_slice(bytes);
            let used = self.process_input(&input, site, now);
            input.drain(..used);
            self.input = input;
        }
        if self.input.len() > MAX_BUFFERED {
            self.ending = Some(CloseMode::Close);
        }
    }

    /// The output that is still to be sent.
    pub fn output(&self) -> OriginOutput<'_> {
        OriginOutput { bytes: &self.out[self.written..], fill: self.fill }
    }

    /// Removes sent bytes from the output.
    pub fn on_written(&mut self, bytes: usize) {
        let from_out = bytes.min(self.out.len() - self.written);
        self.written += from_out;
        self.fill -= ((bytes - from_out) as u64).min(self.fill);
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
            self.next_chunk();
        }
    }

    /// How the connection closes, once no output is pending.
    pub fn ending(&self) -> Option<CloseMode> {
        if self.output().is_empty() { self.ending } else { None }
    }

    /// When `on_received` must be called even without received bytes.
    pub fn wake_at(&self) -> Option<MonotonicTime> {
        match &self.state {
            HttpOriginState::Waiting { until, .. } if *until != MonotonicTime::NEVER => {
                Some(*until)
            }
            _ => None,
        }
    }

    /// Whether the connection is between two requests with no output pending.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, HttpOriginState::Head)
            && self.input.is_empty()
            && self.out.is_empty()
            && self.fill == 0
    }

    /// Whether input is buffered that waits for output to be sent.
    pub fn has_input(&self) -> bool {
        !self.input.is_empty() && self.out.is_empty() && self.fill == 0
    }

    /// Processes as much input as possible; returns the number of bytes used.
    fn process_input(
        &mut self,
        bytes: &[u8],
        site: &mut OriginContent,
        now: MonotonicTime,
    ) -> usize {
        let mut used = 0;
        while self.ending.is_none() && self.fill == 0 && self.chunks.is_none() {
            let rest = &bytes[used..];
            match std::mem::replace(&mut self.state, HttpOriginState::Head) {
                HttpOriginState::Head => match self.read_head(rest, site, now) {
                    0 => break,
                    head => used += head,
                },
                HttpOriginState::Body { ask, left } => {
                    let (consumed, finished) = self.read_body(rest, ask, left, site, now);
                    used += consumed;
                    if !finished {
                        break;
                    }
                }
                HttpOriginState::Waiting { until, ask } if until <= now => {
                    self.send_answer(&ask, site)
                }
                waiting @ HttpOriginState::Waiting { .. } => {
                    self.state = waiting;
                    break;
                }
                HttpOriginState::WebSocket => {
                    self.state = HttpOriginState::WebSocket;
                    match websocket::echo_frames(rest, &mut self.out) {
                        FramesOutcome::Consumed(taken) => used += taken,
                        FramesOutcome::Close => {
                            used = bytes.len();
                            self.ending = Some(CloseMode::Close);
                        }
                    }
                    break;
                }
            }
        }
        used
    }

    /// Reads a request's head; returns the number of bytes used, 0 for an incomplete head.
    fn read_head(&mut self, bytes: &[u8], site: &mut OriginContent, now: MonotonicTime) -> usize {
        if bytes.is_empty() {
            return 0;
        }
        let mut slots = HeaderSlots::new();
        let request = match parse_request(bytes, &site.limits, &mut slots) {
            Ok(Some(request)) => request,
            Ok(None) => return 0,
            Err(defect) => {
                site.write_head(
                    &mut self.out,
                    defect.status(),
                    ResponseFraming::Length(0),
                    &["Connection: close"],
                );
                self.ending = Some(CloseMode::Close);
                return bytes.len();
            }
        };
        let ask = OriginRequest::from_request(&request);
        let left = match request.body {
            BodyKind::None | BodyKind::Length(0) => {
                self.on_request_complete(ask, site, now);
                return request.head_len;
            }
            BodyKind::Length(bytes) => RemainingBody::Length(bytes),
            BodyKind::Chunked => {
                RemainingBody::Chunked(ChunkedDecoder::new(ChunkedOutput::Unframed))
            }
        };
        if request.expect_continue {
            self.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        self.state = HttpOriginState::Body { ask, left };
        request.head_len
    }

    /// Reads a request's body; returns the number of bytes used, and whether the body is complete.
    fn read_body(
        &mut self,
        bytes: &[u8],
        mut ask: OriginRequest,
        mut left: RemainingBody,
        site: &mut OriginContent,
        now: MonotonicTime,
    ) -> (usize, bool) {
        let (consumed, finished) = match &mut left {
            RemainingBody::Length(left) => {
                let consumed = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                ask.body.extend_from_slice(&bytes[..consumed]);
                *left -= consumed as u64;
                (consumed, *left == 0)
            }
            RemainingBody::Chunked(chunked) => match chunked.feed(bytes, &mut ask.body) {
                Ok(fed) => (fed.consumed, fed.finished),
                Err(defect) => {
                    let close = &["Connection: close"];
                    site.write_head(
                        &mut self.out,
                        defect.status(),
                        ResponseFraming::Length(0),
                        close,
                    );
                    self.ending = Some(CloseMode::Close);
                    return (bytes.len(), true);
                }
            },
        };
        if ask.body.len() > MAX_STORED_BODY {
            site.write_head(&mut self.out, 413, ResponseFraming::Length(0), &["Connection: close"]);
            self.ending = Some(CloseMode::Close);
            return (bytes.len(), true);
        }
        if finished {
            self.on_request_complete(ask, site, now);
        } else {
            self.state = HttpOriginState::Body { ask, left };
        }
        (consumed, finished)
    }

    fn on_request_complete(
        &mut self,
        ask: OriginRequest,
        site: &mut OriginContent,
        now: MonotonicTime,
    ) {
        site.requests += 1;
        if let Some(id) = ask.identifier() {
            site.request_log.record_request(id, ask.is_post);
        }
        if site.fault == Some(OriginFault::Silence) {
            self.state = HttpOriginState::Waiting { until: MonotonicTime::NEVER, ask };
        } else if let OriginRoute::Delay(ms) = ask.route {
            self.state = HttpOriginState::Waiting { until: now + Duration::from_millis(ms), ask };
        } else {
            self.send_answer(&ask, site);
        }
    }
}

/// Limit for a stored request body, which may be sent back.
const MAX_STORED_BODY: usize = 4 << 20;
/// Limit for buffered input that waits for output to be sent; beyond it the connection is closed.
const MAX_BUFFERED: usize = 1 << 20;

#[cfg(test)]
mod tests;
