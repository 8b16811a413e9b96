//! A client's HTTP/2 stream that looks like an HTTP/1.1 connection: the request's body is read from it, and the
//! response is written to it.
//!
//! The exchange already has the request's head. The response is written as HTTP/1.1; its head is parsed and sent as
//! HTTP/2.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Waker};

use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;
use wire::field_section::FieldSection;
use wire::http1::{
    self, HeadLimits, HeaderSlots, ParsedResponseHead, ResponseBody, ResponseContext,
};
use wire::http2::Http1BodyFraming;

use crate::conn::http2::body_reader::BodyReader;
use crate::conn::http2::body_writer::{BodyWriter, OutgoingFraming, gone_error};
use crate::conn::http2::connection::OpenStream;
use crate::conn::http2::stream_body::Http2StreamBody;
use crate::conn::stream::{MultiplexedStream, StreamReadResult, StreamWriteResult, TlsContext};
use crate::rt::NetDriver;

/// Limits for a head that the balancer itself wrote: high enough to reject none.
const LIMITS: HeadLimits =
    HeadLimits { head_bytes: 1 << 20, head_count: HeaderSlots::COUNT, target_bytes: 0 };

pub struct Http2DownstreamStream<N: NetDriver> {
    open: Rc<OpenStream<N>>,
    tls: Rc<Option<TlsContext>>,
    response_context: ResponseContext,
    body: RefCell<BodyReader<Http2StreamBody<N>>>,
    answer_state: RefCell<Http2AnswerState>,
    cut: Cell<bool>,
}

enum Http2AnswerState {
    /// The received part of the response's head.
    Head(Vec<u8>),
    Body(BodyWriter),
    /// The response is complete, or has no body.
    Complete,
}

impl<N: NetDriver> Http2DownstreamStream<N> {
    /// A stream whose request has a body in this framing. `head_only`: it is a HEAD request.
    pub fn new(
        open: OpenStream<N>,
        form: Http1BodyFraming,
        head_only: bool,
        tls: Rc<Option<TlsContext>>,
    ) -> Http2DownstreamStream<N> {
        let response_context = match form {
            Http1BodyFraming::Raw => ResponseContext::Upgrade,
            _ if head_only => ResponseContext::Head,
            _ => ResponseContext::Other,
        };
        let open = Rc::new(open);
        let body = BodyReader::new(Http2StreamBody(open.clone()), form);
        Http2DownstreamStream {
            open,
            tls,
            response_context,
            body: RefCell::new(body),
            answer_state: RefCell::new(Http2AnswerState::Head(Vec::new())),
            cut: Cell::new(false),
        }
    }

    /// Consumes the response's head; returns how many bytes of `from` were used.
    fn send_head(&self, out: &mut Http2AnswerState, from: &[u8]) -> io::Result<usize> {
        let Http2AnswerState::Head(held) = out else { return Ok(0) };
        let before = held.len();
        let joined;
        let bytes = if before == 0 {
            from
        } else {
            joined = [held.as_slice(), from].concat();
            &joined
        };
        let mut used = 0;
        loop {
            let mut slots = HeaderSlots::new();
            let parsed =
                http1::parse_response(&bytes[used..], &LIMITS, &mut slots, self.response_context);
            let Some(response) = parsed.map_err(local_error)? else {
                *held = bytes[used..].to_vec();
                return Ok(from.len());
            };
            used += response.head_len;
            let interim = response.status < 200 && response.status != 101;
            let form = match response.body {
                _ if response.status == 101 => OutgoingFraming::UntilEnd,
                ResponseBody::None | ResponseBody::Length(0) => OutgoingFraming::Done,
                ResponseBody::Length(length) => OutgoingFraming::Length(length),
                ResponseBody::Chunked => BodyWriter::chunks(),
                ResponseBody::UntilClose => OutgoingFraming::UntilEnd,
            };
            let ends = matches!(form, OutgoingFraming::Done);
            self.send_fields(&response, interim, ends)?;
            if interim {
                continue;
            }
            *out = if ends {
                Http2AnswerState::Complete
            } else {
                Http2AnswerState::Body(BodyWriter::new(form))
            };
            return Ok(used.saturating_sub(before));
        }
    }

    fn send_fields(
        &self,
        response: &ParsedResponseHead<'_, '_>,
        interim: bool,
        ends: bool,
    ) -> io::Result<()> {
        let connection = self.open.connection();
        let id = self.open.id();
        let sent = connection.with_fields(|fields| {
            response_fields(response, fields);
            connection.with_machine(|machine| match interim {
                true => machine.send_informational(id, fields),
                false => machine.send_response(id, fields, ends),
            })
        });
        sent.map_err(gone_error)
    }

