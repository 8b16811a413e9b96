//! A stream to a server that looks like an HTTP/1.1 connection: the request is written to it, and the response is read
//! from it.
//!
//! The caller writes the request as HTTP/1.1; its head is parsed and sent as HTTP/2. The response's head is converted
//! to HTTP/1.1, and its reader validates it.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::Reason;
use h2::client::{ResponseFuture, SendRequest};
use http::{HeaderMap, HeaderName, HeaderValue};
use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;
use wire::http1::{self, BodyKind, HeadLimits, HeaderSlots, ParsedRequestHead};
use wire::http2::{ResponseHead, write_response};

use super::body_reader::{self, BodyReader};
use super::body_writer::{BodyWriter, OutgoingFraming};
use super::connection::{Http2Connection, OpenStream};
use super::upgrade;
use crate::conn::connection_auth;
use crate::conn::stream::{MultiplexedStream, StreamReadResult, StreamWriteResult, TlsContext};

/// Limits for a head that the balancer itself wrote: high enough to reject none.
const LIMITS: HeadLimits =
    HeadLimits { head_bytes: 1 << 20, head_count: HeaderSlots::COUNT, target_bytes: 1 << 20 };

/// The local reply for a WebSocket to a server without extended CONNECT.
const NOT_IMPLEMENTED: &[u8] = b"HTTP/1.1 501 \r\ncontent-length: 0\r\n\r\n";
/// The local reply for a target that the HTTP/2 library cannot represent.
const BAD_TARGET: &[u8] = b"HTTP/1.1 400 \r\ncontent-length: 0\r\n\r\n";

pub struct Http2UpstreamStream {
    waker: Waker,
    open: OpenStream,
    tls: Option<TlsContext>,
    state: RefCell<Http2ClientState>,
}

struct Http2ClientState {
    send: SendRequest<Bytes>,
    request_state: Http2RequestState,
    answer: Http2ResponseState,
    /// The response's head in HTTP/1.1; unread from `at` on.
    head: Vec<u8>,
    at: usize,
    head_only: bool,
    /// The `Sec-WebSocket-Accept` value that confirms the upgrade to the client.
    accept: Option<Vec<u8>>,
    failed: Option<h2::Error>,
}

enum Http2RequestState {
    /// The received part of the request's head.
    Head(Vec<u8>),
    Body(BodyWriter),
    /// The request is complete, or needs no body.
    Complete,
}

enum Http2ResponseState {
    /// No request was sent yet.
    None,
    Head(ResponseFuture),
    Body(BodyReader),
    /// A local reply, stored in `head`.
    LocalError,
}

impl Http2UpstreamStream {
    /// A stream without a request yet; `waker` belongs to the task that uses it.
    pub fn new(
        waker: Waker,
        open: OpenStream,
        send: SendRequest<Bytes>,
        secure: bool,
    ) -> Http2UpstreamStream {
        let state = Http2ClientState {
            send,
            request_state: Http2RequestState::Head(Vec::new()),
            answer: Http2ResponseState::None,
            head: Vec::new(),
            at: 0,
            head_only: false,
            accept: None,
            failed: None,
        };
        let tls = secure.then(TlsContext::default);
        Http2UpstreamStream { waker, open, tls, state: RefCell::new(state) }
    }
}

impl Http2ClientState {
    /// Consumes the request's head; returns how many bytes of `from` were used.
    fn send_head(
        &mut self,
        from: &[u8],
        secure: bool,
        link: &Http2Connection,
    ) -> io::Result<usize> {
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
        let Some(request) = parsed.map_err(local_error)? else {
            *held = bytes.to_vec();
            return Ok(from.len());
        };
        let used = request.head_len - before;
        self.head_only = request.method.is_head();
        let websocket = request.upgrade.is_some_and(|to| to.eq_ignore_ascii_case("websocket"));
        if websocket && !self.send.is_extended_connect_protocol_enabled() {
            self.answer_locally(NOT_IMPLEMENTED);
            return Ok(used);
        }
        let form = match request.body {
            _ if websocket => OutgoingFraming::UntilEnd,
            BodyKind::None | BodyKind::Length(0) => OutgoingFraming::Done,
            BodyKind::Length(length) => OutgoingFraming::Length(length),
            BodyKind::Chunked => BodyWriter::chunks(),
        };
        let Some(head) = http2_request(&request, websocket, secure) else {
            self.answer_locally(BAD_TARGET);
            return Ok(used);
        };
        if websocket {
            let key = request.headers.iter().find(|field| is_key(field.name));
            self.accept = Some(upgrade::accept(key.map(|key| key.value).unwrap_or_default()));
        }
        if connection_auth::request_authenticates(request.headers) {
            // The authentication applies to the whole connection, whatever its result: no other request may start on
            // it.
            link.closing.set(true);
        }
        let ends = matches!(form, OutgoingFraming::Done);
        match self.send.send_request(head, ends) {
            Ok((answer, send)) => {
                self.answer = Http2ResponseState::Head(answer);
                self.request_state = if ends {
                    Http2RequestState::Complete
                } else {
                    Http2RequestState::Body(BodyWriter::new(send, form))
                };
                Ok(used)
            }
            Err(error) => {
                let said = body_reader::h2_io_error(Some(&error));
                self.failed = Some(error);
                Err(said)
            }
        }
    }

