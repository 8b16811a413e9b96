//! Clients in the clear, over TLS, HTTP/2 and HTTP/3, which send a request and read its response as fast or as slowly as a
//! test needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::wait::{DEADLINE, linger};
use tokio::runtime::Builder;

use super::http3_client::PacedHttp3Client;
use super::setup::PIECE;

/// The protocol of an exchange with the balancer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExchangeTransport {
    #[default]
    Clear,
    Tls,
    Http2,
    Http3,
}

/// A protocol with its certificates.
pub struct ExchangeRoute {
    kind: ExchangeTransport,
    ca: PathBuf,
    pair: PathBuf,
    /// Clients without a request, started in the namespace of their first one.
    http3: Mutex<Vec<PacedHttp3Client>>,
    _dir: TestDir,
}

/// A request and the pace of its client.
#[derive(Clone, Copy, Debug)]
pub struct PacedRequest<'a> {
    pub target: &'a str,
    /// Further lines of the head, of HTTP/1.1 alone.
    pub fields: &'a str,
    /// The bytes of the request's body; 0: none.
    pub upload: usize,
    /// The client pauses before each piece of this size, in bytes.
    pub send_piece: usize,
    pub send_pause: Duration,
    /// The pause before the request, on an open connection.
    pub head_pause: Duration,
    /// The pause after each 64 KiB of the response.
    pub read_pause: Duration,
    /// The receive buffer of a slow reader, in bytes; 0: the kernel's.
    pub receive_buffer: usize,
}

impl Default for PacedRequest<'_> {
    fn default() -> Self {
        let none = Duration::ZERO;
        PacedRequest {
            target: "/",
            fields: "",
            upload: 0,
            send_piece: PIECE,
            send_pause: none,
            head_pause: none,
            read_pause: none,
            receive_buffer: 0,
        }
    }
}

/// A window so large that only TCP's window can limit a stream, in bytes.
const WIDE: u32 = 16 << 20;
/// The window of most clients, in bytes.
const USUAL: u32 = 65_535;
const NAME: &str = "shop.example";

impl ExchangeRoute {
    /// Creates new certificates.
    pub fn new(kind: ExchangeTransport) -> ExchangeRoute {
        let authority = CertificateAuthority::new("test authority");
        let dir = TestDir::new();
        let ca = authority.write(dir.join("ca.pem"));
        let pair = authority.pair(dir.join("pair.pem"), &certificate_for(&[NAME]));
        ExchangeRoute { kind, ca, pair, http3: Mutex::default(), _dir: dir }
    }

    /// The name in printed figures.
    pub fn name(&self) -> &'static str {
        match self.kind {
            ExchangeTransport::Clear => "",
            ExchangeTransport::Tls => "over TLS",
            ExchangeTransport::Http2 => "over HTTP/2",
            ExchangeTransport::Http3 => "over HTTP/3",
        }
    }

    /// The service's lines for this protocol, with further keys of `http3`.
    pub fn service(&self, http3: &str) -> String {
        let tls = format!("tls = {:?}\n", self.pair);
        match self.kind {
            ExchangeTransport::Clear => String::new(),
            ExchangeTransport::Tls => tls,
            ExchangeTransport::Http2 => "http2 = \"always\"\n".to_owned(),
            ExchangeTransport::Http3 => {
                format!("{tls}http3 = {{ offer = \"on\"{http3} }}\n")
            }
        }
    }

    /// Sends the request on a new connection and reads its response; returns how long that was.
    pub fn ask(&self, front: SocketAddr, request: &PacedRequest<'_>) -> usize {
        if self.kind == ExchangeTransport::Http3 {
            let idle = self.http3.lock().unwrap().pop();
            let mut client = idle.unwrap_or_else(|| PacedHttp3Client::start(&self.ca, NAME));
            let came = client.ask(front, request);
            self.http3.lock().unwrap().push(client);
            return came;
        }
        let stream = TcpStream::connect(front).unwrap();
        stream.set_nodelay(true).unwrap();
        if request.receive_buffer > 0 {
            set_socket_recv_buffer_size(&stream, request.receive_buffer).unwrap();
        }
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        match self.kind {
            ExchangeTransport::Http2 => ask_stream(stream, request),
            ExchangeTransport::Tls => ask_whole(self.sealed(stream), request),
            _ => ask_whole(stream, request),
        }
    }

    fn sealed(&self, stream: TcpStream) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.ca).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
        let name = NAME.try_into().unwrap();
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
    }
}

/// A request of HTTP/1.1, alone on its connection.
pub fn ask_whole(mut stream: impl Read + Write, request: &PacedRequest<'_>) -> usize {
    let PacedRequest { target, upload, send_piece, fields, .. } = *request;
    let method = if upload > 0 { "POST" } else { "GET" };
    let length = if upload > 0 { format!("Content-Length: {upload}\r\n") } else { String::new() };
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n{length}{fields}\r\n"
    );
    let half = head.len() / 2;
    stream.write_all(&head.as_bytes()[..half]).unwrap();
    stream.flush().unwrap();
    linger(request.head_pause);
    stream.write_all(&head.as_bytes()[half..]).unwrap();
    let mut left = upload;
    while left > 0 {
        linger(request.send_pause);
        let piece = left.min(send_piece);
        stream.write_all(&vec![b'u'; piece]).unwrap();
        left -= piece;
    }
    let mut buffer = vec![0; PIECE];
    let mut sum = 0;
    let mut since = 0;
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => return sum,
            n => (sum, since) = (sum + n, since + n),
        }
        if since >= buffer.len() {
            since = 0;
            linger(request.read_pause);
        }
    }
}

/// One stream of an HTTP/2 connection.
fn ask_stream(stream: TcpStream, request: &PacedRequest<'_>) -> usize {
    stream.set_nonblocking(true).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let window = if request.read_pause.is_zero() { WIDE } else { USUAL };
    let all = async {
        let stream = tokio::net::TcpStream::from_std(stream).unwrap();
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(window).initial_connection_window_size(window);
        let (send, connection) = builder.handshake::<_, Bytes>(stream).await.unwrap();
        let driver = tokio::spawn(connection);
        let sum = ask_on(send, request).await;
        driver.abort();
        sum
    };
    runtime.block_on(async { tokio::time::timeout(DEADLINE, all).await }).unwrap()
}

async fn ask_on(send: h2::client::SendRequest<Bytes>, request: &PacedRequest<'_>) -> usize {
    let url = format!("http://{NAME}{}", request.target);
    let mut send = send.ready().await.unwrap();
    let builder = http::Request::builder().uri(url);
    let head = match request.upload {
        0 => builder.method("GET"),
        bytes => builder.method("POST").header("content-length", bytes),
    };
    let (answer, mut upload) =
        send.send_request(head.body(()).unwrap(), request.upload == 0).unwrap();
    let mut left = request.upload;
    while left > 0 {
        if !request.send_pause.is_zero() {
            tokio::time::sleep(request.send_pause).await;
        }
        let piece = left.min(request.send_piece);
        left -= piece;
        // The library keeps what the windows do not let through. A stream that is gone shows in its answer.
        if upload.send_data(Bytes::from(vec![b'u'; piece]), left == 0).is_err() {
            break;
        }
    }
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
            linger(request.read_pause);
        }
    }
    sum
}
