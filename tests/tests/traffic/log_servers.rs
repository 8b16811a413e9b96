//! The access log at a syslog server: over UDP, TCP and TLS, and where the server stops reading.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::wait;

const LIMIT: Duration = Duration::from_secs(20);

fn start(target: &str, recorder: &RecordingServer) -> TestBalancer {
    TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).log_to(target))
}

/// The line in a message, which is JSON here.
fn line_of(message: &[u8]) -> Value {
    let text = std::str::from_utf8(message).unwrap();
    assert!(text.starts_with("<134>1 20"), "{text}");
    let (head, line) = text.split_once(" access - ").unwrap();
    assert!(head.contains(" steelyard "), "{text}");
    serde_json::from_str(line).unwrap()
}

#[test]
fn each_request_is_a_message_over_udp_and_tcp() {
    let recorder = RecordingServer::start();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(LIMIT)).unwrap();
    let address = server.local_addr().unwrap();
    let balancer = start(&format!("syslog://{address}"), &recorder);
    let mut client = balancer.client();
    let mut buffer = [0; 4_096];
    for path in ["/a", "/b"] {
        assert_eq!(client.get(path).status(), 200);
        let length = server.recv(&mut buffer).unwrap();
        assert_eq!(line_of(&buffer[..length])["target"], path);
    }
    let found = balancer.cli_output(&["log", "--json"]);
    assert!(found.contains("\"/b\""), "{found}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let balancer = start(&format!("syslog+tcp://{address}"), &recorder);
    let mut stream = listener.accept().unwrap().0;
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    assert_eq!(balancer.client().get("/c").status(), 200);
    let mut length = String::new();
    while !length.ends_with(' ') {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        length.push(byte[0].into());
    }
    let mut message = vec![0; length.trim_end().parse().unwrap()];
    stream.read_exact(&mut message).unwrap();
    assert_eq!(line_of(&message)["target"], "/c");
}

#[test]
fn requests_go_on_while_a_syslog_server_does_not_read_and_lines_are_counted() {
    let recorder = RecordingServer::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // What it accepts has little room too.
    set_socket_recv_buffer_size(&listener, 8 * 1024).unwrap();
    let target = format!("syslog+tcp://{}", listener.local_addr().unwrap());
    let balancer = start(&target, &recorder);
    let _stream = listener.accept().unwrap();
    let lost = "steelyard_access_log_entries_total{result=\"dropped-target\"} ";
    let count = || {
        let metrics = balancer.metrics();
        let after = metrics.split_once(lost).map(|(_, after)| after).unwrap_or_default();
        after.lines().next().unwrap_or("0").parse::<f64>().unwrap()
    };
    let long = format!("/{}", "x".repeat(1_000));
    let mut client = balancer.client();
    tests::e2e::wait::until("lines are lost", || {
        for _ in 0..200 {
            assert_eq!(client.get(&long).status(), 200);
        }
        count() > 0.0
    });
    assert_eq!(client.get("/after").status(), 200);
}

/// A syslog server over TLS: each connection's handshake, and its messages until it ends.
struct TlsServer {
    listener: TcpListener,
    config: Arc<ServerConfig>,
}

type TlsStream = StreamOwned<ServerConnection, std::net::TcpStream>;

impl TlsServer {
    fn start(pair: &Path) -> TlsServer {
        let chain = CertificateDer::pem_file_iter(pair).unwrap().map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_file(pair).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(chain, key).unwrap());
        TlsServer { listener: TcpListener::bind("127.0.0.1:0").unwrap(), config }
    }

    fn accept(&self) -> TlsStream {
        let stream = self.listener.accept().unwrap().0;
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        StreamOwned::new(ServerConnection::new(self.config.clone()).unwrap(), stream)
    }
}

/// The target of the next message, whose length stands before it.
fn next_target(stream: &mut TlsStream) -> String {
    let mut length = String::new();
    while !length.ends_with(' ') {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        length.push(byte[0].into());
    }
    let mut message = vec![0; length.trim_end().parse().unwrap()];
    stream.read_exact(&mut message).unwrap();
    line_of(&message)["target"].as_str().unwrap().to_owned()
}

