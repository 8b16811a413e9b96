//! A stream to a server in the form of an HTTP/1.1 connection: a request is written to it, its answer read from it.
//!
//! What is written is a request of ours in HTTP/1.1; its head is parsed again and sent as HTTP/2's. The answer's head is
//! written as HTTP/1.1 and judged by whoever reads it.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::Reason;
use h2::client::{ResponseFuture, SendRequest};
use http::{HeaderMap, HeaderName, HeaderValue};
use model::attribute::Tcp;
use model::moment::Moment;
use wire::http1::{self, BodyKind, Limits, Request, Slots};
use wire::http2::{AnswerHead, write_answer};

use super::body_in::{self, BodyIn};
use super::body_out::{BodyOut, Form};
use super::link::{Link, OpenStream};
use super::upgrade;
use crate::connection_auth;
use crate::stream::{Read, Strand, UnderTls, Wrote};

/// What bounds a head that we have written ourselves: nothing that is in force.
const LIMITS: Limits =
    Limits { head_bytes: 1 << 20, head_count: Slots::COUNT, target_bytes: 1 << 20 };

/// A server that cannot be asked for it.
const NOT_IMPLEMENTED: &[u8] = b"HTTP/1.1 501 \r\ncontent-length: 0\r\n\r\n";
/// A target that HTTP/2's library has no form for.
const BAD_TARGET: &[u8] = b"HTTP/1.1 400 \r\ncontent-length: 0\r\n\r\n";

/// A stream to a server.
pub struct Asking {
    waker: Waker,
    open: OpenStream,
    tls: Option<UnderTls>,
    state: RefCell<State>,
}

struct State {
    send: SendRequest<Bytes>,
    out: Out,
    answer: Answer,
    /// Of the answer's head, in HTTP/1.1, from `at` on.
    head: Vec<u8>,
    at: usize,
    /// Of the request.
    head_only: bool,
    /// What proves to the client that its upgrade was understood.
    accept: Option<Vec<u8>>,
    failed: Option<h2::Error>,
}

enum Out {
    /// The request's head is still to come, or a part of it is here.
    Head(Vec<u8>),
    Body(BodyOut),
    /// There is no body.
    Whole,
}

enum Answer {
    /// Nothing was asked yet.
    None,
    Head(ResponseFuture),
    Body(BodyIn),
    /// It was made here and is in `head`.
    Ours,
}

impl Asking {
    /// A stream that asks nothing yet, for the task of this waker.
    pub fn new(waker: Waker, open: OpenStream, send: SendRequest<Bytes>, secure: bool) -> Asking {
        let state = State {
            send,
            out: Out::Head(Vec::new()),
            answer: Answer::None,
            head: Vec::new(),
            at: 0,
            head_only: false,
            accept: None,
            failed: None,
        };
        let tls = secure.then(UnderTls::default);
        Asking { waker, open, tls, state: RefCell::new(state) }
    }
}

