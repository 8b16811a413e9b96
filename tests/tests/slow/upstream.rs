//! Servers in the clear, over TLS and over HTTP/2, which read a request's body as fast or as slowly as a test needs.

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
use tests::e2e::wait::{DEADLINE, linger};
use tokio::runtime::Builder;

use super::setup::PIECE;

/// The protocol between the balancer and its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamTransport {
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
    /// The bytes of the answer.
    pub answer: usize,
}

impl Default for ReadingPace {
    fn default() -> ReadingPace {
        let wide = 16 << 20;
        let pause = Duration::ZERO;
        ReadingPace { pause, stream_window: wide, connection_window: wide, answer: 2 }
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
            UpstreamTransport::Clear => "in the clear",
            UpstreamTransport::Tls => "over TLS to the server",
            UpstreamTransport::Http2 => "over HTTP/2 to the server",
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
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut left: usize = length.map_or(0, |length| length.trim().parse().unwrap());
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
        let bytes = pace.answer;
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n").into_bytes();
        if stream.write_all(&[answer, vec![b'x'; bytes]].concat()).is_err() {
            return;
        }
    }
}

/// Takes streams of one connection of HTTP/2, one after the other. A pause is the whole connection's.
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
            tokio::spawn(take_stream(request.into_body(), respond, pace));
        }
    };
    // A connection that outlives the test ends with it.
    let _ = runtime.block_on(async { tokio::time::timeout(DEADLINE, all).await });
}

async fn take_stream(
    mut body: h2::RecvStream,
    mut respond: h2::server::SendResponse<Bytes>,
    pace: ReadingPace,
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
    let head = http::Response::builder().status(200).body(()).unwrap();
    if let Ok(mut send) = respond.send_response(head, false) {
        let _ = send.send_data(Bytes::from(vec![b'x'; pace.answer]), true);
    }
}
