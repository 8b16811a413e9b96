//! Single probes of real little servers on loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::probe::context::ProbeContext;
use ::probe::probe_plan::ProbePlan;
use model::config::{HttpProbe, ProbeKind, ProbeTls, SendProxyVersion, SocketOptions};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::health::health_check::running_probe::{RunningProbe, new_tls_connection};
use crate::health::health_check::target::{ProbeOutcome, ProbeTarget, SharedProbePlan};
use crate::health::health_check::tls_settings::ProbeTlsCache;

/// Long enough for a busy machine; no test waits for it to pass.
const AMPLE: Duration = Duration::from_secs(20);
/// Passes in a test of silence.
const SHORT: Duration = Duration::from_millis(30);

fn target(address: SocketAddr, kind: &ProbeKind, timeout: Duration) -> ProbeTarget {
    over(address, kind, None, timeout)
}

fn over(
    address: SocketAddr,
    kind: &ProbeKind,
    tls: Option<ProbeTls>,
    timeout: Duration,
) -> ProbeTarget {
    let plan = ProbePlan::new(kind, tls.is_some());
    ProbeTarget {
        address: address.into(),
        source: None,
        proxy_header: None,
        socket: Arc::new(SocketOptions::default()),
        plan: Arc::new(SharedProbePlan { plan, tls }),
        host: "shop.example".into(),
        server_name: "shop.example".into(),
        name: "web/a".into(),
        timeout,
    }
}

fn http(address: SocketAddr, timeout: Duration) -> ProbeTarget {
    target(address, &ProbeKind::Http(HttpProbe::get("/healthz")), timeout)
}

/// One probe, as the engine makes it.
async fn check(target: &ProbeTarget) -> ProbeOutcome {
    let target = target.clone();
    tokio::task::spawn_blocking(move || fly(&target)).await.unwrap()
}

fn fly(target: &ProbeTarget) -> ProbeOutcome {
    let end = Instant::now() + target.timeout;
    let plan = &target.plan.plan;
    let mut secure = ProbeTlsCache::default();
    let tls = target.plan.tls.as_ref();
    let tls = tls.map(|tls| {
        new_tls_connection(secure.client_config(tls, plan.alpn()).unwrap(), target).unwrap()
    });
    let context = ProbeContext {
        address: target.datagram_address(),
        host: &target.host,
        secret: None,
        random: 77,
    };
    let mut flight =
        match RunningProbe::start(target, plan.transport(), plan.start_dialogue(&context), tls) {
            Ok(flight) => flight,
            Err(outcome) => return outcome,
        };
    let mut buffer = vec![0; 4_096];
    loop {
        if let Some(outcome) = flight.advance(&mut buffer) {
            return outcome;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return flight.time_out();
        }
        let wanted = match flight.interest().contains(rustix::event::epoll::EventFlags::OUT) {
            true => PollFlags::IN | PollFlags::OUT,
            false => PollFlags::IN,
        };
        let timeout = Timespec::try_from(left).unwrap();
        poll(&mut [PollFd::new(flight.socket(), wanted)], Some(&timeout)).unwrap();
    }
}

/// A server that does `act` with its one connection.
async fn server<F>(act: impl FnOnce(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        act(stream).await;
    });
    address
}

/// Reads the request, then sends these bytes and closes.
async fn answers(bytes: impl Into<Vec<u8>>) -> SocketAddr {
    let bytes = bytes.into();
    server(async move |mut stream| {
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).await;
        let _ = stream.write_all(&bytes).await;
    })
    .await
}

async fn http_of(bytes: impl Into<Vec<u8>>) -> ProbeOutcome {
    check(&http(answers(bytes).await, AMPLE)).await
}

fn failed(outcome: ProbeOutcome) -> String {
    match outcome {
        ProbeOutcome::Failed(why) => why,
        other => panic!("{other:?}"),
    }
}