    /// Stores a local reply, because the request cannot be sent to the server.
    fn answer_locally(&mut self, head: &[u8]) {
        self.head = head.to_vec();
        self.answer = Http2ResponseState::LocalError;
        self.request_state = Http2RequestState::Complete;
    }

    /// Polls for the response's head; returns whether there is something to read, including an end or a failure.
    fn fill(&mut self, cx: &mut Context<'_>) -> bool {
        while self.at >= self.head.len() && self.failed.is_none() {
            let Http2ResponseState::Head(future) = &mut self.answer else { break };
            let polled = match future.poll_informational(cx) {
                Poll::Ready(Some(Ok(interim))) => {
                    self.receive_interim(interim);
                    continue;
                }
                Poll::Ready(Some(Err(error))) => Poll::Ready(Err(error)),
                Poll::Ready(None) | Poll::Pending => Pin::new(future).poll(cx),
            };
            match polled {
                Poll::Pending => return false,
                Poll::Ready(Ok(answer)) => self.receive_final_head(answer),
                Poll::Ready(Err(error)) => self.failed = Some(error),
            }
        }
        if self.at < self.head.len() || self.failed.is_some() {
            return true;
        }
        match &mut self.answer {
            Http2ResponseState::Body(body) => body.may_read(cx),
            Http2ResponseState::LocalError => true,
            Http2ResponseState::None | Http2ResponseState::Head(_) => false,
        }
    }

    fn receive_interim(&mut self, interim: http::Response<()>) {
        let status = interim.status().as_u16();
        let head = ResponseHead { status, end_stream: true, head_only: true, accept: None };
        self.head = Vec::new();
        self.at = 0;
        if write_response(&head, header_lines(interim.headers()), &mut self.head).is_err() {
            // An invalid interim response is dropped, since clients may ignore any 1xx (RFC 9110 §15.2).
            self.head.clear();
        }
    }

    fn receive_final_head(&mut self, answer: http::Response<h2::RecvStream>) {
        let (parts, recv) = answer.into_parts();
        let head = ResponseHead {
            status: parts.status.as_u16(),
            end_stream: recv.is_end_stream(),
            head_only: self.head_only,
            accept: self.accept.as_deref(),
        };
        self.head = Vec::new();
        self.at = 0;
        match write_response(&head, header_lines(&parts.headers), &mut self.head) {
            Ok(form) => self.answer = Http2ResponseState::Body(BodyReader::new(recv, form)),
            // The invalid status line makes the reader report a malformed response.
            Err(defect) => {
                self.head = format!("HTTP/2 {}\r\n\r\n", defect.name()).into_bytes();
                self.answer = Http2ResponseState::LocalError;
            }
        }
    }

    fn failure(&self) -> Option<&h2::Error> {
        match (&self.failed, &self.answer) {
            (Some(error), _) => Some(error),
            (None, Http2ResponseState::Body(body)) => body.failure(),
            _ => None,
        }
    }
}

impl MultiplexedStream for Http2UpstreamStream {
    fn read(&self, into: &mut [u8]) -> StreamReadResult {
        let mut cx = Context::from_waker(&self.waker);
        let state = &mut *self.state.borrow_mut();
        if !state.fill(&mut cx) {
            return StreamReadResult::WouldBlock;
        }
        if state.at < state.head.len() {
            let rest = &state.head[state.at..];
            let n = rest.len().min(into.len());
            into[..n].copy_from_slice(&rest[..n]);
            state.at += n;
            return StreamReadResult::Data(n);
        }
        match (&state.failed, &mut state.answer) {
            (Some(error), _) => StreamReadResult::Failed(body_reader::h2_io_error(Some(error))),
            (None, Http2ResponseState::Body(body)) => body.read(&mut cx, into),
            _ => StreamReadResult::End,
        }
    }

