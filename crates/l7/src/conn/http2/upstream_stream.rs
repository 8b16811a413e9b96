//! A stream to a server that looks like an HTTP/1.1 connection: the request is written to it, and the response is read
//! from it.
//!
//! The caller writes the request as HTTP/1.1; its head is parsed and sent as HTTP/2. The response's head is converted
//! to HTTP/1.1, and its reader validates it.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Waker};

use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;
use wire::field_section::FieldSection;
use wire::http1::{self, BodyKind, Defect, HeadLimits, HeaderSlots, ParsedRequestHead};
use wire::http2::{OpenRefusal, ResetOrigin, ResponseHead, StreamReset, write_response_section};

use super::body_reader::BodyReader;
use super::body_writer::{BodyWriter, OutgoingFraming};
use super::connection::{Http2ResponseFields, OpenStream};
use super::stream_body::{Http2StreamBody, reset_error};
use super::{request_fields, upgrade};
use crate::conn::connection_auth;
use crate::conn::stream::{MultiplexedStream, StreamReadResult, StreamWriteResult, TlsContext};
use crate::rt::NetDriver;
use crate::rt::run_delay::HeldInterval;

/// Limits for a head that the balancer itself wrote: high enough to reject none.
const LIMITS: HeadLimits =
    HeadLimits { head_bytes: 1 << 20, head_count: HeaderSlots::COUNT, target_bytes: 1 << 20 };

/// The local reply for a WebSocket to a server without extended CONNECT.
const NOT_IMPLEMENTED: &[u8] = b"HTTP/1.1 501 \r\ncontent-length: 0\r\n\r\n";
/// The local reply for a target that HTTP/2 cannot represent.
const BAD_TARGET: &[u8] = b"HTTP/1.1 400 \r\ncontent-length: 0\r\n\r\n";

pub struct Http2UpstreamStream<N: NetDriver> {
    open: Rc<OpenStream<N>>,
    tls: Option<TlsContext>,
    /// The connection's flushes when this stream last handed something over.
    flushes_before: Cell<u64>,
    state: RefCell<Http2ClientState<N>>,
}

struct Http2ClientState<N: NetDriver> {
    open: Rc<OpenStream<N>>,
    request_state: Http2RequestState,
    answer: Http2ResponseState<N>,
    /// The response's head in HTTP/1.1; unread from `at` on.
    head: Vec<u8>,
    at: usize,
    head_only: bool,
    /// The `Sec-WebSocket-Accept` value that confirms the upgrade to the client.
    accept: Option<Vec<u8>>,
    /// The connection took no more requests.
    refused: bool,
}

enum Http2RequestState {
    /// The received part of the request's head.
    Head(Vec<u8>),
    Body(BodyWriter),
    /// The request is complete, or needs no body.
    Complete,
}

enum Http2ResponseState<N: NetDriver> {
    /// No request was sent yet.
    None,
    Head,
    Body(BodyReader<Http2StreamBody<N>>),
    /// A local reply, stored in `head`.
    LocalError,
}

impl<N: NetDriver> Http2UpstreamStream<N> {
    /// A stream without a request yet, for the current task.
    pub fn new(open: OpenStream<N>, secure: bool) -> Http2UpstreamStream<N> {
        let open = Rc::new(open);
        let state = Http2ClientState {
            open: open.clone(),
            request_state: Http2RequestState::Head(Vec::new()),
            answer: Http2ResponseState::None,
            head: Vec::new(),
            at: 0,
            head_only: false,
            accept: None,
            refused: false,
        };
        let tls = secure.then(TlsContext::default);
        Http2UpstreamStream {
            open,
            tls,
            flushes_before: Cell::default(),
            state: RefCell::new(state),
        }
    }
}

