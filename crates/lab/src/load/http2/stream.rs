//! One stream of the load generator's HTTP/2 connection: a request and its response.
//!
//! It is polled only after the library has woken it. It never sees the connection's bytes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use http::Request;

use crate::load::fail::FailureCause;
use crate::load::request_mix::RequestTemplate;
use crate::load::response::{ReceivedBody, ResponseProgress};
use crate::load::text_search::TextSearch;

/// A request that no connection has accepted yet.
#[derive(Debug)]
struct QueuedHttp2Request {
    head: Request<()>,
    body: Bytes,
}

/// The part of a request's body that the library has not yet accepted, and where to send it.
#[derive(Debug)]
struct UnsentBody {
    stream: SendStream<Bytes>,
    rest: Bytes,
}

/// Holds one request at a time.
#[derive(Debug, Default)]
pub struct Http2ClientStream {
    waiting: Option<QueuedHttp2Request>,
    sending: Option<UnsentBody>,
    exchange: StreamExchange,
    text: Option<TextSearch>,
    status: u16,
    body_bytes: u64,
    began: bool,
    request_kind: usize,
    waker: Arc<StreamWaker>,
}

#[derive(Debug, Default)]
enum StreamExchange {
    #[default]
    None,
    Head(ResponseFuture),
    Body(RecvStream),
    Failed,
}

/// Whether the library has woken the stream.
#[derive(Debug, Default)]
struct StreamWaker(AtomicBool);

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Http2ClientStream {
    /// Queues the next request until `send_queued`.
    pub fn queue_request(&mut self, which: usize, head: Request<()>, shot: &RequestTemplate) {
        self.request_kind = which;
        self.status = 0;
        self.body_bytes = 0;
        self.began = false;
        self.text = shot.expect.text.as_ref().map(TextSearch::new);
        self.waiting = Some(QueuedHttp2Request { head, body: Bytes::copy_from_slice(&shot.body) });
    }

    /// Passes the queued request to the library. The next received bytes report its result.
    pub fn send_queued(&mut self, send: &mut SendRequest<Bytes>) {
        let Some(QueuedHttp2Request { head, body }) = self.waiting.take() else { return };
        self.waker.0.store(true, Ordering::Relaxed);
        match send.send_request(head, body.is_empty()) {
            Ok((answer, mut stream)) => {
                self.exchange = StreamExchange::Head(answer);
                if !body.is_empty() {
                    stream.reserve_capacity(body.len());
                    self.sending = Some(UnsentBody { stream, rest: body });
                }
            }
            Err(_) => self.exchange = StreamExchange::Failed,
        }
    }

    /// Whether the library has woken the stream since the last call.
    pub fn is_woken(&self) -> bool {
        self.is_in_flight() && self.waker.0.swap(false, Ordering::Relaxed)
    }

    /// Whether a request is in flight on the stream.
    pub fn is_in_flight(&self) -> bool {
        !matches!(self.exchange, StreamExchange::None)
    }

    /// Whether the library has accepted the whole request.
    pub fn is_fully_sent(&self) -> bool {
        self.waiting.is_none() && self.sending.is_none()
    }

    /// Whether the response's head has arrived.
    pub fn has_begun(&self) -> bool {
        self.began
    }

    /// Index in the mix of the last request.
    pub fn request_kind(&self) -> usize {
        self.request_kind
    }

    pub fn body(&self) -> ReceivedBody {
        let has_text = self.text.as_ref().is_none_or(TextSearch::is_found);
        ReceivedBody { bytes: self.body_bytes, has_text }
    }

    /// Ends the request in flight; a queued one stays. On an open connection the library sends RST_STREAM (CANCEL).
    pub fn cancel(&mut self) {
        self.exchange = StreamExchange::None;
        self.sending = None;
    }

    /// Ends the request in flight and removes the queued one.
    pub fn reset(&mut self) {
        self.cancel();
        self.waiting = None;
    }

    /// Reads the available part of the response and sends as much of the body as flow control allows.
    pub fn drive(&mut self) -> ResponseProgress {
        self.send_body();
        let waker = Waker::from(Arc::clone(&self.waker));
        let mut context = Context::from_waker(&waker);
        loop {
            match &mut self.exchange {
                StreamExchange::None => return ResponseProgress::NeedMore,
                StreamExchange::Failed => {
                    self.cancel();
                    return ResponseProgress::Failed(FailureCause::WrongAnswer);
                }
                StreamExchange::Head(answer) => match Pin::new(answer).poll(&mut context) {
                    Poll::Pending => return ResponseProgress::NeedMore,
                    Poll::Ready(Err(error)) => return self.classify_error(&error),
                    Poll::Ready(Ok(answer)) => {
                        self.began = true;
                        self.status = answer.status().as_u16();
                        self.exchange = StreamExchange::Body(answer.into_body());
                    }
                },
                StreamExchange::Body(body) => match body.poll_data(&mut context) {
                    Poll::Pending => return ResponseProgress::NeedMore,
                    Poll::Ready(Some(Ok(bytes))) => {
                        // Ignored: it fails only when more is released than was received.
                        let _ = body.flow_control().release_capacity(bytes.len());
                        self.body_bytes += bytes.len() as u64;
                        if let Some(text) = &mut self.text {
                            text.feed(&bytes);
                        }
                    }
                    Poll::Ready(Some(Err(error))) => return self.classify_error(&error),
                    Poll::Ready(None) => {
                        self.cancel();
                        return ResponseProgress::Complete { status: self.status, reusable: true };
                    }
                },
            }
        }
    }

    /// Passes as much of the body as flow control allows to the library; returns whether that was anything.
    pub fn send_body(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.waker));
        let mut context = Context::from_waker(&waker);
        let mut any = false;
        while let Some(UnsentBody { stream, rest }) = &mut self.sending {
            match stream.poll_capacity(&mut context) {
                Poll::Pending => return any,
                Poll::Ready(Some(Ok(0))) => {}
                Poll::Ready(Some(Ok(room))) => {
                    let piece = rest.split_to(room.min(rest.len()));
                    let is_last = rest.is_empty();
                    any = true;
                    // It fails only on a finished stream, whose response shows the reason.
                    if stream.send_data(piece, is_last).is_err() || is_last {
                        self.sending = None;
                    }
                }
                Poll::Ready(Some(Err(_)) | None) => self.sending = None,
            }
        }
        any
    }

    fn classify_error(&mut self, error: &h2::Error) -> ResponseProgress {
        self.cancel();
        match error.is_remote() {
            true if error.is_reset() => ResponseProgress::Failed(FailureCause::StreamReset),
            true if error.reason() == Some(Reason::NO_ERROR) && !self.began => {
                ResponseProgress::Unprocessed
            }
            _ => ResponseProgress::Failed(FailureCause::BadAnswer),
        }
    }
}
