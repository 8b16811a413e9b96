//! A scripted HTTP/2 client: sends its requests at once on one connection, and compares every byte of the responses.
//!
//! The HTTP/2 library implements the protocol. Results are recorded in the same notes as those of HTTP/1 clients.

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

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote};
use super::server::body as pattern;
use super::world::{PeerEvent, PeerIo, ScriptedPeer};

/// Polls of the library after each event: each poll may allow the next one to progress.
const TURNS: usize = 4;

/// The library's connection, and its handle to start requests while that is possible.
type Http2ClientHandle = (Connection<SimPipeEnd, Bytes>, Option<SendRequest<Bytes>>);

pub struct StreamClient {
    notes: ClientNotes,
    plan: Vec<PlannedRequest>,
    pipe: Rc<RefCell<SimPipe>>,
    http2: Option<Http2ClientHandle>,
    pending: Vec<PendingStream>,
    finished: bool,
}

struct PendingStream {
    planned: PlannedRequest,
    state: PendingState,
    status: u16,
    cause: Option<String>,
    body: Vec<u8>,
}

enum PendingState {
    Head(ResponseFuture),
    Body(RecvStream),
}

#[derive(Default)]
struct SimPipe {
    inbox: VecDeque<u8>,
    out: Vec<u8>,
    ended: bool,
}

struct SimPipeEnd(Rc<RefCell<SimPipe>>);

impl StreamClient {
    /// A client with a plan; when and how it leaves is ignored.
    pub fn new(notes: ClientNotes, plan: Vec<PlannedRequest>) -> StreamClient {
        StreamClient {
            notes,
            plan,
            pipe: Rc::default(),
            http2: None,
            pending: Vec::new(),
            finished: false,
        }
    }

    fn begin(&mut self, cx: &mut Context<'_>) {
        let end = SimPipeEnd(self.pipe.clone());
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
            let state = PendingState::Head(answer);
            let status = 0;
            let cause = None;
            let body = Vec::new();
            self.pending.push(PendingStream { planned, state, status, cause, body });
        }
        self.http2 = Some((connection, Some(send)));
    }

    /// Polls the library; returns whether its connection has ended.
    fn turn(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((connection, _)) = &mut self.http2 else { return true };
        let ended = Pin::new(connection).poll(cx).is_ready();
        let notes = &self.notes;
        self.pending.retain_mut(|asked| match asked.poll_result(cx) {
            Some(saw) => {
                notes.borrow_mut().push(RequestNote { planned: asked.planned.clone(), saw });
                false
            }
            None => true,
        });
        ended
    }
}

impl PendingStream {
    /// The result, if the request has ended.
    fn poll_result(&mut self, cx: &mut Context<'_>) -> Option<ClientOutcome> {
        loop {
            match &mut self.state {
                PendingState::Head(answer) => match Pin::new(answer).poll(cx) {
                    Poll::Pending => return None,
                    Poll::Ready(Err(_)) => return Some(ClientOutcome::Nothing),
                    Poll::Ready(Ok(answer)) => {
                        self.status = answer.status().as_u16();
                        let cause = answer.headers().get("x-steelyard-cause");
                        self.cause = cause.map(|cause| cause.to_str().unwrap().to_owned());
                        self.state = PendingState::Body(answer.into_body());
                    }
                },
                PendingState::Body(body) => match body.poll_data(cx) {
                    Poll::Pending => return None,
                    Poll::Ready(Some(Ok(piece))) => {
                        body.flow_control().release_capacity(piece.len()).unwrap();
                        self.body.extend_from_slice(&piece);
                    }
                    Poll::Ready(Some(Err(_))) => return Some(ClientOutcome::Part),
                    Poll::Ready(None) => return Some(self.outcome()),
                },
            }
        }
    }

    fn outcome(&self) -> ClientOutcome {
        let wanted = if self.planned.method == "HEAD" { 0 } else { self.planned.size };
        if self.cause.is_some() || self.body == pattern(self.planned.id, wanted) {
            return ClientOutcome::Answer(self.status, self.cause.clone());
        }
        ClientOutcome::Wrong(format!("a body of {} bytes", self.body.len()))
    }
}

impl ScriptedPeer for StreamClient {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.finished {
            return;
        }
        let mut cx = Context::from_waker(Waker::noop());
        self.pipe.borrow_mut().inbox.extend(io.take());
        self.pipe.borrow_mut().ended |= matches!(what, PeerEvent::End | PeerEvent::Broken);
        if self.http2.is_none() {
            self.begin(&mut cx);
        }
        let mut ended = false;
        for _ in 0..TURNS {
            ended |= !ended && self.turn(&mut cx);
            let mut out = std::mem::take(&mut self.pipe.borrow_mut().out);
            io.write(&mut out);
            self.pipe.borrow_mut().out = out;
        }
        if ended || self.pending.is_empty() {
            self.finished = true;
            for asked in std::mem::take(&mut self.pending) {
                let saw =
                    if asked.status == 0 { ClientOutcome::Nothing } else { ClientOutcome::Part };
                self.notes.borrow_mut().push(RequestNote { planned: asked.planned, saw });
            }
            self.http2 = None;
            io.close(false);
        }
    }
}

impl AsyncRead for SimPipeEnd {
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

impl AsyncWrite for SimPipeEnd {
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
