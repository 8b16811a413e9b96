//! PROXY protocol headers from clients: which senders are trusted, and the effect of the header.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::client::HttpClient;
use tests::e2e::haproxy::Haproxy;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers::{echo, origin, reserve_port};
use tests::e2e::tools::{curl, curl_text};

/// Accepts headers from the loopback, which the tests use.
const OURS: &str = "accept-proxy = { from = \"127.0.0.0/8\", timeout = \"400ms\" }\n";

const LINE: &[u8] = b"PROXY TCP4 203.0.113.9 198.51.100.1 4444 80\r\n";

/// `203.0.113.9:4444` to `198.51.100.1:80`, with a TLV of an unknown type.
const BINARY: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x10\xcb\0\x71\x09\xc6\x33\x64\x01\x11\x5c\0\x50\xee\0\x01x";

const ASK: &[u8] = b"GET /x HTTP/1.1\r\nHost: shop.example\r\n\r\n";

#[test]
fn whoever_a_header_names_is_the_client_everywhere() {
    let recorder = RecordingServer::start();
    let service = format!("{OURS}forwarded = {{ forwarded = \"append\" }}\n");
    let rule = "[[service.shop.rule]]\nname = \"out\"\nwhen = { client = \"203.0.113.66/32\" }\ndeny = true\n";
    let setup = BalancerConfig::http(&[recorder.address()]).service(&service).with_tables(rule);
    let balancer = TestBalancer::start(&setup);
    for header in [LINE, BINARY] {
        let mut client = balancer.client();
        client.send([header, ASK, ASK].concat());
        assert_eq!((client.read_answer().status(), client.read_answer().status()), (200, 200));
    }
    // The header arrives one byte at a time.
    let mut slow = balancer.client();
    slow.stream().set_nodelay(true).unwrap();
    for byte in [LINE, ASK].concat() {
        slow.send([byte]);
    }
    assert_eq!(slow.read_answer().status(), 200);
    // A LOCAL connection of the proxy itself has the proxy's address.
    let mut own = balancer.client();
    own.send([b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", ASK].concat());
    assert_eq!(own.read_answer().status(), 200);
    let mut denied = balancer.client();
    denied.send([b"PROXY TCP4 203.0.113.66 198.51.100.1 1 80\r\n", ASK].concat());
    assert_eq!(denied.read_answer().status(), 403);
    let told = recorder.so_far().requests;
    let told: Vec<_> = told.iter().map(|got| got.field("x-forwarded-for").unwrap()).collect();
    assert_eq!(told.iter().filter(|from| *from == "203.0.113.9").count(), 5, "{told:?}");
    assert_eq!(told.iter().filter(|from| *from == "127.0.0.1").count(), 1, "{told:?}");
    let line =
        balancer.wait_for_log_line("the client", |line| line["client"] == "203.0.113.9:4444");
    assert_eq!(line["status"], 200);
    drop((slow, own, denied));
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn who_is_not_believed_or_does_not_keep_to_it_is_reset_with_a_cause() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).service(OURS));
    let rows: [(&[u8], &str, &str); 4] = [
        (ASK, "proxy-header", "proxy-header-missing"),
        (b"PROXY TCP4 203.0.113.9 198.51.100.1 99999 80\r\n", "proxy-header", "proxy-bad-port"),
        (b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0", "proxy-header", "proxy-bad-version"),
        (b"PROXY TCP4 203.0.113.9", "proxy-header-timeout", ""),
    ];
    for (sent, cause, defect) in rows {
        let mut client = balancer.client();
        let _ = client.try_send(sent);
        let got = client.read_to_end_or_reset().unwrap_or_default();
        assert!(got.is_empty(), "{}: {}", sent.escape_ascii(), got.escape_ascii());
        let line = balancer.wait_for_log_line(cause, |line| {
            line["cause"] == cause && (defect.is_empty() || line["defect"] == defect)
        });
        assert_eq!(line["client"].as_str().map(|at| at.starts_with("127.0.0.1:")), Some(true));
    }
    let from_elsewhere = OURS.replace("127.0.0.0/8", "10.0.0.0/8");
    let strict =
        TestBalancer::start(&BalancerConfig::http(&[origin.address()]).service(&from_elsewhere));
    // The reset may arrive before `connect` has returned.
    if let Ok(mut client) = HttpClient::try_connect(strict.front()) {
        let _ = client.try_send(&[LINE, ASK].concat());
        assert!(client.read_to_end_or_reset().unwrap_or_default().is_empty());
    }
    strict.wait_for_log_line("the cause", |line| line["cause"] == "proxy-untrusted");
    let open = from_elsewhere.replace("timeout =", "others = \"plain\", timeout =");
    let open = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).service(&open));
    assert_eq!(open.client().get("/").status(), 200, "a client without a header");
    let mut liar = open.client();
    liar.send([LINE, ASK].concat());
    assert_eq!(liar.read_answer().status(), 400, "a header of theirs is no request");
}

