//! Servers in the clear, over TLS and over HTTP/2, which read a request's body, think and answer as fast or as slowly as a
//! test needs.
//!
//! A target `/BYTES/THINK/EACH` asks for BYTES bytes after THINK milliseconds, with EACH milliseconds between pieces of 16
//! KiB.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::wait::linger;
use tokio::runtime::Builder;

use super::setup::PIECE;

/// The protocol between the balancer and its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpstreamTransport {
    #[default]
    Clear,
    Tls,
    Http2,
}

/// A protocol with its certificates.
pub struct UpstreamRoute {
    kind: UpstreamTransport,
    ca: PathBuf,
    pair: PathBuf,
    _dir: TestDir,
}

/// How a server takes requests.
#[derive(Clone, Copy, Debug)]
pub struct ReadingPace {
    /// The pause after each piece of the body.
    pub pause: Duration,
    /// The windows of HTTP/2 of a stream and of the connection, in bytes.
    pub stream_window: u32,
    pub connection_window: u32,
    /// The pause before the handshake of TLS.
    pub handshake_pause: Duration,
}

/// What a target asks for.
#[derive(Clone, Copy, Debug)]
struct AskedResponse {
    bytes: usize,
    think: Duration,
    each: Duration,
}

impl AskedResponse {
    fn parse(target: &str) -> AskedResponse {
        let mut parts = target.split('/').skip(1).map(|part| part.parse::<u64>().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        AskedResponse {
            bytes: next() as usize,
            think: Duration::from_millis(next()),
            each: Duration::from_millis(next()),
        }
    }
}

/// The bytes between two pauses of a response.
const ANSWER_PIECE: usize = 16 * 1024;

impl Default for ReadingPace {
    fn default() -> ReadingPace {
        let wide = 16 << 20;
        let none = Duration::ZERO;
        ReadingPace {
            pause: none,
            stream_window: wide,
            connection_window: wide,
            handshake_pause: none,
        }
    }
}

impl UpstreamRoute {
    pub fn new(kind: UpstreamTransport) -> UpstreamRoute {
        let authority = CertificateAuthority::new("test authority");
        let dir = TestDir::new();
        let ca = authority.write(dir.join("ca.pem"));
        let pair = authority.pair(dir.join("pair.pem"), &certificate_for(&["web.example"]));
        UpstreamRoute { kind, ca, pair, _dir: dir }
    }

    /// The name in printed figures.
    pub fn name(&self) -> &'static str {
        match self.kind {
            UpstreamTransport::Clear => "",
            UpstreamTransport::Tls => "to a server over TLS",
            UpstreamTransport::Http2 => "to a server over HTTP/2",
        }
    }

    /// The pool's lines for this protocol.
    pub fn pool(&self) -> String {
        match self.kind {
            UpstreamTransport::Clear => String::new(),
            UpstreamTransport::Tls => upstream_tls(&self.ca),
            UpstreamTransport::Http2 => "http2 = \"only\"\n".to_owned(),
        }
    }

    /// A server at this address that takes requests at this pace.
    pub fn start(
        &self,
        address: SocketAddr,
        pace: ReadingPace,
        prepare: impl Fn(&TcpStream) + Send + Sync + 'static,
    ) -> ScriptedServer {
        match self.kind {
            UpstreamTransport::Clear => ScriptedServer::start_at(address, move |stream| {
                prepare(&stream);
                take_requests(stream, pace);
            }),
            UpstreamTransport::Tls => tls_server(address, &self.pair, pace, prepare),
            UpstreamTransport::Http2 => ScriptedServer::start_at(address, move |stream| {
                prepare(&stream);
                take_streams(stream, pace);
            }),
        }
    }
}

/// The pool's lines for servers over TLS with a certificate of this authority.
pub fn upstream_tls(ca: &Path) -> String {
    format!("tls = {{ name = \"web.example\", ca = {ca:?} }}\n")
}

