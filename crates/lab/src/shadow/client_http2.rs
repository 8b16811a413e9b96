//! A request of a shadow run over HTTP/2, on a connection of its own.
//!
//! The HTTP/2 library reads and writes bytes in memory, and this module carries them, with the deadline of the stream.

use std::future::Future;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture};
use h2::{RecvStream, SendStream};
use http::{Method, Request, Uri};

use super::observation::{ExchangeEnd, SeenField, SpokenProtocol, StepObservation};
use super::request::{HttpRequest, MARK, RequestBody};
use crate::load::memory_pipe::MemoryPipe;

/// Fields that HTTP/2 does not have (RFC 9113 section 8.2.2).
pub const OF_HTTP1: [&str; 5] =
    ["connection", "upgrade", "keep-alive", "transfer-encoding", "proxy-connection"];
/// The most bytes of a body that are kept.
const BODY_MAX: usize = 16 * 1_024 * 1_024;
/// Flow-control window, bytes.
const WINDOW: u32 = 1 << 20;

/// Sends a request and reads its answer.
pub fn exchange<S: Read + Write>(
    stream: &mut S,
    scheme: &str,
    request: &HttpRequest,
    mark: u32,
    cookies: &[String],
) -> StepObservation {
    match run(stream, scheme, request, mark, cookies) {
        Ok(step) => StepObservation { protocol: SpokenProtocol::Http2, ..step },
        Err(error) => StepObservation {
            protocol: SpokenProtocol::Http2,
            ..StepObservation::ended(match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ExchangeEnd::TimedOut,
                _ => ExchangeEnd::Closed,
            })
        },
    }
}

fn run<S: Read + Write>(
    stream: &mut S,
    scheme: &str,
    request: &HttpRequest,
    mark: u32,
    cookies: &[String],
) -> io::Result<StepObservation> {
    let pipe = MemoryPipe::default();
    let mut builder = Builder::new();
    builder.enable_push(false).initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
    let mut handshake = Box::pin(builder.handshake::<_, Bytes>(pipe.clone()));
    // The handshake never waits in memory, so one poll completes it.
    let Poll::Ready(started) = handshake.as_mut().poll(&mut context()) else {
        return Err(io::ErrorKind::Other.into());
    };
    let (mut send, connection) = started.map_err(io::Error::other)?;
    let head = build_head(scheme, request, mark, cookies)?;
    let body = match request.body {
        RequestBody::None => Bytes::new(),
        RequestBody::Sized(bytes) | RequestBody::Chunked(bytes) => vec![b'0'; bytes].into(),
    };
    let sent = send.send_request(head, body.is_empty()).map_err(io::Error::other)?;
    let exchange = Http2Exchange { answer: sent.0, upload: sent.1, rest: body, received: None };
    let mut wire = Http2Wire { stream, pipe, connection };
    exchange.drive(&mut wire)
}

fn build_head(
    scheme: &str,
    request: &HttpRequest,
    mark: u32,
    cookies: &[String],
) -> io::Result<Request<()>> {
    let uri = Uri::builder()
        .scheme(scheme)
        .authority(request.host.as_str())
        .path_and_query(request.target.as_str());
    let uri = uri.build().map_err(io::Error::other)?;
    let method = Method::from_bytes(request.method.as_bytes()).map_err(io::Error::other)?;
    let mut head = Request::builder().method(method).uri(uri).header(MARK, mark);
    for SeenField { name, value } in &request.fields {
        if !OF_HTTP1.iter().any(|one| one.eq_ignore_ascii_case(name)) {
            head = head.header(name.as_str(), value.as_str());
        }
    }
    if !cookies.is_empty() {
        head = head.header("cookie", cookies.join("; "));
    }
    if let RequestBody::Sized(bytes) = request.body {
        head = head.header("content-length", bytes);
    }
    head.body(()).map_err(io::Error::other)
}

/// The connection's bytes.
struct Http2Wire<'s, S> {
    stream: &'s mut S,
    pipe: MemoryPipe,
    connection: Connection<MemoryPipe, Bytes>,
}

impl<S: Read + Write> Http2Wire<'_, S> {
    /// Lets the library work, and sends what it has written.
    fn advance(&mut self) -> io::Result<()> {
        let polled = Pin::new(&mut self.connection).poll(&mut context());
        self.stream.write_all(&self.pipe.take_output())?;
        self.stream.flush()?;
        match polled {
            Poll::Ready(Err(error)) => Err(io::Error::other(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut piece = [0; 16 * 1_024];
        let read = self.stream.read(&mut piece)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.pipe.receive(&piece[..read]);
        Ok(())
    }
}

/// A request and its answer on one stream.
struct Http2Exchange {
    answer: ResponseFuture,
    upload: SendStream<Bytes>,
    /// The rest of the request's body.
    rest: Bytes,
    received: Option<ReceivedAnswer>,
}

struct ReceivedAnswer {
    step: StepObservation,
    body: RecvStream,
}

impl Http2Exchange {
    fn drive<S: Read + Write>(
        mut self,
        wire: &mut Http2Wire<'_, S>,
    ) -> io::Result<StepObservation> {
        loop {
            self.upload();
            let advanced = wire.advance();
            if let Some(step) = self.read_answer()? {
                return Ok(step);
            }
            advanced?;
            // The library may have made room for more of the body.
            if self.upload() {
                continue;
            }
            if let Err(error) = wire.receive() {
                return match self.received {
                    Some(received) => Ok(StepObservation { cut: true, ..received.step }),
                    None => Err(error),
                };
            }
        }
    }

    /// Hands over more of the body; whether the library took any.
    fn upload(&mut self) -> bool {
        if self.rest.is_empty() {
            return false;
        }
        self.upload.reserve_capacity(self.rest.len());
        let room = self.upload.capacity().min(self.rest.len());
        if room == 0 {
            return false;
        }
        let piece = self.rest.split_to(room);
        let last = self.rest.is_empty();
        // An answer before the end of the body may have ended the stream.
        if self.upload.send_data(piece, last).is_err() {
            self.rest.clear();
        }
        true
    }

    /// The whole answer, or `None` before its end.
    fn read_answer(&mut self) -> io::Result<Option<StepObservation>> {
        if self.received.is_none() {
            let Poll::Ready(answer) = Pin::new(&mut self.answer).poll(&mut context()) else {
                return Ok(None);
            };
            let answer = answer.map_err(io::Error::other)?;
            let text =
                |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let fields = answer.headers().iter().map(|(name, value)| SeenField {
                name: name.as_str().to_owned(),
                value: text(value),
            });
            let step = StepObservation {
                end: ExchangeEnd::Answered,
                status: answer.status().as_u16(),
                fields: fields.collect(),
                ..StepObservation::default()
            };
            self.received = Some(ReceivedAnswer { step, body: answer.into_body() });
        }
        let Some(received) = &mut self.received else { return Ok(None) };
        loop {
            match received.body.poll_data(&mut context()) {
                Poll::Pending => return Ok(None),
                Poll::Ready(Some(Ok(piece))) => {
                    let room = BODY_MAX.saturating_sub(received.step.body.len());
                    received.step.body.extend_from_slice(&piece[..piece.len().min(room)]);
                    // Ignored: the stream has ended, and the next poll says so.
                    let _ = received.body.flow_control().release_capacity(piece.len());
                }
                Poll::Ready(Some(Err(_))) => {
                    received.step.cut = true;
                    return Ok(Some(std::mem::take(&mut received.step)));
                }
                Poll::Ready(None) => return Ok(Some(std::mem::take(&mut received.step))),
            }
        }
    }
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}
