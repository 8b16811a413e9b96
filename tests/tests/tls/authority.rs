//! The certificates of these tests, and clients that trust their authority.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned,
    SupportedProtocolVersion,
};

use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::tools::{curl_text, program};
use tests::e2e::wait::DEADLINE;

/// A certificate authority and a directory for its certificates.
pub struct TlsAuthority {
    pub authority: CertificateAuthority,
    pub ca: PathBuf,
    pub dir: TestDir,
}

impl TlsAuthority {
    pub fn new() -> TlsAuthority {
        let authority = CertificateAuthority::new("test authority");
        let dir = TestDir::new();
        let ca = authority.write(dir.join("ca.pem"));
        TlsAuthority { authority, ca, dir }
    }

    /// A file with a certificate for these names.
    pub fn pair(&self, file: &str, names: &[&str]) -> PathBuf {
        self.authority.pair(self.dir.join(file), &certificate_for(names))
    }

    /// The output of curl for this frontend with the host `name` and further arguments.
    pub fn curl(&self, front: SocketAddr, name: &str, more: &[&str]) -> String {
        let mut arguments = self.arguments(front, name);
        arguments.extend(more.iter().map(|word| (*word).to_owned()));
        arguments.push(format!("https://{name}:{}/", front.port()));
        curl_text(&arguments)
    }

    /// As `curl`, where the request may fail.
    pub fn try_curl(&self, front: SocketAddr, name: &str, more: &[&str]) -> Output {
        let mut command = Command::new(program("curl"));
        command.args(["-sS", "--max-time", "20"]).args(self.arguments(front, name)).args(more);
        command.arg(format!("https://{name}:{}/", front.port())).output().unwrap()
    }

    /// A TLS connection that trusts the authority.
    pub fn client(
        &self,
        front: SocketAddr,
        name: &str,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.ca).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
        let name = name.to_owned().try_into().unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(front).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        StreamOwned::new(connection, stream)
    }

    /// A client with this certificate and a session cache.
    pub fn returning(
        &self,
        pair: &Path,
        version: &'static SupportedProtocolVersion,
    ) -> ResumingClient {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.ca).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]);
        let chain = vec![CertificateDer::from_pem_file(pair).unwrap()];
        let key = PrivateKeyDer::from_pem_file(pair).unwrap();
        let config = config.unwrap().with_root_certificates(roots);
        ResumingClient(Arc::new(config.with_client_auth_cert(chain, key).unwrap()))
    }

    fn arguments(&self, front: SocketAddr, name: &str) -> Vec<String> {
        let to = format!("{name}:{}:{}", front.port(), front.ip());
        vec!["--cacert".into(), self.ca.display().to_string(), "--resolve".into(), to]
    }
}

/// A client with a session cache.
pub struct ResumingClient(Arc<ClientConfig>);

impl ResumingClient {
    pub fn open(&self, front: SocketAddr, name: &str) -> StreamOwned<ClientConnection, TcpStream> {
        let name = name.to_owned().try_into().unwrap();
        let connection = ClientConnection::new(self.0.clone(), name).unwrap();
        let stream = TcpStream::connect(front).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        StreamOwned::new(connection, stream)
    }

    /// Sends one request on a new connection. Returns whether the session was resumed, and the response. `None` if the
    /// handshake or the request was rejected.
    pub fn ask(&self, front: SocketAddr, name: &str) -> Option<(bool, String)> {
        let mut stream = self.open(front, name);
        let ask = b"GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n";
        stream.write_all(ask).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let resumed = stream.conn.handshake_kind() == Some(HandshakeKind::Resumed);
        (!answer.is_empty()).then(|| (resumed, String::from_utf8(answer).unwrap()))
    }
}

/// The output of `openssl s_client` to this frontend, without input.
pub fn s_client(front: SocketAddr, more: &[&str]) -> String {
    let mut command = Command::new(program("openssl"));
    command.args(["s_client", "-connect", &front.to_string()]).args(more);
    let output = command.stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The same with this file as input.
pub fn s_client_with(front: SocketAddr, more: &[&str], input: &Path) -> String {
    let mut command = Command::new(program("openssl"));
    command.args(["s_client", "-connect", &front.to_string()]).args(more);
    let output = command.stdin(std::fs::File::open(input).unwrap()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