impl<N: NetDriver> Http2ClientState<N> {
    /// Consumes the request's head; returns how many bytes of `from` were used.
    fn send_head(&mut self, from: &[u8], secure: bool) -> io::Result<usize> {
        let Http2RequestState::Head(held) = &mut self.request_state else { return Ok(0) };
        let before = held.len();
        let joined;
        let bytes = if before == 0 {
            from
        } else {
            joined = [held.as_slice(), from].concat();
            &joined
        };
        let mut slots = HeaderSlots::new();
        let parsed = http1::parse_request(bytes, &LIMITS, &mut slots);
        let parsed = parsed.map_err(|defect| io::Error::new(io::ErrorKind::InvalidData, defect));
        let Some(request) = parsed? else {
            *held = bytes.to_vec();
            return Ok(from.len());
        };
        let used = request.head_len - before;
        self.head_only = request.method.is_head();
        let websocket = request.upgrade.is_some_and(|to| to.eq_ignore_ascii_case("websocket"));
        if websocket && !self.open.connection().machine().allows_extended_connect() {
            self.answer_locally(NOT_IMPLEMENTED);
            return Ok(used);
        }
        if !request_fields::is_representable(&request) {
            self.answer_locally(BAD_TARGET);
            return Ok(used);
        }
        if websocket {
            let mut fields = request.headers.iter();
            let key = fields.find(|field| request_fields::is_key(field.name));
            self.accept = Some(upgrade::accept(key.map(|key| key.value).unwrap_or_default()));
        }
        if connection_auth::request_authenticates(request.headers) {
            // The authentication applies to the whole connection, whatever its result: no other request may start on
            // it.
            self.open.connection().closing.set(true);
        }
        let form = match request.body {
            _ if websocket => OutgoingFraming::UntilEnd,
            BodyKind::None | BodyKind::Length(0) => OutgoingFraming::Done,
            BodyKind::Length(length) => OutgoingFraming::Length(length),
            BodyKind::Chunked => BodyWriter::chunks(),
        };
        let ends = matches!(form, OutgoingFraming::Done);
        if let Err(refusal) = open_stream(&self.open, &request, websocket, secure, ends) {
            self.refused = true;
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, refusal));
        }
        self.answer = Http2ResponseState::Head;
        self.request_state = if ends {
            Http2RequestState::Complete
        } else {
            Http2RequestState::Body(BodyWriter::new(form))
        };
        Ok(used)
    }

    /// Stores a local reply, because the request cannot be sent to the server.
    fn answer_locally(&mut self, head: &[u8]) {
        self.head = head.to_vec();
        self.answer = Http2ResponseState::LocalError;
        self.request_state = Http2RequestState::Complete;
    }

    /// Takes the response's heads that have arrived; returns whether there is something to read, including an end or a
    /// failure.
    fn fill(&mut self) -> bool {
        while self.at >= self.head.len() && matches!(self.answer, Http2ResponseState::Head) {
            match self.open.take_head() {
                Some(Http2ResponseFields::Informational(fields)) => self.receive_interim(fields),
                Some(Http2ResponseFields::Final { fields, end_stream }) => {
                    self.receive_final_head(fields, end_stream);
                }
                None => match self.open.reset_cause() {
                    Some(StreamReset { origin: ResetOrigin::Local(defect), .. }) => {
                        self.report_malformed(defect);
                    }
                    Some(_) => return true,
                    None => return false,
                },
            }
        }
        if self.at < self.head.len() {
            return true;
        }
        match &mut self.answer {
            Http2ResponseState::Body(body) => {
                body.may_read(&mut Context::from_waker(Waker::noop()))
            }
            Http2ResponseState::LocalError | Http2ResponseState::Head => true,
            Http2ResponseState::None => self.refused,
        }
    }

    fn receive_interim(&mut self, fields: FieldSection) {
        self.head.clear();
        self.at = 0;
        let head = ResponseHead { status: 0, end_stream: true, head_only: true, accept: None };
        if write_response_section(&fields, &head, &mut self.head).is_err() {
            // An invalid interim response is dropped, since clients may ignore any 1xx (RFC 9110 §15.2).
            self.head.clear();
        }
        self.open.connection().machine().recycle(fields);
    }

    fn receive_final_head(&mut self, fields: FieldSection, ended: bool) {
        self.head.clear();
        self.at = 0;
        let head = ResponseHead {
            status: 0,
            end_stream: ended,
            head_only: self.head_only,
            accept: self.accept.as_deref(),
        };
        let written = write_response_section(&fields, &head, &mut self.head);
        self.open.connection().machine().recycle(fields);
        match written {
            Ok(form) => {
                let body = Http2StreamBody(self.open.clone());
                self.answer = Http2ResponseState::Body(BodyReader::new(body, form));
            }
            Err(defect) => self.report_malformed(defect),
        }
    }

    /// Writes an invalid status line, which makes the reader report a malformed response.
    fn report_malformed(&mut self, defect: Defect) {
        self.head = format!("HTTP/2 {}\r\n\r\n", defect.name()).into_bytes();
        self.at = 0;
        self.answer = Http2ResponseState::LocalError;
    }

    /// Why the stream was broken before the response was complete.
    fn failure(&self) -> Option<StreamReset> {
        match &self.answer {
            Http2ResponseState::Body(body) => body.failure().copied(),
            Http2ResponseState::LocalError => None,
            Http2ResponseState::None | Http2ResponseState::Head => self.open.reset_cause(),
        }
    }
}