#[test]
fn a_server_over_tls_gets_messages_and_is_connected_anew() {
    let (dir, authority, recorder) =
        (TestDir::new(), CertificateAuthority::new("logs"), RecordingServer::start());
    let ca = authority.write(dir.join("ca.pem"));
    let pair = authority.pair(dir.join("logs.pem"), &certificate_for(&["logs.example"]));
    let server = TlsServer::start(&pair);
    let target = format!("syslog+tls://{}", server.listener.local_addr().unwrap());
    let tls = format!("all = true, tls = {{ name = \"logs.example\", ca = \"{}\" }}", ca.display());
    let setup = BalancerConfig::http(&[recorder.address()]).log_to(&target).log_with(&tls);
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    // The first line goes on its way with the handshake.
    assert_eq!(client.get("/first").status(), 200);
    let mut stream = server.accept();
    assert_eq!(client.get("/a").status(), 200);
    let mut seen = Vec::new();
    while seen.last().is_none_or(|target| target != "/a") {
        seen.push(next_target(&mut stream));
    }
    drop(stream);
    // Lines are lost until the daemon notices the end and connects anew.
    server.listener.set_nonblocking(true).unwrap();
    let stream = wait::until_some("another connection", || {
        assert_eq!(client.get("/b").status(), 200);
        server.listener.accept().ok()
    });
    stream.0.set_nonblocking(false).unwrap();
    stream.0.set_read_timeout(Some(LIMIT)).unwrap();
    let session = ServerConnection::new(server.config.clone()).unwrap();
    let mut stream = StreamOwned::new(session, stream.0);
    let reader = std::thread::spawn(move || next_target(&mut stream));
    wait::until("a message", || {
        assert_eq!(client.get("/b").status(), 200);
        reader.is_finished()
    });
    assert_eq!(reader.join().unwrap(), "/b");
}

#[test]
fn a_server_with_a_certificate_for_another_name_gets_no_line() {
    let (dir, authority, recorder) =
        (TestDir::new(), CertificateAuthority::new("logs"), RecordingServer::start());
    let ca = authority.write(dir.join("ca.pem"));
    let pair = authority.pair(dir.join("logs.pem"), &certificate_for(&["other.example"]));
    let server = TlsServer::start(&pair);
    let target = format!("syslog+tls://{}", server.listener.local_addr().unwrap());
    let tls = format!("all = true, tls = {{ name = \"logs.example\", ca = \"{}\" }}", ca.display());
    let setup = BalancerConfig::http(&[recorder.address()]).log_to(&target).log_with(&tls);
    let balancer = TestBalancer::start(&setup);
    let reader = std::thread::spawn(move || server.accept().read(&mut [0; 16]));
    let mut client = balancer.client();
    wait::until("the refusal", || {
        assert_eq!(client.get("/secret").status(), 200);
        reader.is_finished()
    });
    let refused = reader.join().unwrap().unwrap_err().to_string();
    assert!(refused.contains("alert"), "{refused}");
    wait::until("an event that says why", || {
        assert_eq!(client.get("/").status(), 200);
        let log = balancer.process().output();
        log.contains("access log: syslog+tls://") && log.contains("certificate")
    });
}

#[test]
fn authorities_that_cannot_be_read_are_found_by_check() {
    let dir = TestDir::new();
    let config = dir.write(
        "steelyard.toml",
        "[global.access-log]\ntarget = \"syslog+tls://127.0.0.1:6514\"\ntls = { ca = \"/nowhere/ca.pem\" }\n\
         [service.a]\nlisten = \"127.0.0.1:8080\"\nforward = \"http\"\npool = \"p\"\n[pool.p]\nservers = [\"127.0.0.1:8081\"]\n",
    );
    let checked = std::process::Command::new(tests::e2e::balancer::program())
        .arg("check")
        .arg(&config)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&checked.stderr);
    assert!(!checked.status.success(), "{text}");
    assert!(text.contains("global.access-log.tls") && text.contains("/nowhere/ca.pem"), "{text}");
}