/// A server with this certificate.
pub fn tls_server(
    address: SocketAddr,
    pair: &Path,
    pace: ReadingPace,
    prepare: impl Fn(&TcpStream) + Send + Sync + 'static,
) -> ScriptedServer {
    let certificates = CertificateDer::pem_file_iter(pair).unwrap();
    let certificates = certificates.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(pair).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(certificates, key).unwrap());
    ScriptedServer::start_at(address, move |stream| {
        prepare(&stream);
        linger(pace.handshake_pause);
        let session = ServerConnection::new(config.clone()).unwrap();
        take_requests(StreamOwned::new(session, stream), pace);
    })
}

/// Takes requests of HTTP/1.1 until the connection ends. Errors are ignored, because the client's side reports them.
fn take_requests(mut stream: impl Read + Write, pace: ReadingPace) {
    let mut buffer = vec![0; PIECE];
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut buffer[..1]) {
                Ok(1) => head.push(buffer[0]),
                _ => return,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let field = |name: &str| {
            let mut lines = head.lines().map(str::to_ascii_lowercase);
            lines.find_map(|line| line.strip_prefix(name).map(|value| value.trim().to_owned()))
        };
        let mut left: usize = field("content-length:").map_or(0, |length| length.parse().unwrap());
        let mut since = 0;
        while left > 0 {
            let most = left.min(buffer.len());
            match stream.read(&mut buffer[..most]) {
                Ok(0) | Err(_) => return,
                Ok(n) => (left, since) = (left - n, since + n),
            }
            if since >= PIECE {
                since = 0;
                linger(pace.pause);
            }
        }
        let asked = AskedResponse::parse(head.split(' ').nth(1).unwrap_or("/"));
        let ends = field("connection:").is_some_and(|value| value == "close");
        if send_answer(&mut stream, asked).is_err() || ends {
            return;
        }
    }
}

fn send_answer(stream: &mut impl Write, asked: AskedResponse) -> std::io::Result<()> {
    linger(asked.think);
    let kind = "Content-Type: text/plain";
    let head = format!("HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {}\r\n\r\n", asked.bytes);
    // The head goes with the first piece: alone it would hold that up until it is acknowledged (Nagle).
    let mut next = head.into_bytes();
    let mut left = asked.bytes;
    loop {
        let n = left.min(ANSWER_PIECE);
        next.resize(next.len() + n, b'x');
        stream.write_all(&next)?;
        left -= n;
        if left == 0 {
            break;
        }
        next.clear();
        linger(asked.each);
    }
    stream.flush()
}

/// Takes streams of one connection of HTTP/2. A pause of reading is the whole connection's.
fn take_streams(stream: TcpStream, pace: ReadingPace) {
    stream.set_nonblocking(true).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let all = async {
        let stream = tokio::net::TcpStream::from_std(stream).unwrap();
        let mut builder = h2::server::Builder::new();
        builder.initial_window_size(pace.stream_window);
        builder.initial_connection_window_size(pace.connection_window);
        let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else { return };
        while let Some(Ok((request, respond))) = connection.accept().await {
            let asked = AskedResponse::parse(request.uri().path());
            tokio::spawn(take_stream(request.into_body(), respond, pace, asked));
        }
    };
    runtime.block_on(all);
}

async fn take_stream(
    mut body: h2::RecvStream,
    mut respond: h2::server::SendResponse<Bytes>,
    pace: ReadingPace,
    asked: AskedResponse,
) {
    let mut since = 0;
    while let Some(Ok(piece)) = body.data().await {
        since += piece.len();
        let _ = body.flow_control().release_capacity(piece.len());
        if since >= PIECE.min(pace.stream_window.min(pace.connection_window) as usize) {
            since = 0;
            linger(pace.pause);
        }
    }
    tokio::time::sleep(asked.think).await;
    let head = http::Response::builder().status(200).body(()).unwrap();
    let Ok(mut send) = respond.send_response(head, asked.bytes == 0) else { return };
    let mut left = asked.bytes;
    while left > 0 {
        let wanted = left.min(ANSWER_PIECE);
        left -= wanted;
        // The library keeps what the windows do not let through.
        if send.send_data(Bytes::from(vec![b'x'; wanted]), left == 0).is_err() {
            return;
        }
        if !asked.each.is_zero() {
            tokio::time::sleep(asked.each).await;
        }
    }
}
