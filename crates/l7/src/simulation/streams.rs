//! A scripted client of HTTP/2: sends its requests at once on one connection and compares every byte of the answers.
//!
//! The library speaks; what it saw is written into the same notes as that of clients of HTTP/1.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::RecvStream;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::client::{Notes, Planned, Saw};
use super::server::body as pattern;
use super::world::{Io, Peer, What};

/// Turns of the library after each thing that happens: each may make room for the next.
const TURNS: usize = 4;

/// The library's connection, and how requests are begun on it while they may be.
type Speaks = (Connection<End, Bytes>, Option<SendRequest<Bytes>>);

/// One client connection.
pub struct Streams {
    notes: Notes,
    plan: Vec<Planned>,
    pipe: Rc<RefCell<Pipe>>,
    speaks: Option<Speaks>,
    asked: Vec<Asked>,
    over: bool,
}

struct Asked {
    planned: Planned,
    state: State,
    status: u16,
    cause: Option<String>,
    body: Vec<u8>,
}

enum State {
    Head(ResponseFuture),
    Body(RecvStream),
}

#[derive(Default)]
struct Pipe {
    inbox: VecDeque<u8>,
    out: Vec<u8>,
    ended: bool,
}

struct End(Rc<RefCell<Pipe>>);

impl Streams {
    /// A client with a plan; when and how it leaves is not looked at.
    pub fn new(notes: Notes, plan: Vec<Planned>) -> Streams {
        Streams { notes, plan, pipe: Rc::default(), speaks: None, asked: Vec::new(), over: false }
    }

    fn begin(&mut self, cx: &mut Context<'_>) {
        let end = End(self.pipe.clone());
        let mut handshake = Box::pin(Builder::new().enable_push(false).handshake(end));
        let Poll::Ready(Ok((mut send, connection))) = handshake.as_mut().poll(cx) else {
            panic!("a handshake waits for nothing")
        };
        for planned in std::mem::take(&mut self.plan) {
            let uri = format!("http://shop/{}/{}/{}", planned.mode, planned.size, planned.id);
            let mut request = http::Request::builder().method(planned.method).uri(uri);
            if planned.upload > 0 && !planned.chunked {
                request = request.header("content-length", planned.upload);
            }
            let request = request.body(()).unwrap();
            let (answer, mut body) = send.send_request(request, planned.upload == 0).unwrap();
            if planned.upload > 0 {
                let bytes = pattern(planned.id + 1, planned.upload);
                body.send_data(Bytes::from(bytes), true).unwrap();
            }
            let state = State::Head(answer);
            let (status, cause, body) = (0, None, Vec::new());
            self.asked.push(Asked { planned, state, status, cause, body });
        }
        self.speaks = Some((connection, Some(send)));
    }

    /// Lets the library work; whether its connection has ended.
    fn turn(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((connection, _)) = &mut self.speaks else { return true };
        let ended = Pin::new(connection).poll(cx).is_ready();
        let notes = &self.notes;
        self.asked.retain_mut(|asked| match asked.look(cx) {
            Some(saw) => {
                notes.borrow_mut().push((asked.planned.clone(), saw));
                false
            }
            None => true,
        });
        ended
    }
}

impl Asked {
    /// What it came to, if it is over.
    fn look(&mut self, cx: &mut Context<'_>) -> Option<Saw> {
        loop {
            match &mut self.state {
                State::Head(answer) => match Pin::new(answer).poll(cx) {
                    Poll::Pending => return None,
                    Poll::Ready(Err(_)) => return Some(Saw::Nothing),
                    Poll::Ready(Ok(answer)) => {
                        self.status = answer.status().as_u16();
                        let cause = answer.headers().get("x-steelyard-cause");
                        self.cause = cause.map(|cause| cause.to_str().unwrap().to_owned());
                        self.state = State::Body(answer.into_body());
                    }
                },
                State::Body(body) => match body.poll_data(cx) {
                    Poll::Pending => return None,
                    Poll::Ready(Some(Ok(piece))) => {
                        body.flow_control().release_capacity(piece.len()).unwrap();
                        self.body.extend_from_slice(&piece);
                    }
                    Poll::Ready(Some(Err(_))) => return Some(Saw::Part),
                    Poll::Ready(None) => return Some(self.judge()),
                },
            }
        }
    }

    fn judge(&self) -> Saw {
        let wanted = if self.planned.method == "HEAD" { 0 } else { self.planned.size };
        if self.cause.is_some() || self.body == pattern(self.planned.id, wanted) {
            return Saw::Answer(self.status, self.cause.clone());
        }
        Saw::Wrong(format!("a body of {} bytes", self.body.len()))
    }
}

impl Peer for Streams {
    fn on(&mut self, what: What, io: &mut Io) {
        if self.over {
            return;
        }
        let mut cx = Context::from_waker(Waker::noop());
        self.pipe.borrow_mut().inbox.extend(io.take());
        self.pipe.borrow_mut().ended |= matches!(what, What::End | What::Broken);
        if self.speaks.is_none() {
            self.begin(&mut cx);
        }
        let mut ended = false;
        for _ in 0..TURNS {
            ended |= !ended && self.turn(&mut cx);
            let mut out = std::mem::take(&mut self.pipe.borrow_mut().out);
            io.write(&mut out);
            self.pipe.borrow_mut().out = out;
        }
        if ended || self.asked.is_empty() {
            self.over = true;
            for asked in std::mem::take(&mut self.asked) {
                let saw = if asked.status == 0 { Saw::Nothing } else { Saw::Part };
                self.notes.borrow_mut().push((asked.planned, saw));
            }
            self.speaks = None;
            io.close(false);
        }
    }
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut pipe = self.0.borrow_mut();
        if pipe.inbox.is_empty() && !pipe.ended {
            return Poll::Pending;
        }
        let n = pipe.inbox.len().min(into.remaining());
        let bytes: Vec<u8> = pipe.inbox.drain(..n).collect();
        into.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().out.extend_from_slice(from);
        Poll::Ready(Ok(from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
