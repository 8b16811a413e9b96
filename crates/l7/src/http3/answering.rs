//! A client's stream in the form of an HTTP/1.1 connection: its body is read from it, its answer written to it.
//!
//! The request's head was given to the exchange already. What is written is an answer of ours in HTTP/1.1; its head is
//! parsed again and sent as HTTP/3's, and the framing of its body is taken off.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Waker};

use model::attribute::Tcp;
use model::moment::Moment;
use quinn_proto::StreamId;
use wire::http1::{self, AnswerBody, Asked, Chunked, Emit, Limits, Slots};
use wire::http2::Body;
use wire::http3::{code, data_header, write_head, write_trailers};

use super::pieces::Pieces;
use crate::account::Protocol;
use crate::http2::body_in::BodyIn;
use crate::quic::link::{Link, Open};
use crate::stream::{Read, Strand, UnderTls, Wrote};

/// What bounds a head that we have written ourselves: nothing that is in force.
const LIMITS: Limits = Limits { head_bytes: 1 << 20, head_count: Slots::COUNT, target_bytes: 0 };

/// A client's stream.
pub struct Answering {
    waker: Waker,
    link: Rc<Link>,
    id: StreamId,
    _open: Open,
    tls: Rc<Option<UnderTls>>,
    asked: Asked,
    body: RefCell<BodyIn<Pieces>>,
    out: RefCell<Out>,
    cut: Cell<bool>,
}

enum Out {
    /// The answer's head is still to come, or a part of it is here.
    Head(Vec<u8>),
    /// So many bytes to go.
    Length(u64),
    /// Chunks.
    Chunked(Box<Chunked>),
    /// By the end of whoever writes.
    UntilEnd,
    /// All of it was written.
    Whole,
}

/// What a stream is made of.
pub struct Made {
    /// Its connection.
    pub link: Rc<Link>,
    /// Which it is.
    pub id: StreamId,
    /// It, being counted.
    pub open: Open,
    /// What the connection has under TLS.
    pub tls: Rc<Option<UnderTls>>,
    /// The request's body.
    pub pieces: Pieces,
    /// How the body is to be read.
    pub form: Body,
    /// The request was HEAD.
    pub head_only: bool,
}

impl Answering {
    /// A stream, for the task of this waker.
    pub fn new(waker: Waker, made: Made) -> Answering {
        let asked = match made.form {
            Body::Raw => Asked::Upgrade,
            _ if made.head_only => Asked::Head,
            _ => Asked::Other,
        };
        Answering {
            waker,
            link: made.link,
            id: made.id,
            _open: made.open,
            tls: made.tls,
            asked,
            body: RefCell::new(BodyIn::new(made.pieces, made.form)),
            out: RefCell::new(Out::Head(Vec::new())),
            cut: Cell::new(false),
        }
    }

    /// Takes an answer's head; returns how much of `from` was used.
    fn head(&self, out: &mut Out, from: &[u8]) -> io::Result<usize> {
        let Out::Head(held) = out else { return Ok(0) };
        let before = held.len();
        let bytes = [held.as_slice(), from].concat();
        let mut used = 0;
        loop {
            let mut slots = Slots::new();
            let parsed = http1::parse_response(&bytes[used..], &LIMITS, &mut slots, self.asked);
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
            self.link.write(self.id, &frame);
            if response.status < 200 && !switched {
                continue;
            }
            *out = match response.body {
                _ if switched => Out::UntilEnd,
                AnswerBody::None | AnswerBody::Length(0) => Out::Whole,
                AnswerBody::Length(length) => Out::Length(length),
                AnswerBody::Chunked => Out::Chunked(Box::new(Chunked::new(Emit::Apart))),
                AnswerBody::UntilClose => Out::UntilEnd,
            };
            if matches!(out, Out::Whole) {
                self.link.finish(self.id);
            }
            return Ok(used.saturating_sub(before));
        }
    }

