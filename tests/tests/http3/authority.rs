//! The balancer's configuration for these tests, and a scripted client based on another library.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::target::tool;

/// The name of the service.
pub const NAME: &str = "shop.example";

/// A certificate authority, and the certificate of the service.
pub struct Http3Authority {
    signer: CertificateAuthority,
    authority: PathBuf,
    pub pair: PathBuf,
    pub dir: TestDir,
}

impl Http3Authority {
    pub fn new() -> Http3Authority {
        let authority = CertificateAuthority::new("test authority");
        let dir = TestDir::new();
        let pair = authority.pair(dir.join("shop.pem"), &certificate_for(&[NAME]));
        let file = authority.write(dir.join("ca.pem"));
        Http3Authority { signer: authority, authority: file, pair, dir }
    }

    /// A service with HTTP/3 and these further keys of `http3`.
    pub fn setup(&self, servers: &[SocketAddr], http3: &str) -> BalancerConfig {
        self.setup_with(servers, http3, "")
    }

    /// As `setup`, with further lines of the service.
    pub fn setup_with(&self, servers: &[SocketAddr], http3: &str, lines: &str) -> BalancerConfig {
        let tls = format!("tls = {:?}\nhttp3 = {{ offer = \"on\"{http3} }}\n", self.pair);
        BalancerConfig::http(servers).service(&format!("{tls}{lines}"))
    }

    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// The certificate of a client.
    pub fn identity(&self, name: &str) -> PathBuf {
        self.signer
            .pair(self.dir.join(&format!("{name}.pem")), &certificate_for(&[NAME]).client(name))
    }

    /// A connected client without a client certificate.
    pub fn client(&self, front: SocketAddr) -> Http3Client {
        self.connected(front, None)
    }

    /// A connected client with a client certificate.
    pub fn client_with(&self, front: SocketAddr, certificate: &Path) -> Http3Client {
        self.connected(front, Some(certificate))
    }

    fn connected(&self, front: SocketAddr, certificate: Option<&Path>) -> Http3Client {
        let mut client = self.begin(front, certificate);
        assert_eq!(client.read(), "connected");
        client
    }

    /// A client whose handshake may fail.
    pub fn begin(&self, front: SocketAddr, certificate: Option<&Path>) -> Http3Client {
        let mut command = Command::new(tool("quic/bin/python3"));
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http3/client.py"));
        command.arg(front.ip().to_string()).arg(front.port().to_string());
        command.arg(&self.authority).arg(NAME).args(certificate);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Http3Client { child, orders, answers }
    }
}

pub struct Http3Client {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Http3Client {
    /// Executes a command and returns its result.
    pub fn does(&mut self, order: Value) -> Value {
        self.send_order(&order);
        self.read()
    }

    /// Sends a GET request for a path.
    pub fn get(&mut self, path: &str) -> Value {
        self.does(json!({ "do": "ask", "path": path }))
    }

    /// Sends raw bytes on a new stream.
    pub fn raw(&mut self, way: &str, bytes: &[u8], end: bool) -> Value {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.does(json!({ "do": "raw", "way": way, "hex": hex, "end": end }))
    }

    /// The error code with which the connection ended.
    pub fn ended(&mut self) -> Value {
        self.does(json!({ "do": "ended" }))
    }

    /// Sends a command without waiting for its result.
    pub fn send_order(&mut self, order: &Value) {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
    }

    pub fn read(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("the client has said {line:?}"))
    }
}

impl Drop for Http3Client {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.child.wait();
    }
}
