//! A client's stream in the form of an HTTP/1.1 connection: its body is read from it, its answer written to it.
//!
//! The request's head was given to the exchange already. What is written is an answer of ours in HTTP/1.1; its head is
//! parsed again and sent as HTTP/2's.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Waker};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderName, HeaderValue};
use model::attribute::Tcp;
use model::moment::Moment;
use wire::http1::{self, AnswerBody, Asked, Limits, Response, Slots};
use wire::http2::Body;

use super::body_in::BodyIn;
use super::body_out::{BodyOut, Form};
use super::link::OpenStream;
use crate::stream::{Read, Strand, UnderTls, Wrote};

/// What bounds a head that we have written ourselves: nothing that is in force.
const LIMITS: Limits = Limits { head_bytes: 1 << 20, head_count: Slots::COUNT, target_bytes: 0 };

/// A client's stream.
pub struct Answering {
    waker: Waker,
    open: OpenStream,
    tls: Rc<Option<UnderTls>>,
    asked: Asked,
    body: RefCell<BodyIn>,
    respond: RefCell<SendResponse<Bytes>>,
    out: RefCell<Out>,
    cut: Cell<bool>,
}

enum Out {
    /// The answer's head is still to come, or a part of it is here.
    Head(Vec<u8>),
    Body(BodyOut),
    /// There is no body.
    Whole,
}

/// What a stream is made of.
pub struct Made {
    /// For the answer.
    pub respond: SendResponse<Bytes>,
    /// The request's body.
    pub recv: RecvStream,
    /// How the body is to be read.
    pub form: Body,
    /// The request was HEAD.
    pub head_only: bool,
}

impl Answering {
    /// A stream, for the task of this waker.
    pub fn new(waker: Waker, open: OpenStream, made: Made, tls: Rc<Option<UnderTls>>) -> Answering {
        let asked = match made.form {
            Body::Raw => Asked::Upgrade,
            _ if made.head_only => Asked::Head,
            _ => Asked::Other,
        };
        Answering {
            waker,
            open,
            tls,
            asked,
            body: RefCell::new(BodyIn::new(made.recv, made.form)),
            respond: RefCell::new(made.respond),
            out: RefCell::new(Out::Head(Vec::new())),
            cut: Cell::new(false),
        }
    }

    /// Takes an answer's head; returns how much of `from` was used.
    fn head(&self, out: &mut Out, from: &[u8]) -> io::Result<usize> {
        let Out::Head(held) = out else { return Ok(0) };
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
            let mut slots = Slots::new();
            let parsed = http1::parse_response(&bytes[used..], &LIMITS, &mut slots, self.asked);
            let Some(response) = parsed.map_err(ours)? else {
                *held = bytes[used..].to_vec();
                return Ok(from.len());
            };
            used += response.head_len;
            self.open.link().gives_head();
            if response.status < 200 && response.status != 101 {
                respond.send_informational(fields(&response, response.status)?).map_err(ours)?;
                continue;
            }
            let status = if response.status == 101 { 200 } else { response.status };
            let form = match response.body {
                _ if response.status == 101 => Form::UntilEnd,
                AnswerBody::None | AnswerBody::Length(0) => Form::Done,
                AnswerBody::Length(length) => Form::Length(length),
                AnswerBody::Chunked => BodyOut::chunks(),
                AnswerBody::UntilClose => Form::UntilEnd,
            };
            let ends = matches!(form, Form::Done);
            let head = fields(&response, status)?;
            let send = respond.send_response(head, ends).map_err(ours)?;
            *out = if ends { Out::Whole } else { Out::Body(BodyOut::new(send, form)) };
            return Ok(used.saturating_sub(before));
        }
    }

    /// Whether the answer was given whole.
    fn whole(&self) -> bool {
        match &*self.out.borrow() {
            Out::Head(_) => false,
            Out::Body(body) => body.done(),
            Out::Whole => true,
        }
    }
}

impl Strand for Answering {
    fn read(&self, into: &mut [u8]) -> Read {
        self.body.borrow_mut().read(&mut Context::from_waker(&self.waker), into)
    }

    fn write(&self, from: &[u8]) -> Wrote {
        let mut out = self.out.borrow_mut();
        let mut used = 0;
        if matches!(*out, Out::Head(_)) {
            match self.head(&mut out, from) {
                Ok(n) => used = n,
                Err(error) => return Wrote::Failed(error),
            }
        }
        let rest = &from[used..];
        match &mut *out {
            Out::Body(body) if !rest.is_empty() => {
                match body.write(&mut Context::from_waker(&self.waker), rest, self.open.link()) {
                    Wrote::Bytes(n) => Wrote::Bytes(used + n),
                    Wrote::Later if used > 0 => Wrote::Bytes(used),
                    other => other,
                }
            }
            Out::Whole if !rest.is_empty() => Wrote::Failed(io::ErrorKind::InvalidData.into()),
            _ => Wrote::Bytes(used),
        }
    }

    fn may_read(&self) -> bool {
        self.body.borrow_mut().may_read(&mut Context::from_waker(&self.waker))
    }

    fn may_write(&self) -> bool {
        match &mut *self.out.borrow_mut() {
            Out::Body(body) => body.may_write(&mut Context::from_waker(&self.waker)),
            Out::Head(_) | Out::Whole => true,
        }
    }

    fn broken(&self) -> bool {
        let mut cx = Context::from_waker(&self.waker);
        match &mut *self.out.borrow_mut() {
            Out::Head(_) => self.respond.borrow_mut().poll_reset(&mut cx).is_ready(),
            Out::Body(body) => !body.done() && body.given_up(&mut cx).is_some(),
            Out::Whole => false,
        }
    }

    fn end(&self) {
        if let Out::Body(body) = &mut *self.out.borrow_mut() {
            body.end();
        }
    }

    fn reset(&self) {
        self.cut.set(true);
        match &mut *self.out.borrow_mut() {
            Out::Head(_) | Out::Whole => {
                self.respond.borrow_mut().send_reset(Reason::INTERNAL_ERROR);
            }
            Out::Body(body) => body.reset(Reason::INTERNAL_ERROR),
        }
    }

    fn under_tls(&self) -> Option<&UnderTls> {
        self.tls.as_ref().as_ref()
    }

    fn unprocessed(&self) -> bool {
        false
    }

    fn kept(&self) -> Option<Rc<Cell<usize>>> {
        Some(self.open.link().kept.clone())
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

impl Drop for Answering {
    fn drop(&mut self) {
        if self.cut.get() {
            return;
        }
        // What ends with its connection ends here; what is not whole may not look so.
        self.end();
        if !self.whole() {
            self.reset();
        }
    }
}

/// A head of HTTP/1.1 as one of HTTP/2.
fn fields(response: &Response<'_, '_>, status: u16) -> io::Result<http::Response<()>> {
    let mut head = http::Response::new(());
    *head.status_mut() = http::StatusCode::from_u16(status).map_err(ours)?;
    let fields = head.headers_mut();
    fields.reserve(response.headers.len() + 1);
    for field in response.passing() {
        if response.status == 101 && field.name.eq_ignore_ascii_case("sec-websocket-accept") {
            continue;
        }
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(ours)?;
        fields.append(name, HeaderValue::from_bytes(field.value).map_err(ours)?);
    }
    if let Some(length) = response.content_length
        && response.status >= 200
        && response.status != 204
    {
        fields.insert(http::header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    Ok(head)
}

/// What could not be sent although it is well formed.
fn ours(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
