//! A client's HTTP/3 stream that looks like an HTTP/1.1 connection: the request's body is read from it, and the
//! response is written to it.
//!
//! The exchange already has the request's head. The response is written as HTTP/1.1; its head is parsed and sent as
//! HTTP/3, and the framing of its body is removed.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Waker};

use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;
use quinn_proto::StreamId;
use wire::http1::{
    self, ChunkedDecoder, ChunkedOutput, HeadLimits, HeaderSlots, ResponseBody, ResponseContext,
};
use wire::http2::Http1BodyFraming;
use wire::http3::{code, data_header, write_head, write_trailers};

use super::body_frames::Http3BodyFrames;
use crate::accounting::DownstreamProtocol;
use crate::conn::http2::body_reader::BodyReader;
use crate::conn::stream::{MultiplexedStream, StreamReadResult, StreamWriteResult, TlsContext};
use crate::downstream::quic::connection::QuicConnection;
use crate::downstream::quic::open_stream::OpenQuicStream;

/// Limits for a head that the balancer itself wrote: high enough to reject none.
const LIMITS: HeadLimits =
    HeadLimits { head_bytes: 1 << 20, head_count: HeaderSlots::COUNT, target_bytes: 0 };

pub struct Http3DownstreamStream {
    waker: Waker,
    connection: Rc<QuicConnection>,
    id: StreamId,
    _open: OpenQuicStream,
    tls: Rc<Option<TlsContext>>,
    response_context: ResponseContext,
    body: RefCell<BodyReader<Http3BodyFrames>>,
    answer_state: RefCell<Http3AnswerState>,
    cut: Cell<bool>,
}

enum Http3AnswerState {
    /// The received part of the response's head.
    Head(Vec<u8>),
    /// This many bytes are left.
    Length(u64),
    Chunked(Box<ChunkedDecoder>),
    /// Until the writer ends the stream.
    UntilEnd,
    /// The response is completely written.
    Complete,
}

pub struct Http3DownstreamStreamParts {
    pub connection: Rc<QuicConnection>,
    pub id: StreamId,
    pub open: OpenQuicStream,
    /// The TLS properties of the connection.
    pub tls: Rc<Option<TlsContext>>,
    pub pieces: Http3BodyFrames,
    /// The framing in which the body is read.
    pub form: Http1BodyFraming,
    /// The request was a HEAD request.
    pub head_only: bool,
}

impl Http3DownstreamStream {
    /// A stream; `waker` belongs to the task that serves it.
    pub fn new(waker: Waker, made: Http3DownstreamStreamParts) -> Http3DownstreamStream {
        let asked = match made.form {
            Http1BodyFraming::Raw => ResponseContext::Upgrade,
            _ if made.head_only => ResponseContext::Head,
            _ => ResponseContext::Other,
        };
        Http3DownstreamStream {
            waker,
            connection: made.connection,
            id: made.id,
            _open: made.open,
            tls: made.tls,
            response_context: asked,
            body: RefCell::new(BodyReader::new(made.pieces, made.form)),
            answer_state: RefCell::new(Http3AnswerState::Head(Vec::new())),
            cut: Cell::new(false),
        }
    }

    /// Consumes the response's head; returns how many bytes of `from` were used.
    fn send_head(&self, out: &mut Http3AnswerState, from: &[u8]) -> io::Result<usize> {
        let Http3AnswerState::Head(held) = out else { return Ok(0) };
        let before = held.len();
        let bytes = [held.as_slice(), from].concat();
        let mut used = 0;
        loop {
            let mut slots = HeaderSlots::new();
            let parsed =
                http1::parse_response(&bytes[used..], &LIMITS, &mut slots, self.response_context);
            let parsed =
                parsed.map_err(|defect| io::Error::new(io::ErrorKind::InvalidData, defect));
            let Some(response) = parsed? else {
                *held = bytes[used..].to_vec();
                return Ok(from.len());
            };
            used += response.head_len;
            let switched = response.status == 101;
            let mut frame = Vec::new();
            write_head(&response, if switched { 200 } else { response.status }, &mut frame);
            self.connection.write(self.id, &frame);
            if response.status < 200 && !switched {
                continue;
            }
            *out = match response.body {
                _ if switched => Http3AnswerState::UntilEnd,
                ResponseBody::None | ResponseBody::Length(0) => Http3AnswerState::Complete,
                ResponseBody::Length(length) => Http3AnswerState::Length(length),
                ResponseBody::Chunked => Http3AnswerState::Chunked(Box::new(ChunkedDecoder::new(
                    ChunkedOutput::SeparateTrailers,
                ))),
                ResponseBody::UntilClose => Http3AnswerState::UntilEnd,
            };
            if matches!(out, Http3AnswerState::Complete) {
                self.connection.finish(self.id);
            }
            return Ok(used.saturating_sub(before));
        }
    }

