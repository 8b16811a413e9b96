//! Several kinds of clients receive the certificate of their SNI, and their requests are served.

use std::io::{Read, Write};

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::certificate_for;
use tests::e2e::client::HttpClient;
use tests::e2e::http::noise;
use tests::e2e::nginx::Nginx;
use tests::e2e::servers::{self, addresses};
use tests::e2e::tools::curl;
use tests::e2e::wait;
use tests::e2e::websocket;

use crate::authority::{TlsAuthority, s_client};

#[test]
fn a_request_is_served_over_tls() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let setup = BalancerConfig::http(&addresses(&origins)).service(&format!("tls = {pair:?}\n"));
    let balancer = TestBalancer::start(&setup);
    let front = balancer.front();
    for version in [&["--tlsv1.2", "--tls-max", "1.2"][..], &["--tlsv1.3"]] {
        let more = [version, &["-w", " %{http_code} %{ssl_verify_result}"]].concat();
        let answer = ours.curl(front, "shop.example", &more);
        assert!(answer.ends_with(" 200 0"), "{answer}");
    }
    let plain = HttpClient::connect(front).get("/");
    assert_eq!(
        (plain.status(), plain.field("x-steelyard-cause").as_deref()),
        (400, Some("plain-on-tls"))
    );
    let status = balancer.status();
    let shown = &status.services[0].certificates;
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(
        (shown[0].names.as_slice(), shown[0].kind.as_str()),
        (&["shop.example".to_owned()][..], "ecdsa")
    );
    let report = balancer.report_when_settled();
    let count =
        |name: &str| report.total.tls.iter().find(|count| count.name == name).unwrap().count.total;
    assert_eq!((count("handshakes"), count("failed")), (2, 1));
}

#[test]
fn the_access_log_has_the_name_and_the_version_of_tls() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let setup = BalancerConfig::http(&addresses(&origins)).service(&format!("tls = {pair:?}\n"));
    let fields = "all = true, fields = [\"protocol\", \"sni\", \"tls-version\"]";
    let balancer = TestBalancer::start(&setup.log_with(fields));
    for (arguments, protocol, version) in [
        (&["--tlsv1.2", "--tls-max", "1.2", "--http1.1"][..], "HTTP/1.1", "TLSv1.2"),
        (&["--tlsv1.3", "--http1.1"], "HTTP/1.1", "TLSv1.3"),
        (&["--tlsv1.3", "--http2"], "HTTP/2", "TLSv1.3"),
    ] {
        ours.curl(balancer.front(), "shop.example", arguments);
        let line = balancer.wait_for_log_line(version, |line| {
            line["protocol"] == protocol && line["tls-version"] == version
        });
        assert_eq!(line["sni"], "shop.example", "{line}");
    }
}

#[test]
fn a_client_gets_the_certificate_of_the_name() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let default = ours.pair("default.pem", &["default.example"]);
    let directory = ours.dir.join("more");
    std::fs::create_dir(&directory).unwrap();
    ours.pair("more/a.pem", &["a.example"]);
    ours.pair("more/wild.pem", &["*.b.example"]);
    let rsa = certificate_for(&["a.example"]).rsa();
    ours.authority.pair(ours.dir.join("more/rsa.pem"), &rsa);
    let tls = format!("tls = {{ certificates = [{default:?}, {directory:?}] }}\n");
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).service(&tls));
    let front = balancer.front();
    for name in ["default.example", "a.example", "x.b.example"] {
        assert!(ours.curl(front, name, &["-o", "/dev/null", "-w", "%{http_code}"]) == "200");
    }
    let kind = |more: &[&str]| s_client(front, &[&["-servername", "a.example"], more].concat());
    assert!(kind(&[]).contains("Peer signature type: ECDSA"));
    assert!(kind(&["-sigalgs", "RSA-PSS+SHA256"]).contains("Peer signature type: RSA-PSS"));
    assert!(s_client(front, &["-servername", "unknown.example"]).contains("default.example"));
}

#[test]
fn sessions_are_resumed_at_any_worker() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let setup = BalancerConfig::http(&addresses(&origins)).global("workers = 4\n");
    let balancer = TestBalancer::start(&setup.service(&format!("tls = {pair:?}\n")));
    let session = ours.dir.join("session");
    let session = session.to_str().unwrap();
    for version in ["-tls1_2", "-tls1_3"] {
        // In TLS 1.3 the session ticket follows the handshake, and `s_client` may have disconnected by then.
        wait::until("a ticket", || {
            let first = s_client(balancer.front(), &[version, "-sess_out", session]);
            assert!(first.contains("New, TLSv1"), "{first}");
            s_client(balancer.front(), &[version, "-sess_in", session]).contains("Reused, TLSv1")
        });
        for _ in 0..6 {
            let again = s_client(balancer.front(), &[version, "-sess_in", session]);
            assert!(again.contains("Reused, TLSv1"), "{version}: {again}");
        }
    }
}

#[test]
fn bodies_and_websockets_pass_whole() {
    let ours = TlsAuthority::new();
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let server = Nginx::start("a");
    let origin = servers::origin("b");
    let tls = format!("tls = {pair:?}\n");
    let mut balancer =
        TestBalancer::start(&BalancerConfig::http(&[server.address()]).service(&tls));
    let front = balancer.front();
    let url = |path: &str| format!("https://shop.example:{}{path}", front.port());
    let to = format!("shop.example:{}:{}", front.port(), front.ip());
    let base = ["--cacert", ours.ca.to_str().unwrap(), "--resolve", &to];
    let page = curl(&[&base[..], &[&url("/page")]].concat());
    assert!(page == server.page_bytes(), "{} bytes", page.len());
    let file = ours.dir.write("upload", noise(2_000_003));
    curl(&[&base[..], &["-T", file.to_str().unwrap(), &url("/upload/u")]].concat());
    assert!(server.uploaded("u") == noise(2_000_003));

    balancer.reload(&balancer.setup().without_server("a").server("b", origin.address(), ""));
    let mut client = ours.client(front, "shop.example");
    client.write_all(websocket::REQUEST.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "));
    for number in 0..50u8 {
        let mut frame = vec![0x82, 0x80 | 8, 0, 0, 0, 0];
        frame.extend([number; 8]);
        client.write_all(&frame).unwrap();
        let mut back = [0; 10];
        client.read_exact(&mut back).unwrap();
        assert_eq!(back[2..], [number; 8]);
    }
}

#[test]
fn a_tcp_service_ends_tls_for_bytes() {
    let ours = TlsAuthority::new();
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let echo = servers::echo("a");
    let setup = BalancerConfig::tcp(&[echo.address()]).service(&format!("tls = {pair:?}\n"));
    let balancer = TestBalancer::start(&setup);
    let mut client = ours.client(balancer.front(), "shop.example");
    let bytes = noise(700_000);
    for piece in bytes.chunks(70_000) {
        client.write_all(piece).unwrap();
        let mut back = vec![0; piece.len()];
        client.read_exact(&mut back).unwrap();
        assert!(back == piece);
    }
    client.conn.send_close_notify();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    drop(client);
    let report = balancer.report_when_settled();
    assert_eq!(report.total.requests.answered.total, 1, "{:?}", report.total);
}