impl State {
    /// Takes the request's head; returns how much of `from` was used.
    fn ask(&mut self, from: &[u8], secure: bool, link: &Link) -> io::Result<usize> {
        let Out::Head(held) = &mut self.out else { return Ok(0) };
        let before = held.len();
        let joined;
        let bytes = if before == 0 {
            from
        } else {
            joined = [held.as_slice(), from].concat();
            &joined
        };
        let mut slots = Slots::new();
        let parsed = http1::parse_request(bytes, &LIMITS, &mut slots);
        let Some(request) = parsed.map_err(ours)? else {
            *held = bytes.to_vec();
            return Ok(from.len());
        };
        let used = request.head_len - before;
        self.head_only = request.method.is_head();
        let websocket = request.upgrade.is_some_and(|to| to.eq_ignore_ascii_case("websocket"));
        if websocket && !self.send.is_extended_connect_protocol_enabled() {
            self.answers_itself(NOT_IMPLEMENTED);
            return Ok(used);
        }
        let form = match request.body {
            _ if websocket => Form::UntilEnd,
            BodyKind::None | BodyKind::Length(0) => Form::Done,
            BodyKind::Length(length) => Form::Length(length),
            BodyKind::Chunked => BodyOut::chunks(),
        };
        let Some(head) = head_of(&request, websocket, secure) else {
            self.answers_itself(BAD_TARGET);
            return Ok(used);
        };
        if websocket {
            let key = request.headers.iter().find(|field| is_key(field.name));
            self.accept = Some(upgrade::accept(key.map(|key| key.value).unwrap_or_default()));
        }
        if connection_auth::is_given(request.headers) {
            // Whatever it comes to holds for the whole connection: no other request begins on it.
            link.closing.set(true);
        }
        let ends = matches!(form, Form::Done);
        match self.send.send_request(head, ends) {
            Ok((answer, send)) => {
                self.answer = Answer::Head(answer);
                self.out = if ends { Out::Whole } else { Out::Body(BodyOut::new(send, form)) };
                Ok(used)
            }
            Err(error) => {
                let said = body_in::error(Some(&error));
                self.failed = Some(error);
                Err(said)
            }
        }
    }

    /// The server cannot be asked: this is the answer.
    fn answers_itself(&mut self, head: &[u8]) {
        self.head = head.to_vec();
        (self.answer, self.out) = (Answer::Ours, Out::Whole);
    }

    /// Looks for an answer's head; whether there is something to read, an end or failure included.
    fn fill(&mut self, cx: &mut Context<'_>) -> bool {
        while self.at >= self.head.len() && self.failed.is_none() {
            let Answer::Head(future) = &mut self.answer else { break };
            let polled = match future.poll_informational(cx) {
                Poll::Ready(Some(Ok(interim))) => {
                    self.interim(interim);
                    continue;
                }
                Poll::Ready(Some(Err(error))) => Poll::Ready(Err(error)),
                Poll::Ready(None) | Poll::Pending => Pin::new(future).poll(cx),
            };
            match polled {
                Poll::Pending => return false,
                Poll::Ready(Ok(answer)) => self.final_head(answer),
                Poll::Ready(Err(error)) => self.failed = Some(error),
            }
        }
        if self.at < self.head.len() || self.failed.is_some() {
            return true;
        }
        match &mut self.answer {
            Answer::Body(body) => body.may_read(cx),
            Answer::Ours => true,
            Answer::None | Answer::Head(_) => false,
        }
    }

    fn interim(&mut self, interim: http::Response<()>) {
        let status = interim.status().as_u16();
        let head = AnswerHead { status, ended: true, head_only: true, accept: None };
        (self.head, self.at) = (Vec::new(), 0);
        if write_answer(&head, fields(interim.headers()), &mut self.head).is_err() {
            // An unknown interim answer may be dropped (RFC 9110 §15.2).
            self.head.clear();
        }
    }

    fn final_head(&mut self, answer: http::Response<h2::RecvStream>) {
        let (parts, recv) = answer.into_parts();
        let head = AnswerHead {
            status: parts.status.as_u16(),
            ended: recv.is_end_stream(),
            head_only: self.head_only,
            accept: self.accept.as_deref(),
        };
        (self.head, self.at) = (Vec::new(), 0);
        match write_answer(&head, fields(&parts.headers), &mut self.head) {
            Ok(form) => self.answer = Answer::Body(BodyIn::new(recv, form)),
            // Whoever reads this finds what it is.
            Err(defect) => {
                self.head = format!("HTTP/2 {}\r\n\r\n", defect.name()).into_bytes();
                self.answer = Answer::Ours;
            }
        }
    }

    fn failure(&self) -> Option<&h2::Error> {
        match (&self.failed, &self.answer) {
            (Some(error), _) => Some(error),
            (None, Answer::Body(body)) => body.failure(),
            _ => None,
        }
    }
}