impl<N: NetDriver> MultiplexedStream for Http2UpstreamStream<N> {
    fn read(&self, into: &mut [u8]) -> StreamReadResult {
        let state = &mut *self.state.borrow_mut();
        if !state.fill() {
            return StreamReadResult::WouldBlock;
        }
        if state.at < state.head.len() {
            let rest = &state.head[state.at..];
            let n = rest.len().min(into.len());
            into[..n].copy_from_slice(&rest[..n]);
            state.at += n;
            return StreamReadResult::Data(n);
        }
        match &mut state.answer {
            Http2ResponseState::Body(body) => {
                body.read(&mut Context::from_waker(Waker::noop()), into)
            }
            Http2ResponseState::LocalError => StreamReadResult::End,
            Http2ResponseState::None | Http2ResponseState::Head => {
                let cause = self.open.reset_cause().unwrap_or_else(|| self.open.unknown_reset());
                StreamReadResult::Failed(reset_error(&cause))
            }
        }
    }

    fn write(&self, from: &[u8]) -> StreamWriteResult {
        self.flushes_before.set(self.open.connection().flush_delay.flushes());
        let state = &mut *self.state.borrow_mut();
        let mut used = 0;
        if matches!(state.request_state, Http2RequestState::Head(_)) {
            match state.send_head(from, self.tls.is_some()) {
                Ok(n) => used = n,
                Err(error) => return StreamWriteResult::Failed(error),
            }
        }
        let rest = &from[used..];
        match &mut state.request_state {
            Http2RequestState::Body(body) if !rest.is_empty() => {
                match body.write(&self.open, rest) {
                    StreamWriteResult::Bytes(n) => StreamWriteResult::Bytes(used + n),
                    StreamWriteResult::WouldBlock if used > 0 => StreamWriteResult::Bytes(used),
                    other => other,
                }
            }
            // The response is there already, so the rest of the request is discarded.
            Http2RequestState::Complete if !rest.is_empty() => StreamWriteResult::Bytes(from.len()),
            _ => StreamWriteResult::Bytes(used),
        }
    }

    fn may_read(&self) -> bool {
        self.state.borrow_mut().fill()
    }

    fn may_write(&self) -> bool {
        match &self.state.borrow().request_state {
            Http2RequestState::Body(body) => body.may_write(&self.open),
            Http2RequestState::Head(_) | Http2RequestState::Complete => true,
        }
    }

    fn is_broken(&self) -> bool {
        let state = self.state.borrow();
        state.refused || state.failure().is_some()
    }

    fn end(&self) {
        if let Http2RequestState::Body(body) = &mut self.state.borrow_mut().request_state {
            body.end(&self.open);
        }
    }

    fn reset(&self) {
        // A stream whose request is complete is cancelled when it is dropped before its response is complete.
        if let Http2RequestState::Body(body) = &mut self.state.borrow_mut().request_state {
            body.abandon();
            self.open.reset();
        }
    }

    fn tls_context(&self) -> Option<&TlsContext> {
        self.tls.as_ref()
    }

    fn unprocessed(&self) -> bool {
        let mut state = self.state.borrow_mut();
        // A body whose stream was closed does not know the reason. The response does, and may not have been read yet.
        state.fill();
        state.refused || state.failure().is_some_and(StreamReset::is_unprocessed)
    }

    fn window_closed(&self) -> Option<MonotonicTime> {
        self.open.connection().window_blocked_since()
    }

    fn held_write(&self) -> Option<HeldInterval> {
        self.open.connection().flush_delay.held_after(self.flushes_before.get())
    }

    fn counters(&self) -> Option<TcpInfoSample> {
        self.open.connection().counters()
    }

    fn local_port(&self) -> Option<u16> {
        self.open.connection().port()
    }
}

/// Sends the head on a new stream of the connection.
fn open_stream<N: NetDriver>(
    open: &OpenStream<N>,
    request: &ParsedRequestHead<'_, '_>,
    websocket: bool,
    secure: bool,
    ends: bool,
) -> Result<(), OpenRefusal> {
    let connection = open.connection();
    let id = connection.with_fields(|fields| {
        request_fields::request_fields(request, websocket, secure, fields);
        connection.with_machine(|machine| machine.open_stream(fields, ends))
    })?;
    open.enter_for_current_task(id);
    Ok(())
}