    /// Whether the response was completely written.
    fn is_complete(&self) -> bool {
        match &*self.answer_state.borrow() {
            Http2AnswerState::Head(_) => false,
            Http2AnswerState::Body(body) => body.is_done(),
            Http2AnswerState::Complete => true,
        }
    }
}

impl<N: NetDriver> MultiplexedStream for Http2DownstreamStream<N> {
    fn read(&self, into: &mut [u8]) -> StreamReadResult {
        self.body.borrow_mut().read(&mut Context::from_waker(Waker::noop()), into)
    }

    fn write(&self, from: &[u8]) -> StreamWriteResult {
        let mut out = self.answer_state.borrow_mut();
        let mut used = 0;
        if matches!(*out, Http2AnswerState::Head(_)) {
            match self.send_head(&mut out, from) {
                Ok(n) => used = n,
                Err(error) => return StreamWriteResult::Failed(error),
            }
        }
        let rest = &from[used..];
        match &mut *out {
            Http2AnswerState::Body(body) if !rest.is_empty() => {
                match body.write(&self.open, rest) {
                    StreamWriteResult::Bytes(n) => StreamWriteResult::Bytes(used + n),
                    StreamWriteResult::WouldBlock if used > 0 => StreamWriteResult::Bytes(used),
                    other => other,
                }
            }
            Http2AnswerState::Complete if !rest.is_empty() => {
                StreamWriteResult::Failed(io::ErrorKind::InvalidData.into())
            }
            _ => StreamWriteResult::Bytes(used),
        }
    }

    fn may_read(&self) -> bool {
        self.body.borrow_mut().may_read(&mut Context::from_waker(Waker::noop()))
    }

    fn may_write(&self) -> bool {
        match &*self.answer_state.borrow() {
            Http2AnswerState::Body(body) => body.may_write(&self.open),
            Http2AnswerState::Head(_) | Http2AnswerState::Complete => true,
        }
    }

    fn is_broken(&self) -> bool {
        self.open.reset_cause().is_some() && !self.is_complete()
    }

    fn end(&self) {
        if let Http2AnswerState::Body(body) = &mut *self.answer_state.borrow_mut() {
            body.end(&self.open);
        }
    }

    fn reset(&self) {
        self.cut.set(true);
        if let Http2AnswerState::Body(body) = &mut *self.answer_state.borrow_mut() {
            body.abandon();
        }
        self.open.reset();
    }

    fn tls_context(&self) -> Option<&TlsContext> {
        self.tls.as_ref().as_ref()
    }

    fn unprocessed(&self) -> bool {
        false
    }

    fn shared_buffered(&self) -> Option<Rc<Cell<usize>>> {
        Some(self.open.connection().buffered.clone())
    }

    fn window_closed(&self) -> Option<MonotonicTime> {
        self.open.connection().window_blocked_since()
    }

    fn counters(&self) -> Option<TcpInfoSample> {
        self.open.connection().counters()
    }

    fn local_port(&self) -> Option<u16> {
        self.open.connection().port()
    }
}

impl<N: NetDriver> Drop for Http2DownstreamStream<N> {
    fn drop(&mut self) {
        if self.cut.get() {
            return;
        }
        // A body of unknown length ends here. An incomplete response is reset, so that it does not look complete.
        self.end();
        if !self.is_complete() {
            self.reset();
        }
    }
}

/// Converts an HTTP/1.1 head to HTTP/2.
fn response_fields(response: &ParsedResponseHead<'_, '_>, fields: &mut FieldSection) {
    // An accepted upgrade is a 200 in HTTP/2 (RFC 8441 §5).
    let switched = response.status == 101;
    let status = if switched { 200 } else { response.status };
    let digits = [100, 10, 1].map(|place| b'0' + (status / place % 10) as u8);
    fields.push(b":status", &digits);
    for field in response.forwarded_headers() {
        if switched && field.name.eq_ignore_ascii_case("sec-websocket-accept") {
            continue;
        }
        fields.push_lowercase(field.name.as_bytes(), field.value);
    }
    if let Some(length) = response.content_length
        && response.status >= 200
        && response.status != 204
    {
        fields.push(b"content-length", length.to_string().as_bytes());
    }
}

/// Wraps an error of a valid message that could not be sent.
fn local_error(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