fn seen(outcome: ProbeOutcome) -> String {
    match outcome {
        ProbeOutcome::Passed(evidence) => evidence,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_tcp_probe_sees_a_listener_and_no_listener() {
    let address = server(async |stream| drop(stream)).await;
    assert_eq!(seen(check(&target(address, &ProbeKind::Tcp, AMPLE)).await), "connected");
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert_eq!(failed(check(&target(gone, &ProbeKind::Tcp, AMPLE)).await), "connection refused");
}

#[tokio::test]
async fn where_servers_expect_a_header_of_the_proxy_protocol_it_comes_first() {
    let headers: [(SendProxyVersion, &[u8]); 2] = [
        (SendProxyVersion::V1, b"PROXY UNKNOWN\r\n"),
        (SendProxyVersion::V2, b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"),
    ];
    for (announce, header) in headers {
        // One protocol in which the server sends first, and one in which the client does.
        let http: &[&[u8]] = &[b"", b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"];
        let smtp: &[&[u8]] = &[b"220 mail\r\n", b"250 ok\r\n", b"221 bye\r\n"];
        let rows = [(ProbeKind::Http(HttpProbe::get("/healthz")), http), (ProbeKind::Smtp, smtp)];
        for (kind, says) in rows {
            let server = server(async move |mut stream| {
                let mut got = vec![0; header.len()];
                stream.read_exact(&mut got).await.unwrap();
                assert_eq!(got, header);
                for word in says {
                    let _ = stream.write_all(word).await;
                    let _ = stream.read(&mut [0; 1024]).await;
                }
            });
            let mut target = target(server.await, &kind, AMPLE);
            target.proxy_header = Some(announce);
            seen(check(&target).await);
        }
    }
}

#[tokio::test]
async fn an_http_probe_asks_for_the_path_with_the_host_and_reads_the_status() {
    let (to, from) = tokio::sync::oneshot::channel();
    let address = server(async move |mut stream| {
        let mut request = vec![0; 1024];
        let n = stream.read(&mut request).await.unwrap();
        request.truncate(n);
        to.send(String::from_utf8(request).unwrap()).unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    })
    .await;
    assert_eq!(seen(check(&http(address, AMPLE)).await), "http GET /healthz 204");
    let request = from.await.unwrap();
    assert!(request.starts_with("GET /healthz HTTP/1.1\r\nhost: shop.example\r\n"), "{request}");
    assert!(request.contains("\r\nconnection: close\r\n"), "{request}");
    // It is a request that our own parser takes.
    let limits = wire::http1::HeadLimits::default();
    let mut slots = wire::http1::HeaderSlots::new();
    assert!(
        wire::http1::parse_request(request.as_bytes(), &limits, &mut slots)
            .is_ok_and(|parsed| parsed.is_some())
    );
}

#[tokio::test]
async fn a_status_outside_the_ranges_fails_with_both() {
    let why = failed(http_of("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").await);
    assert_eq!(why, "http GET /healthz: status 503, expected 200-399");
}

#[tokio::test]
async fn informational_answers_are_passed_over() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(seen(http_of(text).await), "http GET /healthz 200");
}

#[tokio::test]
async fn garbage_is_named() {
    assert!(
        failed(http_of("SSH-2.0-OpenSSH_9.2\r\n\r\n").await)
            .starts_with("the answer is not HTTP: ")
    );
}

#[tokio::test]
async fn silence_is_no_answer_within_the_timeout() {
    let address = server(async |stream| {
        let _held = stream;
        std::future::pending().await
    })
    .await;
    assert_eq!(failed(check(&http(address, SHORT)).await), "no answer within 30 ms");
}

#[tokio::test]
async fn a_head_that_drips_does_not_stretch_the_timeout() {
    let address = server(async |mut stream| {
        let mut tick = tokio::time::interval(Duration::from_millis(2));
        let mut written = stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await;
        while written.is_ok() {
            tick.tick().await;
            written = stream.write_all(b"y").await;
        }
    })
    .await;
    assert_eq!(failed(check(&http(address, SHORT)).await), "no answer within 30 ms");
}

#[tokio::test]
async fn closing_early_is_distinguished_from_closing_at_once() {
    assert_eq!(failed(http_of("").await), "closed without an answer");
    assert_eq!(
        failed(http_of("HTTP/1.1 200 OK\r\nserv").await),
        "closed in the middle of the answer's head"
    );
}

#[tokio::test]
async fn an_enormous_head_is_read_no_further_than_its_limit() {
    let head = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "a".repeat(1 << 20));
    let why = failed(http_of(head).await);
    assert!(why.contains("head-too-large") || why.contains("exceeds"), "{why}");
}

#[test]
fn times_are_short() {
    let shown: Vec<_> = [1_234u64, 12_345, 999_999, 1_000_000, 1_500_000]
        .map(|us| crate::util::duration_text::format_duration(Duration::from_micros(us)))
        .into();
    assert_eq!(shown, ["1.2 ms", "12 ms", "999 ms", "1 s", "1.5 s"]);
}

#[tokio::test]
async fn a_datagram_is_answered_or_its_port_is_closed() {
    let kind =
        ProbeKind::Udp(model::config::SendExpectProbe { send: "hello".into(), expect: None });
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 64];
        let (n, from) = socket.recv_from(&mut buffer).await.unwrap();
        socket.send_to(&buffer[..n], from).await.unwrap();
    });
    assert_eq!(seen(check(&target(address, &kind, AMPLE)).await), "udp hello");
    let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert_eq!(failed(check(&target(gone, &kind, AMPLE)).await), "the port is closed");
}

#[tokio::test]
async fn tls_that_is_none_is_reported() {
    let tls = Some(ProbeTls::default());
    let address = answers("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let why = failed(check(&over(address, &ProbeKind::Tcp, tls, AMPLE)).await);
    assert!(why.starts_with("tls: "), "{why}");
}