    fn send_body(&self, out: &mut Http3AnswerState, from: &[u8]) -> io::Result<usize> {
        let room = self.connection.write_room(self.id);
        if room == 0 || from.is_empty() {
            return Ok(0);
        }
        match out {
            Http3AnswerState::Length(left) => {
                let n = from.len().min(room).min(usize::try_from(*left).unwrap_or(usize::MAX));
                self.send_data(&from[..n]);
                *left -= n as u64;
                if *left == 0 {
                    *out = Http3AnswerState::Complete;
                    self.connection.finish(self.id);
                }
                Ok(n)
            }
            Http3AnswerState::UntilEnd => {
                let n = from.len().min(room);
                self.send_data(&from[..n]);
                Ok(n)
            }
            Http3AnswerState::Chunked(decoder) => {
                let n = from.len().min(room);
                let mut plain = Vec::new();
                let fed = decoder.feed(&from[..n], &mut plain);
                let fed =
                    fed.map_err(|defect| io::Error::new(io::ErrorKind::InvalidData, defect))?;
                self.send_data(&plain);
                if fed.finished {
                    let lines = decoder.take_trailers();
                    if !lines.is_empty() {
                        let mut frame = Vec::new();
                        write_trailers(&lines, &mut frame);
                        self.connection.write(self.id, &frame);
                    }
                    *out = Http3AnswerState::Complete;
                    self.connection.finish(self.id);
                }
                Ok(fed.consumed)
            }
            Http3AnswerState::Head(_) | Http3AnswerState::Complete => {
                Err(io::ErrorKind::InvalidData.into())
            }
        }
    }

    fn send_data(&self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        let mut frame = Vec::with_capacity(piece.len() + 16);
        data_header(piece.len(), &mut frame);
        frame.extend_from_slice(piece);
        self.connection.write(self.id, &frame);
    }

    fn is_complete(&self) -> bool {
        matches!(*self.answer_state.borrow(), Http3AnswerState::Complete)
    }
}

impl MultiplexedStream for Http3DownstreamStream {
    fn read(&self, into: &mut [u8]) -> StreamReadResult {
        self.body.borrow_mut().read(&mut Context::from_waker(&self.waker), into)
    }

    fn write(&self, from: &[u8]) -> StreamWriteResult {
        let mut out = self.answer_state.borrow_mut();
        let whole = matches!(*out, Http3AnswerState::Complete);
        if self.connection.is_gone(self.id) && !whole {
            return StreamWriteResult::Failed(io::ErrorKind::BrokenPipe.into());
        }
        let mut used = 0;
        if matches!(*out, Http3AnswerState::Head(_)) {
            match self.send_head(&mut out, from) {
                Ok(n) => used = n,
                Err(error) => return StreamWriteResult::Failed(error),
            }
        }
        let rest = &from[used..];
        if rest.is_empty() {
            return StreamWriteResult::Bytes(used);
        }
        match self.send_body(&mut out, rest) {
            Ok(0) if used == 0 => StreamWriteResult::WouldBlock,
            Ok(n) => StreamWriteResult::Bytes(used + n),
            Err(error) => StreamWriteResult::Failed(error),
        }
    }

    fn may_read(&self) -> bool {
        self.body.borrow_mut().may_read(&mut Context::from_waker(&self.waker))
    }

    fn may_write(&self) -> bool {
        match &*self.answer_state.borrow() {
            Http3AnswerState::Head(_) | Http3AnswerState::Complete => true,
            _ => self.connection.write_room(self.id) > 0,
        }
    }

    fn is_broken(&self) -> bool {
        self.connection.is_gone(self.id) && !self.is_complete()
    }

    fn end(&self) {
        let mut out = self.answer_state.borrow_mut();
        if matches!(*out, Http3AnswerState::UntilEnd) {
            *out = Http3AnswerState::Complete;
            self.connection.finish(self.id);
        }
    }

    fn reset(&self) {
        self.cut.set(true);
        self.connection.reset(self.id, code::INTERNAL_ERROR);
    }

    fn tls_context(&self) -> Option<&TlsContext> {
        self.tls.as_ref().as_ref()
    }

    fn unprocessed(&self) -> bool {
        false
    }

    fn shared_buffered(&self) -> Option<Rc<Cell<usize>>> {
        Some(self.connection.buffered.clone())
    }

    fn window_closed(&self) -> Option<MonotonicTime> {
        None
    }

    fn counters(&self) -> Option<TcpInfoSample> {
        let times = self.connection.send_times.get();
        Some(self.connection.with_connection(|conn| times.read_counters(conn)))
    }

    fn local_port(&self) -> Option<u16> {
        None
    }

    fn protocol(&self) -> DownstreamProtocol {
        DownstreamProtocol::Http3
    }
}

impl Drop for Http3DownstreamStream {
    fn drop(&mut self) {
        // A body of unknown length ends here. An incomplete response is reset, so that it does not look complete.
        if !self.cut.get() {
            self.end();
            if !self.is_complete() {
                self.reset();
            }
        }
        // The rest of the request is not needed (RFC 9114 §4.1).
        self.connection.stop(self.id, code::NO_ERROR);
        self.connection.detach(self.id);
    }
}