    fn body(&self, out: &mut Out, from: &[u8]) -> io::Result<usize> {
        let room = self.link.room(self.id);
        if room == 0 || from.is_empty() {
            return Ok(0);
        }
        match out {
            Out::Length(left) => {
                let n = from.len().min(room).min(usize::try_from(*left).unwrap_or(usize::MAX));
                self.data(&from[..n]);
                *left -= n as u64;
                if *left == 0 {
                    *out = Out::Whole;
                    self.link.finish(self.id);
                }
                Ok(n)
            }
            Out::UntilEnd => {
                let n = from.len().min(room);
                self.data(&from[..n]);
                Ok(n)
            }
            Out::Chunked(decoder) => {
                let n = from.len().min(room);
                let mut plain = Vec::new();
                let fed = decoder.feed(&from[..n], &mut plain);
                let fed =
                    fed.map_err(|defect| io::Error::new(io::ErrorKind::InvalidData, defect))?;
                self.data(&plain);
                if fed.finished {
                    let lines = decoder.take_trailers();
                    if !lines.is_empty() {
                        let mut frame = Vec::new();
                        write_trailers(&lines, &mut frame);
                        self.link.write(self.id, &frame);
                    }
                    *out = Out::Whole;
                    self.link.finish(self.id);
                }
                Ok(fed.consumed)
            }
            Out::Head(_) | Out::Whole => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn data(&self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        let mut frame = Vec::with_capacity(piece.len() + 16);
        data_header(piece.len(), &mut frame);
        frame.extend_from_slice(piece);
        self.link.write(self.id, &frame);
    }

    fn is_whole(&self) -> bool {
        matches!(*self.out.borrow(), Out::Whole)
    }
}

impl Strand for Answering {
    fn read(&self, into: &mut [u8]) -> Read {
        self.body.borrow_mut().read(&mut Context::from_waker(&self.waker), into)
    }

    fn write(&self, from: &[u8]) -> Wrote {
        let mut out = self.out.borrow_mut();
        let whole = matches!(*out, Out::Whole);
        if self.link.is_gone(self.id) && !whole {
            return Wrote::Failed(io::ErrorKind::BrokenPipe.into());
        }
        let mut used = 0;
        if matches!(*out, Out::Head(_)) {
            match self.head(&mut out, from) {
                Ok(n) => used = n,
                Err(error) => return Wrote::Failed(error),
            }
        }
        let rest = &from[used..];
        if rest.is_empty() {
            return Wrote::Bytes(used);
        }
        match self.body(&mut out, rest) {
            Ok(0) if used == 0 => Wrote::Later,
            Ok(n) => Wrote::Bytes(used + n),
            Err(error) => Wrote::Failed(error),
        }
    }

    fn may_read(&self) -> bool {
        self.body.borrow_mut().may_read(&mut Context::from_waker(&self.waker))
    }

    fn may_write(&self) -> bool {
        match &*self.out.borrow() {
            Out::Head(_) | Out::Whole => true,
            _ => self.link.room(self.id) > 0,
        }
    }

    fn broken(&self) -> bool {
        self.link.is_gone(self.id) && !self.is_whole()
    }

    fn end(&self) {
        let mut out = self.out.borrow_mut();
        if matches!(*out, Out::UntilEnd) {
            *out = Out::Whole;
            self.link.finish(self.id);
        }
    }

    fn reset(&self) {
        self.cut.set(true);
        self.link.reset(self.id, code::INTERNAL_ERROR);
    }

    fn under_tls(&self) -> Option<&UnderTls> {
        self.tls.as_ref().as_ref()
    }

    fn unprocessed(&self) -> bool {
        false
    }

    fn kept(&self) -> Option<Rc<Cell<usize>>> {
        Some(self.link.kept.clone())
    }

    fn window_closed(&self) -> Option<Moment> {
        None
    }

    fn counters(&self) -> Option<Tcp> {
        None
    }

    fn port(&self) -> Option<u16> {
        None
    }

    fn protocol(&self) -> Protocol {
        Protocol::Http3
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // What ends with its connection ends here; what is not whole may not look so.
        if !self.cut.get() {
            self.end();
            if !self.is_whole() {
                self.reset();
            }
        }
        // What else the client would send is not wanted (RFC 9114 §4.1).
        self.link.stop(self.id, code::NO_ERROR);
        self.link.detach(self.id);
    }
}
