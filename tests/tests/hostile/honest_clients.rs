//! A flood of 2,000 clients plus 200 new ones a second against the default configuration with one worker. The clients
//! are silent, or never complete a QUIC handshake. Counts how many of 1,000 honest requests fail, and compares their
//! latencies. Runs only with STEELYARD_LONG (`tests/prove admission`).

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tests::e2e::balancer::{TestBalancer, figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::flood::{ConnectionFlood, QuicFlood, SourceAddresses};
use tests::e2e::process::descriptors_for;
use tests::e2e::servers::{self, origin};
use tests::e2e::target::tool;
use tests::e2e::wait::{self, DEADLINE};

const CROWD: (usize, u32) = (2_000, 200);
const HONEST: usize = 1_000;
/// The interval between two honest requests, each on a new connection.
const PACE: Duration = Duration::from_millis(10);
/// The interval for the API, which allows 50 requests a second.
const SLOW_PACE: Duration = Duration::from_millis(25);

/// The interval for HTTP/3, whose client needs long for a handshake.
const QUIC_PACE: Duration = Duration::from_millis(40);

const NAME: &str = "shop.example";

/// The results of the honest clients.
struct HonestClients {
    failed: Vec<String>,
    /// The 99th percentile of the request times.
    p99: Duration,
}

/// Sends `HONEST` requests at this pace.
fn send_requests(ask: &dyn Fn() -> Result<(), String>, pace: Duration) -> HonestClients {
    let mut failed = Vec::new();
    let mut times = Vec::new();
    let began = Instant::now();
    for number in 0..HONEST {
        let due = began + pace * u32::try_from(number).unwrap();
        std::thread::park_timeout(due.saturating_duration_since(Instant::now()));
        let began = Instant::now();
        let outcome = ask();
        times.push(began.elapsed());
        if let Err(why) = outcome {
            failed.push(format!("request {number}: {:?}, {why}", began.elapsed()));
        }
    }
    times.sort();
    HonestClients { failed, p99: times[HONEST * 99 / 100] }
}

/// As `asked`, over HTTP/3 with another library.
fn asked_http3(front: SocketAddr, ca: &Path) -> HonestClients {
    let mut command = Command::new(tool("quic/bin/python3"));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http3/honest.py"));
    command.args([front.ip().to_string(), front.port().to_string()]).arg(ca).arg(NAME);
    command.args([HONEST.to_string(), QUIC_PACE.as_millis().to_string()]);
    let told = command.output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&told.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&told.stderr)));
    let p99 = told["p99_ms"].as_f64().unwrap_or(f64::INFINITY).min(1e9);
    let failed = told["failed"].as_array().unwrap().iter().map(ToString::to_string).collect();
    HonestClients { failed, p99: Duration::from_secs_f64(p99 / 1000.0) }
}

/// Compares the results with and without a flood.
fn compared<C>(
    what: &str,
    honest: impl Fn() -> HonestClients,
    crowd: impl Fn(SourceAddresses) -> C,
) {
    let calm = honest();
    assert!(calm.failed.is_empty(), "{what}, without a crowd: {:#?}", calm.failed);
    for sources in [SourceAddresses::One, SourceAddresses::Many(CROWD.0)] {
        let crowd = crowd(sources);
        let HonestClients { failed, p99 } = honest();
        drop(crowd);
        let ratio = p99.as_secs_f64() / calm.p99.as_secs_f64();
        let calm = calm.p99;
        figure(format_args!(
            "{what}, {sources:?}: {} of {HONEST} honest requests failed; p99 {p99:?}, {calm:?} without a crowd \
             ({ratio:.2} times)",
            failed.len()
        ));
        assert!(failed.is_empty(), "{what}, {sources:?}: {failed:#?}");
    }
}

/// As `compared`, with a flood of silent TCP clients.
fn compared_tcp(what: &str, at: SocketAddr, pace: Duration, ask: &dyn Fn() -> Result<(), String>) {
    compared(
        what,
        || send_requests(ask, pace),
        |sources| ConnectionFlood::start(at, sources, CROWD, b""),
    );
}

fn answered(mut stream: impl Read + Write, path: &str) -> Result<(), String> {
    let ask = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    let mut answer = Vec::new();
    let sent = stream.write_all(ask.as_bytes()).and_then(|()| stream.flush());
    // Under TLS, some ways to close are not errors of the response.
    let ended = sent.and_then(|()| stream.read_to_end(&mut answer).map(drop));
    if answer.starts_with(b"HTTP/1.1 200") || answer.starts_with(b"HTTP/1.1 401") {
        return Ok(());
    }
    Err(format!("{ended:?} after {:?}", String::from_utf8_lossy(&answer)))
}

fn connected(at: SocketAddr) -> Result<TcpStream, String> {
    let stream = TcpStream::connect_timeout(&at, DEADLINE).map_err(|e| e.to_string())?;
    stream.set_read_timeout(Some(DEADLINE)).map_err(|e| e.to_string())?;
    Ok(stream)
}

#[test]
fn silent_clients_hurt_nobody() {
    if !is_long() {
        return;
    }
    descriptors_for(20_000);
    let origin = origin("a");
    let authority = CertificateAuthority::new("test authority");
    let dir = TestDir::new();
    let ca = authority.write(dir.join("ca.pem"));
    let pair = authority.pair(dir.join("shop.pem"), &certificate_for(&[NAME]));

    let plain = BalancerConfig::http(&[origin.address()]).global("workers = 1").quiet();
    let balancer = TestBalancer::start(&plain);
    let front = balancer.front();
    compared_tcp("plain HTTP", front, PACE, &|| {
        connected(front).and_then(|stream| answered(stream, "/"))
    });
    drop(balancer);

    let tls = plain.clone().service(&format!("tls = {pair:?}\n"));
    let balancer = TestBalancer::start(&tls);
    let front = balancer.front();
    let client = config(&ca);
    let secure = || {
        let name = NAME.try_into().unwrap();
        let connection = ClientConnection::new(client.clone(), name).unwrap();
        connected(front).and_then(|stream| answered(StreamOwned::new(connection, stream), "/"))
    };
    compared_tcp("TLS", front, PACE, &secure);
    drop(balancer);

    let http3 = plain.clone().service(&format!("tls = {pair:?}\nhttp3 = {{ offer = \"on\" }}\n"));
    let balancer = TestBalancer::start(&http3);
    let front = balancer.front();
    let crowd = |sources| QuicFlood::start(front, sources, CROWD);
    compared("HTTP/3", || asked_http3(front, &ca), crowd);
    drop(balancer);

    let port = servers::reserve_port();
    let api = port.address();
    let keys = format!(", listen = \"{api}\", tokens = \"DIR/tokens\"");
    let balancer = TestBalancer::start(&plain.control(&keys));
    wait::until("it listens", || TcpStream::connect(api).is_ok());
    // The page needs no token.
    compared_tcp("the API over TCP", api, SLOW_PACE, &|| {
        connected(api).and_then(|stream| answered(stream, "/"))
    });
    drop(balancer);
}

fn config(ca: &Path) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    // Each connection makes a full handshake.
    config.resumption = rustls::client::Resumption::disabled();
    Arc::new(config)
}
