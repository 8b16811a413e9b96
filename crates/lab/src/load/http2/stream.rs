//! One stream of a connection of HTTP/2 of the load generator: a request, and its answer.
//!
//! It is polled where the library has called, and never sooner. It knows nothing of the connection's bytes.

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
use crate::load::response::ResponseProgress;
use crate::load::text_search::TextSearch;

/// A place for one request at a time.
#[derive(Debug, Default)]
pub struct Http2ClientStream {
    /// What is asked once there is a connection that takes it.
    waiting: Option<(Request<()>, Bytes)>,
    /// What of the body is not in the library's hands yet.
    sending: Option<(SendStream<Bytes>, Bytes)>,
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

/// Whether the library has news for the stream.
#[derive(Debug, Default)]
struct StreamWaker(AtomicBool);

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Http2ClientStream {
    /// The next request; it waits for `begin`.
    pub fn queue_request(&mut self, which: usize, request: Request<()>, shot: &RequestTemplate) {
        self.request_kind = which;
        self.status = 0;
        self.body_bytes = 0;
        self.began = false;
        self.text = shot.expect.text.as_ref().map(TextSearch::new);
        self.waiting = Some((request, Bytes::copy_from_slice(&shot.body)));
    }

    /// Hands over what waits. What this leads to is told with the next bytes.
    pub fn send_queued(&mut self, send: &mut SendRequest<Bytes>) {
        let Some((request, body)) = self.waiting.take() else { return };
        self.waker.0.store(true, Ordering::Relaxed);
        match send.send_request(request, body.is_empty()) {
            Ok((answer, mut stream)) => {
                self.exchange = StreamExchange::Head(answer);
                if !body.is_empty() {
                    stream.reserve_capacity(body.len());
                    self.sending = Some((stream, body));
                }
            }
            Err(_) => self.exchange = StreamExchange::Failed,
        }
    }

    /// Whether the library has called since this was asked last.
    pub fn is_woken(&self) -> bool {
        self.is_in_flight() && self.waker.0.swap(false, Ordering::Relaxed)
    }

    /// Whether its request is on the connection.
    pub fn is_in_flight(&self) -> bool {
        !matches!(self.exchange, StreamExchange::None)
    }

    /// Whether the library has the whole request.
    pub fn is_fully_sent(&self) -> bool {
        self.waiting.is_none() && self.sending.is_none()
    }

    /// Whether the answer's head has come.
    pub fn has_begun(&self) -> bool {
        self.began
    }

    /// Which of the mix was asked last.
    pub fn request_kind(&self) -> usize {
        self.request_kind
    }

    /// Bytes of the answer's body, and whether it held the text that was expected.
    pub fn body(&self) -> (u64, bool) {
        (self.body_bytes, self.text.as_ref().is_none_or(TextSearch::is_found))
    }

    /// Ends what is under way; what waits goes on waiting. On a living connection the peer is told (CANCEL).
    pub fn cancel(&mut self) {
        self.exchange = StreamExchange::None;
        self.sending = None;
    }

    /// Ends what is under way or waits.
    pub fn reset(&mut self) {
        self.cancel();
        self.waiting = None;
    }

    /// Takes what has come and hands over what there is room for.
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
                        // Ignored: refused only when more is released than was received.
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

    /// Hands over as much of the body as there is room for; whether that was anything.
    pub fn send_body(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.waker));
        let mut context = Context::from_waker(&waker);
        let mut any = false;
        while let Some((stream, rest)) = &mut self.sending {
            match stream.poll_capacity(&mut context) {
                Poll::Pending => return any,
                Poll::Ready(Some(Ok(0))) => {}
                Poll::Ready(Some(Ok(room))) => {
                    let piece = rest.split_to(room.min(rest.len()));
                    let is_last = rest.is_empty();
                    any = true;
                    // Refused only on a finished stream, whose response shows the reason.
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
