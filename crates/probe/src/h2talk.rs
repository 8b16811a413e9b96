//! HTTP/2 over bytes in memory: crate h2 between two buffers, polled without a runtime.
//!
//! What is asked over it is `http2`'s and `grpc`'s matter.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use ::http::{HeaderMap, Request};
use bytes::Bytes;
use h2::client::SendRequest;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::dialogue::{Dialogue, Step, Verdict};

/// Bytes of ours that may wait to be sent.
const WAITING_BYTES: usize = 64 * 1_024;
/// Bytes that a server may send before we take them: the window of the stream and of the connection.
const WINDOW_BYTES: u32 = 64 * 1_024 - 1;
/// Bytes of an answer's fields.
const FIELDS_BYTES: u32 = 16 * 1_024;
/// Bytes that h2 is fed between two looks: it works through them before more come.
const FEED_BYTES: usize = 16 * 1_024;
/// Polls until everything that can happen has: each settles one more layer.
const POLLS: usize = 4;

type Talk = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// A dialogue under way.
pub struct H2Talk {
    pipe: Arc<Mutex<Pipe>>,
    talk: Talk,
    /// The answer has begun.
    begun: bool,
}

/// Bytes on their way.
#[derive(Debug, Default)]
struct Pipe {
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    closed: bool,
}

/// h2's end of the pipe.
struct End(Arc<Mutex<Pipe>>);

impl H2Talk {
    /// A dialogue over a connection of its own.
    pub fn new<F>(talk: impl FnOnce(SendRequest<Bytes>) -> F + Send + 'static) -> H2Talk
    where
        F: Future<Output = Verdict> + Send + 'static,
    {
        let pipe = Arc::<Mutex<Pipe>>::default();
        let end = End(Arc::clone(&pipe));
        H2Talk { pipe, talk: Box::pin(connection(end, talk)), begun: false }
    }

    fn turn(&mut self, out: &mut Vec<u8>) -> Step {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..POLLS {
            let polled = self.talk.as_mut().poll(&mut context);
            out.append(&mut lock(&self.pipe).outgoing);
            if let Poll::Ready(verdict) = polled {
                return Step::Done(verdict);
            }
        }
        Step::Wait
    }
}

/// Drives the connection and the dialogue over it side by side.
async fn connection<F>(
    end: End,
    talk: impl FnOnce(SendRequest<Bytes>) -> F + Send + 'static,
) -> Verdict
where
    F: Future<Output = Verdict> + Send + 'static,
{
    let mut builder = h2::client::Builder::new();
    builder
        .enable_push(false)
        .max_header_list_size(FIELDS_BYTES)
        .initial_window_size(WINDOW_BYTES)
        .max_concurrent_reset_streams(8);
    let (send, connection) = match builder.handshake::<_, Bytes>(end).await {
        Ok(both) => both,
        Err(error) => return Err(fault(&error)),
    };
    let (mut connection, mut talk) = (pin!(connection), pin!(talk(send)));
    poll_fn(|context| {
        let over = connection.as_mut().poll(context);
        if let Poll::Ready(verdict) = talk.as_mut().poll(context) {
            return Poll::Ready(verdict);
        }
        match over {
            Poll::Ready(Err(error)) => Poll::Ready(Err(fault(&error))),
            Poll::Ready(Ok(())) => Poll::Ready(Err("closed without an answer".to_owned())),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Sends a request and returns its answer's status, fields and body's stream.
pub async fn ask(
    send: SendRequest<Bytes>,
    request: Request<()>,
    body: Option<Bytes>,
) -> Result<(u16, HeaderMap, h2::RecvStream), String> {
    let mut send = send.ready().await.map_err(|error| fault(&error))?;
    let (answer, mut stream) =
        send.send_request(request, body.is_none()).map_err(|error| fault(&error))?;
    if let Some(body) = body {
        stream.send_data(body, true).map_err(|error| fault(&error))?;
    }
    let (head, body) = answer.await.map_err(|error| fault(&error))?.into_parts();
    Ok((head.status.as_u16(), head.headers, body))
}

/// What h2 found wrong.
pub fn fault(error: &h2::Error) -> String {
    match (error.is_io(), error.reason()) {
        (true, _) => "closed without an answer".to_owned(),
        (_, Some(h2::Reason::FRAME_SIZE_ERROR)) => "the answer is not HTTP/2".to_owned(),
        (_, Some(reason)) => format!("http2: {}", reason.description()),
        _ => format!("http2: {error}"),
    }
}

impl Dialogue for H2Talk {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        self.turn(out)
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Step {
        if !self.begun && bytes.starts_with(b"HTTP/") {
            return Step::bad("the answer is not HTTP/2 but an older version");
        }
        self.begun = true;
        for part in bytes.chunks(FEED_BYTES) {
            lock(&self.pipe).incoming.extend_from_slice(part);
            if let Step::Done(verdict) = self.turn(out) {
                return Step::Done(verdict);
            }
        }
        // h2 takes what it is given as long as it lives: what is left now it will never take.
        if lock(&self.pipe).incoming.len() > FEED_BYTES {
            return Step::bad("http2: the server sends more than it may");
        }
        Step::Wait
    }

    fn end(&mut self) -> Verdict {
        lock(&self.pipe).closed = true;
        match self.turn(&mut Vec::new()) {
            Step::Done(verdict) => verdict,
            Step::Wait => Err("closed before the end of the answer".to_owned()),
        }
    }

    fn awaits(&self) -> &'static str {
        "answer"
    }
}

impl AsyncRead for End {
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

impl AsyncWrite for End {
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

fn lock(pipe: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}
