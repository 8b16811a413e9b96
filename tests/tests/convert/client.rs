//! Clients for each protocol of the examples, and the stand-in server that responds with its name.
//!
//! Every read has a deadline. This module asserts nothing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tests::e2e::client::HttpClient;
use tests::e2e::h2client::{self, H2Request};
use tests::e2e::http::{ExpectedBody, HttpReader, ReceivedMessage};
use tests::e2e::tools::curl_text;
use tests::e2e::wait::DEADLINE;

use super::examples::RequestProtocol;

#[derive(Clone, Copy, Debug)]
pub struct ProxyRequest {
    pub front: usize,
    pub protocol: RequestProtocol,
    pub method: &'static str,
    /// The host, or the SNI of TLS.
    pub host: &'static str,
    pub path: &'static str,
    /// Further fields, as lines.
    pub more: &'static str,
}

/// The parts of a response that a client sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyAnswer {
    /// The status; 0 if there is none.
    pub status: u16,
    pub server: Option<String>,
    /// The redirect target, as a browser resolves it.
    pub location: Option<String>,
}

pub struct ProxyClient {
    tls: Arc<ClientConfig>,
    ca: PathBuf,
}

impl ProxyClient {
    /// A client that trusts this authority.
    pub fn new(ca: &Path) -> ProxyClient {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
        ProxyClient { tls: Arc::new(config), ca: ca.to_owned() }
    }

    /// Sends a request on a new connection.
    pub fn ask(&self, front: SocketAddr, question: &ProxyRequest) -> ProxyAnswer {
        match question.protocol {
            RequestProtocol::Plain => {
                let mut client = HttpClient::connect(front);
                client.send(head(question));
                seen(front, question, client.answer_or_end())
            }
            RequestProtocol::Tls => {
                let mut stream = StreamOwned::new(self.connection("shop.example"), stream(front));
                stream.write_all(head(question).as_bytes()).unwrap();
                let mut reader = HttpReader::new(stream);
                let mut answer = reader.head().unwrap();
                if let Some(answer) = &mut answer {
                    reader.body(answer, ExpectedBody::DeclaredOrUntilEnd).unwrap();
                }
                seen(front, question, answer)
            }
            RequestProtocol::Tls2 => self.curl(front, question),
            RequestProtocol::Http2 => {
                let mut asked = H2Request::get(question.path);
                asked.method = question.method;
                let answer = h2client::send_all(front, &[asked]).remove(0);
                let location = answer.field("location");
                ProxyAnswer { status: answer.status, server: answer.field("x-origin"), location }
            }
            RequestProtocol::Hello => {
                let mut hello = Vec::new();
                self.connection(question.host).write_tls(&mut hello).unwrap();
                said(front, &hello)
            }
            RequestProtocol::Bytes => said(front, b"who are you"),
        }
    }

    fn connection(&self, name: &'static str) -> ClientConnection {
        ClientConnection::new(self.tls.clone(), name.try_into().unwrap()).unwrap()
    }

    fn curl(&self, front: SocketAddr, question: &ProxyRequest) -> ProxyAnswer {
        let host = question.host;
        let port = front.port();
        let told = curl_text(&[
            "--http2",
            "--cacert",
            self.ca.to_str().unwrap(),
            "--resolve",
            &format!("{host}:{port}:{}", front.ip()),
            "-X",
            question.method,
            "-D",
            "-",
            "-o",
            "/dev/null",
            &format!("https://{host}:{port}{}", question.path),
        ]);
        let field = |name: &str| {
            let fields = told.lines().filter_map(|line| line.split_once(": "));
            fields.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.to_owned()).next()
        };
        let status = told.split(' ').nth(1).and_then(|status| status.parse().ok());
        ProxyAnswer {
            status: status.unwrap_or(0),
            server: field("x-origin"),
            location: field("location"),
        }
    }
}

fn head(question: &ProxyRequest) -> String {
    let ProxyRequest { method, host, path, more, .. } = question;
    let length = if *method == "POST" { "Content-Length: 0\r\n" } else { "" };
    format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{length}{more}Connection: close\r\n\r\n")
}

fn seen(
    front: SocketAddr,
    question: &ProxyRequest,
    answer: Option<ReceivedMessage>,
) -> ProxyAnswer {
    let Some(answer) = answer else {
        return ProxyAnswer { status: 0, server: None, location: None };
    };
    // nginx writes absolute URLs of itself where others write the path. A browser resolves both to the same URL.
    let scheme = if question.protocol == RequestProtocol::Plain { "http" } else { "https" };
    let own = format!("{scheme}://{}:{}", question.host.to_lowercase(), front.port());
    let whole = format!("{scheme}://{}/", question.host.to_lowercase());
    let location = answer.field("location").map(|to| match to.strip_prefix(&own) {
        Some(path) => path.to_owned(),
        None => to.strip_prefix(&whole).map_or(to.clone(), |path| format!("/{path}")),
    });
    ProxyAnswer { status: answer.status(), server: answer.field("x-origin"), location }
}

fn stream(front: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&front, DEADLINE).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream
}

fn said(front: SocketAddr, bytes: &[u8]) -> ProxyAnswer {
    let mut stream = stream(front);
    let mut name = String::new();
    stream.write_all(bytes).unwrap();
    let read = stream.read_to_string(&mut name);
    let server = (read.is_ok() && !name.is_empty()).then_some(name);
    ProxyAnswer { status: 0, server, location: None }
}

/// A TCP server that responds to `PING` with `+PONG` and to anything else with its name, and then closes.
pub struct NamingServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NamingServer {
    /// Starts on a port of the loopback.
    pub fn start(name: &'static str) -> NamingServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::spawn(move || says(stream, name));
            }
        });
        NamingServer { address, stop, thread: Some(thread) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for NamingServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A health check may close the connection before it sends anything.
fn says(mut stream: TcpStream, name: &str) {
    let mut piece = [0; 4096];
    let _ = stream.set_read_timeout(Some(DEADLINE));
    let mut read = stream.read(&mut piece);
    // A PROXY protocol header may arrive alone, before the first data.
    if let Ok(length) = read
        && piece.starts_with(b"PROXY ")
        && piece[..length].ends_with(b"\r\n")
    {
        read = stream.read(&mut piece);
    }
    let answer = match read {
        Ok(4..) if piece.starts_with(b"PING") => "+PONG\r\n",
        Ok(1..) => name,
        _ => return,
    };
    let _ = stream.write_all(answer.as_bytes());
}
