//! An HTTP/2 server without TLS, based on the `h2` library, on a separate thread: a backend for the balancer.
//!
//! Every response repeats the request's `host` field as `x-host`. `/` responds with the server's name. `/echo` returns
//! the request's body and trailers. `/grpc.health.v1.Health/Check` says SERVING. `/refuse` refuses the first `refusals` streams. `/goaway` responds and then closes
//! the connection in order. `/leave` drops the connection in the middle of a response. `CONNECT` with `:protocol` opens
//! a tunnel that echoes.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread::JoinHandle;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub struct H2OriginCounts {
    pub connections: AtomicU64,
    pub requests: AtomicU64,
    /// Streams that the server refused.
    pub refused: AtomicU64,
}

/// The fault that the server simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum H2Fault {
    None,
    /// Every answer is 500.
    StreamError,
    /// Streams are accepted and never answered.
    Hang,
    /// Streams are reset with INTERNAL_ERROR.
    Reset,
}

#[derive(Debug)]
pub struct H2Origin {
    fault: Arc<AtomicU8>,
    address: SocketAddr,
    counts: Arc<H2OriginCounts>,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug)]
pub struct H2Behaviour {
    pub name: &'static str,
    /// Concurrent streams of a connection.
    pub streams: u32,
    /// How many requests to `/refuse` are refused first.
    pub refusals: u64,
}

impl H2Origin {
    /// Starts on a port of the loopback.
    pub fn start(manner: H2Behaviour) -> H2Origin {
        H2Origin::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), manner)
    }

    pub fn start_at(address: SocketAddr, manner: H2Behaviour) -> H2Origin {
        let listener = std::net::TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(H2OriginCounts::default());
        let stop = Arc::new(Notify::new());
        let seen_ = seen.clone();
        let stop_ = stop.clone();
        let fault = Arc::new(AtomicU8::new(H2Fault::None as u8));
        let fault_ = fault.clone();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                loop {
                    tokio::select! {
                        () = stop_.notified() => return,
                        accepted = listener.accept() => {
                            let Ok((stream, _)) = accepted else { continue };
                            seen_.connections.fetch_add(1, Ordering::Relaxed);
                            tokio::spawn(serve(stream, (manner, fault_.clone()), seen_.clone()));
                        }
                    }
                }
            });
        });
        H2Origin { fault, address, counts: seen, stop, thread: Some(thread) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the fault from now on.
    pub fn fault(&self, fault: H2Fault) {
        self.fault.store(fault as u8, Ordering::Relaxed);
    }

    pub fn counts(&self) -> &H2OriginCounts {
        &self.counts
    }
}

impl Drop for H2Origin {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(
    stream: TcpStream,
    (manner, fault): (H2Behaviour, Arc<AtomicU8>),
    seen: Arc<H2OriginCounts>,
) {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(manner.streams).enable_connect_protocol();
    let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        seen.requests.fetch_add(1, Ordering::Relaxed);
        let fault = fault.load(Ordering::Relaxed);
        if fault != H2Fault::None as u8 {
            tokio::spawn(fail(request, respond, fault));
            continue;
        }
        match request.uri().path() {
            "/goaway" => {
                tokio::spawn(answer(request, respond, manner, seen.clone()));
                connection.graceful_shutdown();
            }
            "/leave" => {
                tokio::spawn(answer(request, respond, manner, seen.clone()));
                let _ = connection.accept().await;
                return;
            }
            _ => {
                tokio::spawn(answer(request, respond, manner, seen.clone()));
            }
        }
    }
}

/// Handles a stream of a server with a fault. A server that hangs holds the stream until its peer resets it.
async fn fail(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, fault: u8) {
    if fault == H2Fault::StreamError as u8 {
        let _ = respond.send_response(Response::builder().status(500).body(()).unwrap(), true);
    } else if fault == H2Fault::Reset as u8 {
        respond.send_reset(Reason::INTERNAL_ERROR);
    } else {
        let _ = poll_fn(|cx| respond.poll_reset(cx)).await;
    }
    drop(request);
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    manner: H2Behaviour,
    seen: Arc<H2OriginCounts>,
) {
    let (parts, body) = request.into_parts();
    let head = |status: u16| {
        let builder = Response::builder().status(status).header("x-origin", manner.name);
        let field =
            |name: &str| parts.headers.get(name).cloned().unwrap_or(HeaderValue::from_static("-"));
        builder.header("x-te", field("te")).header("x-host", field("host"))
    };
    if parts.extensions.get::<h2::ext::Protocol>().is_some() || parts.uri.path() == "/echo" {
        let Ok(send) = respond.send_response(head(200).body(()).unwrap(), false) else { return };
        // Ignored: the peer may disconnect at any time.
        let _ = echo(body, send).await;
        return;
    }
    if parts.uri.path() == "/refuse" && seen.refused.load(Ordering::Relaxed) < manner.refusals {
        seen.refused.fetch_add(1, Ordering::Relaxed);
        respond.send_reset(Reason::REFUSED_STREAM);
        return;
    }
    if parts.uri.path() == "/grpc-fails" {
        let answer =
            head(200).header("content-type", "application/grpc").header("grpc-status", "14");
        let _ = respond.send_response(answer.body(()).unwrap(), true);
        return;
    }
    if parts.uri.path() == "/grpc.health.v1.Health/Check" {
        // As servers of one message do: curl takes an answer before the end of what it sends for an error.
        let mut body = body;
        while let Some(Ok(piece)) = body.data().await {
            let _ = body.flow_control().release_capacity(piece.len());
        }
        let answer = head(200).header("content-type", "application/grpc").body(()).unwrap();
        let Ok(mut send) = respond.send_response(answer, false) else { return };
        // One message, not compressed, of two bytes: the field `status` is 1.
        if send.send_data(Bytes::from_static(&[0, 0, 0, 0, 2, 8, 1]), false).is_ok() {
            let trailers = [("grpc-status", "0")].map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            });
            let _ = send.send_trailers(HeaderMap::from_iter(trailers));
        }
        return;
    }
    if let Ok(mut send) = respond.send_response(head(200).body(()).unwrap(), false) {
        let _ = send.send_data(Bytes::from_static(manner.name.as_bytes()), true);
    }
}

/// Echoes every chunk of the body, and then the trailers.
async fn echo(mut body: RecvStream, mut send: SendStream<Bytes>) -> Result<(), h2::Error> {
    while let Some(piece) = body.data().await {
        let mut piece = piece?;
        let _ = body.flow_control().release_capacity(piece.len());
        while !piece.is_empty() {
            send.reserve_capacity(piece.len());
            let Some(room) = poll_fn(|cx| send.poll_capacity(cx)).await else { return Ok(()) };
            send.send_data(piece.split_to(room?.min(piece.len())), false)?;
        }
    }
    let mut trailers = body.trailers().await?.unwrap_or_else(HeaderMap::new);
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    send.send_trailers(trailers)
}
