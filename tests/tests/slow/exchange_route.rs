//! Clients over TLS and over HTTP/2, which read a whole response as fast or as slowly as a test needs.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::wait::{DEADLINE, linger};
use tokio::runtime::Builder;

use super::setup::{PIECE, whole};

/// The protocol of an exchange with the balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeTransport {
    Tls,
    Http2,
}

/// A protocol with its certificates.
pub struct ExchangeRoute {
    kind: ExchangeTransport,
    ca: PathBuf,
    pair: PathBuf,
    _dir: TestDir,
}

/// A window so large that only TCP's window can limit a stream, in bytes.
const WIDE: u32 = 16 << 20;
/// The window of most clients, in bytes.
const USUAL: u32 = 65_535;

impl ExchangeRoute {
    /// Creates new certificates.
    pub fn new(kind: ExchangeTransport) -> ExchangeRoute {
        let authority = CertificateAuthority::new("test authority");
        let dir = TestDir::new();
        let ca = authority.write(dir.join("ca.pem"));
        let pair = authority.pair(dir.join("pair.pem"), &certificate_for(&["shop.example"]));
        ExchangeRoute { kind, ca, pair, _dir: dir }
    }

    /// The name in printed figures.
    pub fn name(&self) -> &'static str {
        match self.kind {
            ExchangeTransport::Tls => "over TLS",
            ExchangeTransport::Http2 => "over HTTP/2",
        }
    }

    /// The service's lines for this protocol.
    pub fn service(&self) -> String {
        match self.kind {
            ExchangeTransport::Tls => format!("tls = {:?}\n", self.pair),
            ExchangeTransport::Http2 => "http2 = \"always\"\n".to_owned(),
        }
    }

    /// Reads a response as fast as possible, and returns its length.
    pub fn fetch(&self, front: SocketAddr, target: &str) -> usize {
        self.ask(TcpStream::connect(front).unwrap(), target, Duration::ZERO)
    }

    /// Reads a response on this connection with a pause after each piece, and returns its length.
    pub fn ask(&self, stream: TcpStream, target: &str, pause: Duration) -> usize {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        match self.kind {
            ExchangeTransport::Tls => whole(self.sealed(stream), target, pause),
            ExchangeTransport::Http2 => {
                let window = if pause.is_zero() { WIDE } else { USUAL };
                streamed(stream, target, pause, window)
            }
        }
    }

    fn sealed(&self, stream: TcpStream) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.ca).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
        let name = "shop.example".try_into().unwrap();
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
    }
}

/// One stream of an HTTP/2 connection with these window sizes.
fn streamed(stream: TcpStream, target: &str, pause: Duration, window: u32) -> usize {
    stream.set_nonblocking(true).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let request = http::Request::get(format!("http://shop.example{target}")).body(()).unwrap();
    let all = async {
        let stream = tokio::net::TcpStream::from_std(stream).unwrap();
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(window).initial_connection_window_size(window);
        let (send, connection) = builder.handshake::<_, Bytes>(stream).await.unwrap();
        let driver = tokio::spawn(connection);
        let mut send = send.ready().await.unwrap();
        let (answer, _) = send.send_request(request, true).unwrap();
        let mut body = answer.await.unwrap().into_body();
        let mut sum = 0;
        let mut since = 0;
        while let Some(piece) = body.data().await {
            let n = piece.unwrap().len();
            body.flow_control().release_capacity(n).unwrap();
            sum += n;
            since += n;
            if since >= PIECE {
                since = 0;
                // The whole client pauses, including the connection.
                linger(pause);
            }
        }
        driver.abort();
        sum
    };
    runtime.block_on(async { tokio::time::timeout(DEADLINE, all).await }).unwrap()
}