impl Strand for Asking {
    fn read(&self, into: &mut [u8]) -> Read {
        let mut cx = Context::from_waker(&self.waker);
        let state = &mut *self.state.borrow_mut();
        if !state.fill(&mut cx) {
            return Read::Later;
        }
        if state.at < state.head.len() {
            let rest = &state.head[state.at..];
            let n = rest.len().min(into.len());
            into[..n].copy_from_slice(&rest[..n]);
            state.at += n;
            return Read::Data(n);
        }
        match (&state.failed, &mut state.answer) {
            (Some(error), _) => Read::Failed(body_in::error(Some(error))),
            (None, Answer::Body(body)) => body.read(&mut cx, into),
            _ => Read::End,
        }
    }

    fn write(&self, from: &[u8]) -> Wrote {
        let state = &mut *self.state.borrow_mut();
        let mut used = 0;
        if matches!(state.out, Out::Head(_)) {
            match state.ask(from, self.tls.is_some(), self.open.link()) {
                Ok(n) => used = n,
                Err(error) => return Wrote::Failed(error),
            }
        }
        let rest = &from[used..];
        match &mut state.out {
            Out::Body(body) if !rest.is_empty() => {
                match body.write(&mut Context::from_waker(&self.waker), rest, self.open.link()) {
                    Wrote::Bytes(n) => Wrote::Bytes(used + n),
                    Wrote::Later if used > 0 => Wrote::Bytes(used),
                    other => other,
                }
            }
            // The answer is there already and asks for nothing more.
            Out::Whole if !rest.is_empty() => Wrote::Bytes(from.len()),
            _ => Wrote::Bytes(used),
        }
    }

    fn may_read(&self) -> bool {
        self.state.borrow_mut().fill(&mut Context::from_waker(&self.waker))
    }

    fn may_write(&self) -> bool {
        match &mut self.state.borrow_mut().out {
            Out::Body(body) => body.may_write(&mut Context::from_waker(&self.waker)),
            Out::Head(_) | Out::Whole => true,
        }
    }

    fn broken(&self) -> bool {
        self.state.borrow().failure().is_some()
    }

    fn end(&self) {
        if let Out::Body(body) = &mut self.state.borrow_mut().out {
            body.end();
        }
    }

    fn reset(&self) {
        // Of a stream without a body the library knows itself that nobody waits for it any more.
        if let Out::Body(body) = &mut self.state.borrow_mut().out {
            body.reset(Reason::CANCEL);
        }
    }

    fn under_tls(&self) -> Option<&UnderTls> {
        self.tls.as_ref()
    }

    fn unprocessed(&self) -> bool {
        let mut state = self.state.borrow_mut();
        // A body that found its stream closed does not know why; the answer does, and may not have been looked at.
        state.fill(&mut Context::from_waker(&self.waker));
        let Some(error) = state.failure() else { return false };
        // RFC 9113 §8.7: refused, or above the last stream that GOAWAY names.
        let refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
        matches!(state.answer, Answer::None)
            || (error.is_remote() && (refused || error.is_go_away()))
    }

    fn window_closed(&self) -> Option<Moment> {
        self.open.link().held_by_window()
    }

    fn counters(&self) -> Option<Tcp> {
        self.open.link().counters()
    }

    fn port(&self) -> Option<u16> {
        self.open.link().port()
    }
}

fn is_key(name: &str) -> bool {
    name.eq_ignore_ascii_case("sec-websocket-key")
}

/// A head of HTTP/1.1 as one of HTTP/2; `None`: its target has no form there.
fn head_of(request: &Request<'_, '_>, websocket: bool, secure: bool) -> Option<http::Request<()>> {
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
    for field in request.passing() {
        // `:authority` says it (RFC 9113 §8.3.1); some servers refuse a request that has both.
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

fn fields(map: &HeaderMap) -> impl Iterator<Item = (&[u8], &[u8])> {
    map.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()))
}

/// What could not be sent although it is well formed.
fn ours(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
