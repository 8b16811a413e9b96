//! A client's HTTP/2 stream that looks like an HTTP/1.1 connection: the request's body is read from it, and the
//! response is written to it.
//!
//! The exchange already has the request's head. The response is written as HTTP/1.1; its head is parsed and sent as
//! HTTP/2.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Waker};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderName, HeaderValue};
use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;
use wire::http1::{
    self, HeadLimits, HeaderSlots, ParsedResponseHead, ResponseBody, ResponseContext,
};
use wire::http2::Http1BodyFraming;

use crate::conn::http2::body_reader::BodyReader;
use crate::conn::http2::body_writer::{BodyWriter, OutgoingFraming};
use crate::conn::http2::connection::OpenStream;
use crate::conn::stream::{MultiplexedStream, StreamReadResult, StreamWriteResult, TlsContext};

/// Limits for a head that the balancer itself wrote: high enough to reject none.
const LIMITS: HeadLimits =
    HeadLimits { head_bytes: 1 << 20, head_count: HeaderSlots::COUNT, target_bytes: 0 };

pub struct Http2DownstreamStream {
    waker: Waker,
    open: OpenStream,
    tls: Rc<Option<TlsContext>>,
    response_context: ResponseContext,
    body: RefCell<BodyReader>,
    respond: RefCell<SendResponse<Bytes>>,
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

pub struct Http2DownstreamStreamParts {
    pub respond: SendResponse<Bytes>,
    pub recv: RecvStream,
    /// The framing in which the body is read.
    pub form: Http1BodyFraming,
    /// The request was a HEAD request.
    pub head_only: bool,
}

impl Http2DownstreamStream {
    /// A stream; `waker` belongs to the task that serves it.
    pub fn new(
        waker: Waker,
        open: OpenStream,
        made: Http2DownstreamStreamParts,
        tls: Rc<Option<TlsContext>>,
    ) -> Http2DownstreamStream {
        let asked = match made.form {
            Http1BodyFraming::Raw => ResponseContext::Upgrade,
            _ if made.head_only => ResponseContext::Head,
            _ => ResponseContext::Other,
        };
        Http2DownstreamStream {
            waker,
            open,
            tls,
            response_context: asked,
            body: RefCell::new(BodyReader::new(made.recv, made.form)),
            respond: RefCell::new(made.respond),
            answer_state: RefCell::new(Http2AnswerState::Head(Vec::new())),
            cut: Cell::new(false),
        }
    }

    /// Consumes the response's head; returns how many bytes of `from` were used.
    fn send_head(&self, out: &mut Http2AnswerState, from: &[u8]) -> io::Result<usize> {
        let Http2AnswerState::Head(held) = out else { return Ok(0) };
        let mut respond = self.respond.borrow_mut();
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
            self.open.connection().head_queued();
            if response.status < 200 && response.status != 101 {
                respond
                    .send_informational(http2_response(&response, response.status)?)
                    .map_err(local_error)?;
                continue;
            }
            let status = if response.status == 101 { 200 } else { response.status };
            let form = match response.body {
                _ if response.status == 101 => OutgoingFraming::UntilEnd,
                ResponseBody::None | ResponseBody::Length(0) => OutgoingFraming::Done,
                ResponseBody::Length(length) => OutgoingFraming::Length(length),
                ResponseBody::Chunked => BodyWriter::chunks(),
                ResponseBody::UntilClose => OutgoingFraming::UntilEnd,
            };
            let ends = matches!(form, OutgoingFraming::Done);
            let head = http2_response(&response, status)?;
            let send = respond.send_response(head, ends).map_err(local_error)?;
            *out = if ends {
                Http2AnswerState::Complete
            } else {
                Http2AnswerState::Body(BodyWriter::new(send, form))
            };
            return Ok(used.saturating_sub(before));
        }
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

impl MultiplexedStream for Http2DownstreamStream {
    fn read(&self, into: &mut [u8]) -> StreamReadResult {
        self.body.borrow_mut().read(&mut Context::from_waker(&self.waker), into)
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
                match body.write(
                    &mut Context::from_waker(&self.waker),
                    rest,
                    self.open.connection(),
                ) {
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
        self.body.borrow_mut().may_read(&mut Context::from_waker(&self.waker))
    }

    fn may_write(&self) -> bool {
        match &mut *self.answer_state.borrow_mut() {
            Http2AnswerState::Body(body) => body.may_write(&mut Context::from_waker(&self.waker)),
            Http2AnswerState::Head(_) | Http2AnswerState::Complete => true,
        }
    }

    fn is_broken(&self) -> bool {
        let mut cx = Context::from_waker(&self.waker);
        match &mut *self.answer_state.borrow_mut() {
            Http2AnswerState::Head(_) => self.respond.borrow_mut().poll_reset(&mut cx).is_ready(),
            Http2AnswerState::Body(body) => !body.is_done() && body.is_given_up(&mut cx).is_some(),
            Http2AnswerState::Complete => false,
        }
    }

    fn end(&self) {
        if let Http2AnswerState::Body(body) = &mut *self.answer_state.borrow_mut() {
            body.end();
        }
    }

    fn reset(&self) {
        self.cut.set(true);
        match &mut *self.answer_state.borrow_mut() {
            Http2AnswerState::Head(_) | Http2AnswerState::Complete => {
                self.respond.borrow_mut().send_reset(Reason::INTERNAL_ERROR);
            }
            Http2AnswerState::Body(body) => body.reset(Reason::INTERNAL_ERROR),
        }
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

impl Drop for Http2DownstreamStream {
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
fn http2_response(
    response: &ParsedResponseHead<'_, '_>,
    status: u16,
) -> io::Result<http::Response<()>> {
    let mut head = http::Response::new(());
    *head.status_mut() = http::StatusCode::from_u16(status).map_err(local_error)?;
    let fields = head.headers_mut();
    fields.reserve(response.headers.len() + 1);
    for field in response.forwarded_headers() {
        if response.status == 101 && field.name.eq_ignore_ascii_case("sec-websocket-accept") {
            continue;
        }
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(local_error)?;
        fields.append(name, HeaderValue::from_bytes(field.value).map_err(local_error)?);
    }
    if let Some(length) = response.content_length
        && response.status >= 200
        && response.status != 204
    {
        fields.insert(http::header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    Ok(head)
}

/// Wraps an error of a valid message that could not be sent.
fn local_error(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