#[test]
fn curl_sends_its_header_before_tls_and_before_http_2() {
    let origin = origin("a");
    let authority = CertificateAuthority::new("test authority");
    let dir = tests::e2e::dir::TestDir::new();
    let pair = authority.pair(dir.join("pair.pem"), &certificate_for(&["shop.example"]));
    let tls = format!("{OURS}tls = {{ certificates = {:?} }}\n", pair.display().to_string());
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).service(&tls));
    let url = format!("https://shop.example:{}/", balancer.front().port());
    let to = format!("shop.example:{}:127.0.0.1", balancer.front().port());
    for (version, spoken) in [("--http1.1", "1.1"), ("--http2", "2")] {
        let said = curl_text(&[
            "--haproxy-protocol",
            "-k",
            version,
            "--resolve",
            &to,
            "-o",
            "/dev/null",
            "-w",
            "%{http_version} %{http_code} %{local_ip}",
            &url,
        ]);
        assert_eq!(said, format!("{spoken} 200 127.0.0.1"));
    }
    let plain = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).service(OURS));
    let page = curl(&["--haproxy-protocol", &plain.url("/bytes/100000")]);
    assert_eq!(page.len(), 100_000);
    assert_eq!(plain.report_when_settled().total.requests.answered.total, 1);
}

#[test]
fn haproxy_in_front_is_understood_its_checksum_too() {
    let front = reserve_port();
    let recorder = RecordingServer::start();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(OURS));
    for options in ["send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c"] {
        let from = front.address();
        let to = balancer.front();
        let sections = format!(
            "frontend f\n  bind {from}\n  default_backend b\nbackend b\n  server s {to} {options}\n"
        );
        let haproxy = Haproxy::start(&sections, from);
        let mut client = TcpStream::connect(from).map(|_| HttpClient::connect(from)).unwrap();
        let port = client.stream().local_addr().unwrap().port();
        assert_eq!(client.get("/").status(), 200, "{options}");
        balancer.wait_for_log_line(options, |line| {
            line["client"] == format!("127.0.0.1:{port}") && line["status"] == 200
        });
        drop(haproxy);
    }
    assert!(recorder.so_far().requests.len() >= 3);
}

#[test]
fn bytes_that_pass_through_begin_behind_the_header() {
    let server = echo("a");
    let balancer = TestBalancer::start(&BalancerConfig::tcp(&[server.address()]).service(OURS));
    let mut client = balancer.client();
    client.send([LINE, b"hello"].concat());
    assert_eq!(client.read_exactly(5), b"hello");
    client.shut_down_write();
    assert!(client.read_to_end().is_empty());
    balancer.wait_for_log_line("the client", |line| line["client"] == "203.0.113.9:4444");
}

/// Health checks that only connect, from a load balancer in front, do not count as failures.
#[test]
fn who_leaves_without_a_word_is_no_failure() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).service(OURS));
    let at = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), balancer.front().port());
    for _ in 0..3 {
        let stream = TcpStream::connect_timeout(&at, Duration::from_secs(10)).unwrap();
        (&stream).flush().unwrap();
    }
    let report = balancer
        .report_when("three connections", |report| report.total.connections.accepted.total == 3);
    assert_eq!(report.total.requests.requests.total, 0, "{report:?}");
}
