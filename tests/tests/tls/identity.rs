//! Client certificates: requested, verified, forwarded to servers, and never taken from a client's own header fields.

use std::io::{Read, Write};

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::certificate_for;
use tests::e2e::client::HttpClient;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers;

use crate::authority::TlsAuthority;

const LIE: [&str; 4] = ["-H", "x-client-cert-subject: CN=eve", "-H", "X_Client_Cert_Verified: yes"];

fn last(recorder: &RecordingServer) -> ReceivedMessage {
    recorder.so_far().requests.pop().unwrap()
}

#[test]
fn servers_learn_who_the_client_is() {
    let ours = TlsAuthority::new();
    let recorder = RecordingServer::start();
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let alice = certificate_for(&["alice.example"]).client("alice");
    let alice = ours.authority.pair(ours.dir.join("alice.pem"), &alice);
    let eve = TlsAuthority::new();
    let mallory = certificate_for(&["mallory.example"]).client("mallory");
    let mallory = eve.authority.pair(eve.dir.join("mallory.pem"), &mallory);
    let ca = &ours.ca;
    let tls = |verify: &str| {
        format!(
            "tls = {{ certificates = {pair:?}, client = {{ ca = {ca:?}, verify = \"{verify}\" }} }}\n"
        )
    };
    let setup = BalancerConfig::http(&[recorder.address()]);
    let mut balancer = TestBalancer::start(&setup.clone().service(&tls("required")));
    let front = balancer.front();
    let with = |file: &std::path::Path| {
        let mut more = vec!["--cert", file.to_str().unwrap()];
        more.extend(LIE);
        ours.try_curl(front, "shop.example", &more)
    };
    assert!(with(&alice).status.success());
    let seen = last(&recorder);
    let told = |name: &str| seen.field(&format!("x-client-cert-{name}")).unwrap_or_default();
    assert_eq!(told("verified"), "yes");
    assert_eq!(told("subject"), "CN=alice");
    assert_eq!(told("names"), "dns:alice.example");
    assert_eq!(told("fingerprint").len(), 64);
    assert_eq!(seen.field("x_client_cert_verified"), None);
    assert_eq!(seen.field("x-forwarded-proto").as_deref(), Some("https"));

    assert!(!with(&mallory).status.success(), "another authority");
    assert!(!ours.try_curl(front, "shop.example", &[]).status.success(), "no certificate");
    balancer.wait_for_log_line("no certificate", |line| line["cause"] == "client-certificate");

    balancer.reload(&setup.service(&tls("optional")));
    assert!(ours.try_curl(front, "shop.example", &LIE).status.success());
    let seen = last(&recorder);
    assert_eq!(seen.field("x-client-cert-verified").as_deref(), Some("no"));
    assert_eq!(seen.field("x-client-cert-subject"), None);
    assert!(!with(&mallory).status.success(), "a bad one is refused though none is needed");
}

/// A request whose trailers forge the balancer's certificate fields in several spellings, beside an unrelated trailer.
const LYING_TRAILERS: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\
    X_Client_Cert_Subject: CN=root\r\nClient-Cert: :AA==:\r\nX_Role: admin\r\n\r\n3\r\nabc\r\n0\r\n\
    x-client-cert-verified: yes\r\nX_Client_Cert_Subject: CN=root\r\nx.client-cert_names: dns:root\r\n\
    Client-Cert: :AA==:\r\nclient_cert_chain: :AA==:\r\nX_Forwarded_For: 192.0.2.1\r\nForwarded: for=1\r\n\
    X-Real_IP: 192.0.2.1\r\nX_Role: admin\r\nX-Sum: 6\r\n\r\n";

#[test]
fn nobody_says_in_heads_or_trailers_what_only_we_may_say() {
    let ours = TlsAuthority::new();
    let recorder = RecordingServer::start();
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let ca = &ours.ca;
    let at = servers::reserve_port();
    let client = format!("client = {{ ca = {ca:?}, verify = \"optional\" }}");
    let tls = format!("tls = {{ certificates = {pair:?}, {client} }}\n");
    let rule = "rule = [{ when = { path = \"/*\" }, rewrite = { set = [\"X-Role: guest\"] } }]\n";
    // Another service with the same servers, without client certificates.
    let beside = format!(
        "[service.plain]\nlisten = \"{}\"\nforward = \"http\"\npool = \"beside\"\nhttp2 = \"always\"\n\
         [pool.beside]\nservers = [\"{}\"]\n",
        at.address(),
        recorder.address()
    );
    let setup =
        BalancerConfig::http(&[recorder.address()]).service(&(tls + rule)).with_tables(&beside);
    let balancer = TestBalancer::start(&setup);
    let mut secure = ours.client(balancer.front(), "shop.example");
    secure.write_all(LYING_TRAILERS.as_bytes()).unwrap();
    secure.read_to_end(&mut Vec::new()).unwrap();
    let mut plain = HttpClient::connect(at.address());
    plain.send(LYING_TRAILERS);
    plain.read_answer();
    let record = recorder.so_far();
    let no: &[&str] = &["x-client-cert-verified: no"];
    for (bytes, expected, role) in
        [(&record.connections[0], no, "guest"), (&record.connections[1], &[], "admin")]
    {
        let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let told: Vec<_> = head.lines().filter(|line| line.contains("client")).collect();
        assert_eq!(told, expected, "{head}");
        assert!(head.contains(&format!("role: {role}")), "{head}");
        assert_eq!(body.rsplit("0\r\n").next(), Some("x-sum: 6\r\n\r\n"), "{body}");
    }
    let mut asked = H2Request::post("/", b"abc");
    asked.fields = vec![("te", "trailers".to_owned())];
    asked.trailers = vec![("x_client_cert_verified", "yes"), ("client-cert", "x"), ("x-sum", "7")];
    assert_eq!(send_all(at.address(), &[asked])[0].status, 200);
    let texts = recorder.so_far().connections;
    assert!(texts.iter().any(|text| text.ends_with(b"\r\n0\r\nx-sum: 7\r\n\r\n")));
    let dropped: u64 = (balancer.metrics().lines())
        .filter(|line| line.starts_with("steelyard_service_trailers_dropped_total"))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum();
    assert_eq!(dropped, 9 + 9 + 2);
}