    fn write(&self, from: &[u8]) -> StreamWriteResult {
        let state = &mut *self.state.borrow_mut();
        let mut used = 0;
        if matches!(state.request_state, Http2RequestState::Head(_)) {
            match state.send_head(from, self.tls.is_some(), self.open.connection()) {
                Ok(n) => used = n,
                Err(error) => return StreamWriteResult::Failed(error),
            }
        }
        let rest = &from[used..];
        match &mut state.request_state {
            Http2RequestState::Body(body) if !rest.is_empty() => {
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
            // The response is there already, so the rest of the request is discarded.
            Http2RequestState::Complete if !rest.is_empty() => StreamWriteResult::Bytes(from.len()),
            _ => StreamWriteResult::Bytes(used),
        }
    }

    fn may_read(&self) -> bool {
        self.state.borrow_mut().fill(&mut Context::from_waker(&self.waker))
    }

    fn may_write(&self) -> bool {
        match &mut self.state.borrow_mut().request_state {
            Http2RequestState::Body(body) => body.may_write(&mut Context::from_waker(&self.waker)),
            Http2RequestState::Head(_) | Http2RequestState::Complete => true,
        }
    }

    fn is_broken(&self) -> bool {
        self.state.borrow().failure().is_some()
    }

    fn end(&self) {
        if let Http2RequestState::Body(body) = &mut self.state.borrow_mut().request_state {
            body.end();
        }
    }

    fn reset(&self) {
        // The library itself resets a stream without a body when its response is dropped.
        if let Http2RequestState::Body(body) = &mut self.state.borrow_mut().request_state {
            body.reset(Reason::CANCEL);
        }
    }

    fn tls_context(&self) -> Option<&TlsContext> {
        self.tls.as_ref()
    }

    fn unprocessed(&self) -> bool {
        let mut state = self.state.borrow_mut();
        // A body whose stream was closed does not know the reason. The response does, and may not have been polled yet.
        state.fill(&mut Context::from_waker(&self.waker));
        let Some(error) = state.failure() else { return false };
        // RFC 9113 §8.7: refused, or above the last stream id in GOAWAY.
        let refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
        matches!(state.answer, Http2ResponseState::None)
            || (error.is_remote() && (refused || error.is_go_away()))
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

fn is_key(name: &str) -> bool {
    name.eq_ignore_ascii_case("sec-websocket-key")
}

/// Converts an HTTP/1.1 head to HTTP/2; `None`: HTTP/2 cannot represent its target.
fn http2_request(
    request: &ParsedRequestHead<'_, '_>,
    websocket: bool,
    secure: bool,
) -> Option<http::Request<()>> {
    let mut head = http::Request::new(());
    let method = if websocket { "CONNECT" } else { request.method.as_str() };
    *head.method_mut() = http::Method::from_bytes(method.as_bytes()).ok()?;
    let uri = http::Uri::builder()
        .scheme(if secure { "https" } else { "http" })
        .authority(request.host?)
        .path_and_query(request.target);
    *head.uri_mut() = uri.build().ok()?;
    *head.version_mut() = http::Version::HTTP_2;
    if websocket {
        head.extensions_mut().insert(h2::ext::Protocol::from_static("websocket"));
    }
    let fields = head.headers_mut();
    fields.reserve(request.headers.len() + 2);
    for field in request.forwarded_headers() {
        // `:authority` replaces Host (RFC 9113 §8.3.1); some servers reject a request with both.
        if field.name.eq_ignore_ascii_case("host") || (websocket && is_key(field.name)) {
            continue;
        }
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        fields.append(name, HeaderValue::from_bytes(field.value).ok()?);
    }
    if request.reads_trailers() {
        fields.insert(http::header::TE, HeaderValue::from_static("trailers"));
    }
    if request.expect_continue {
        fields.insert(http::header::EXPECT, HeaderValue::from_static("100-continue"));
    }
    if let BodyKind::Length(length) = request.body {
        fields.insert(http::header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    Some(head)
}

fn header_lines(map: &HeaderMap) -> impl Iterator<Item = (&[u8], &[u8])> {
    map.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()))
}

/// Wraps an error of a valid message that could not be sent.
fn local_error(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
