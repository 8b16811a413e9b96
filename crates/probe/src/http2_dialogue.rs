//! HTTP/2 over bytes in memory: crate h2 between two buffers, polled without a runtime.
//!
//! `http2` and `grpc` define the requests.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use ::http::{HeaderMap, Request};
use bytes::Bytes;
use h2::client::SendRequest;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::dialogue::{DialogueStep, ProbeDialogue, ProbeResult};

/// The limit of outgoing bytes that wait to be sent.
const WAITING_BYTES: usize = 64 * 1_024;
/// The window of the stream and of the connection: bytes that a server may send before the dialogue has read them.
/// The initial window of RFC 9113 §6.9.2.
const WINDOW_BYTES: u32 = 64 * 1_024 - 1;
/// Bytes of a response's header fields at most.
/// As for HTTP/1.
const FIELDS_BYTES: u32 = 16 * 1_024;
/// Bytes that h2 gets at a time: it processes them before it gets more.
/// The default size of a frame (RFC 9113 §4.2).
const FEED_BYTES: usize = 16 * 1_024;
/// Polls after each input: each one lets one more layer make progress.
const POLLS: usize = 4;

type DialogueFuture = Pin<Box<dyn Future<Output = ProbeResult> + Send>>;

pub struct Http2Dialogue {
    pipe: Arc<Mutex<BytePipe>>,
    dialogue: DialogueFuture,
    /// The response has begun.
    response_started: bool,
}

#[derive(Debug, Default)]
struct BytePipe {
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    closed: bool,
}

/// h2's end of the pipe.
struct Http2PipeEnd(Arc<Mutex<BytePipe>>);

impl Http2Dialogue {
    /// A dialogue over its own connection.
    pub fn new<F>(talk: impl FnOnce(SendRequest<Bytes>) -> F + Send + 'static) -> Http2Dialogue
    where
        F: Future<Output = ProbeResult> + Send + 'static,
    {
        let pipe = Arc::<Mutex<BytePipe>>::default();
        let end = Http2PipeEnd(Arc::clone(&pipe));
        Http2Dialogue {
            pipe,
            dialogue: Box::pin(drive_connection(end, talk)),
            response_started: false,
        }
    }

    fn poll_dialogue(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..POLLS {
            let polled = self.dialogue.as_mut().poll(&mut context);
            out.append(&mut lock(&self.pipe).outgoing);
            if let Poll::Ready(verdict) = polled {
                return DialogueStep::Done(verdict);
            }
        }
        DialogueStep::Wait
    }
}

/// Polls the connection and the dialogue over it together.
async fn drive_connection<F>(
    end: Http2PipeEnd,
    talk: impl FnOnce(SendRequest<Bytes>) -> F + Send + 'static,
) -> ProbeResult
where
    F: Future<Output = ProbeResult> + Send + 'static,
{
    let mut builder = h2::client::Builder::new();
    builder
        .enable_push(false)
        .max_header_list_size(FIELDS_BYTES)
        .initial_window_size(WINDOW_BYTES)
        .max_concurrent_reset_streams(8);
    let (send, connection) = match builder.handshake::<_, Bytes>(end).await {
        Ok(both) => both,
        Err(error) => return Err(describe_error(&error)),
    };
    let mut connection = pin!(connection);
    let mut talk = pin!(talk(send));
    poll_fn(|context| {
        let over = connection.as_mut().poll(context);
        if let Poll::Ready(verdict) = talk.as_mut().poll(context) {
            return Poll::Ready(verdict);
        }
        match over {
            Poll::Ready(Err(error)) => Poll::Ready(Err(describe_error(&error))),
            Poll::Ready(Ok(())) => Poll::Ready(Err("closed without an answer".to_owned())),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// The head of a response, and the stream of its body.
#[derive(Debug)]
pub struct Http2ProbeResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: h2::RecvStream,
}

/// Sends a request and waits for the head of its response.
pub async fn send_request(
    send: SendRequest<Bytes>,
    request: Request<()>,
    body: Option<Bytes>,
) -> Result<Http2ProbeResponse, String> {
    let mut send = send.ready().await.map_err(|error| describe_error(&error))?;
    let (answer, mut stream) =
        send.send_request(request, body.is_none()).map_err(|error| describe_error(&error))?;
    if let Some(body) = body {
        stream.send_data(body, true).map_err(|error| describe_error(&error))?;
    }
    let (head, body) = answer.await.map_err(|error| describe_error(&error))?.into_parts();
    Ok(Http2ProbeResponse { status: head.status.as_u16(), headers: head.headers, body })
}

/// h2's error as text.
pub fn describe_error(error: &h2::Error) -> String {
    match (error.is_io(), error.reason()) {
        (true, _) => "closed without an answer".to_owned(),
        (_, Some(h2::Reason::FRAME_SIZE_ERROR)) => "the answer is not HTTP/2".to_owned(),
        (_, Some(reason)) => format!("http2: {}", reason.description()),
        _ => format!("http2: {error}"),
    }
}

impl ProbeDialogue for Http2Dialogue {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        self.poll_dialogue(out)
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        if !self.response_started && bytes.starts_with(b"HTTP/") {
            return DialogueStep::failure("the answer is not HTTP/2 but an older version");
        }
        self.response_started = true;
        for part in bytes.chunks(FEED_BYTES) {
            lock(&self.pipe).incoming.extend_from_slice(part);
            if let DialogueStep::Done(verdict) = self.poll_dialogue(out) {
                return DialogueStep::Done(verdict);
            }
        }
        // A live h2 connection consumes all its input: bytes that remain now will never be read.
        if lock(&self.pipe).incoming.len() > FEED_BYTES {
            return DialogueStep::failure("http2: the server sends more than it may");
        }
        DialogueStep::Wait
    }

    fn handle_close(&mut self) -> ProbeResult {
        lock(&self.pipe).closed = true;
        match self.poll_dialogue(&mut Vec::new()) {
            DialogueStep::Done(verdict) => verdict,
            DialogueStep::Wait => Err("closed before the end of the answer".to_owned()),
        }
    }

    fn awaited(&self) -> &'static str {
        "answer"
    }
}

impl AsyncRead for Http2PipeEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut pipe = lock(&self.0);
        let most = pipe.incoming.len().min(into.remaining());
        if most == 0 {
            return if pipe.closed { Poll::Ready(Ok(())) } else { Poll::Pending };
        }
        into.put_slice(&pipe.incoming[..most]);
        pipe.incoming.drain(..most);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Http2PipeEnd {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = lock(&self.0);
        let most = from.len().min(WAITING_BYTES.saturating_sub(pipe.outgoing.len()));
        if most == 0 {
            return Poll::Pending;
        }
        pipe.outgoing.extend_from_slice(&from[..most]);
        Poll::Ready(Ok(most))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn lock(pipe: &Mutex<BytePipe>) -> MutexGuard<'_, BytePipe> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}
