//! Values with variables that a rule writes into requests, as the server receives them.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::tools::curl_text;

const RULES: &str = r#"
[[service.shop.rule]]
when = { path = "/tenant/*" }
rewrite = { host = "{header.x-tenant}.inner" }
[[service.shop.rule]]
rewrite = { set = [
    "X-Real-IP: {client}",
    "X-Forwarded-For: {client-chain}",
    "X-Forwarded-Host: {host}",
    "X-Forwarded-Server: {host-name}",
    "X-Where: {scheme}://{host-name}:{port} {{{sni}}",
    "X-Name: {sni}",
    "X-Copy: {header.x-one}",
    "X-None: {header.x-missing}",
], add = "X-Port: p{client-port}" }
"#;

fn field(request: &ReceivedMessage, name: &str) -> String {
    request.field(name).unwrap_or_else(|| panic!("{name} in {request:?}"))
}

#[test]
fn a_server_gets_what_variables_stand_for() {
    let recorder = RecordingServer::start();
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).with_tables(RULES));
    let port = balancer.front().port();
    let mut client = balancer.client();
    let own = client.stream().local_addr().unwrap().port();
    client.send(
        "GET / HTTP/1.1\r\nHost: Shop.Example:81\r\nX-Forwarded-For: 198.51.100.1\r\nX-Real-IP: 6.6.6.6\r\n\
         x_name: eve\r\nX-Forwarded-For: x, y\r\nX-One: a\r\nx-one: b\r\nX-Name: eve\r\nX-None: eve\r\n\r\n",
    );
    let answer = client.read_answer();
    assert_eq!(answer.status(), 200, "{answer:?}");
    drop((client, balancer));
    let [plain]: [ReceivedMessage; 1] = recorder.take().requests.try_into().unwrap();
    for (name, want) in [
        ("x-real-ip", "127.0.0.1"),
        ("x-forwarded-for", "198.51.100.1, x, y, 127.0.0.1"),
        ("x-forwarded-host", "Shop.Example:81"),
        ("x-forwarded-server", "shop.example"),
        ("x-where", &format!("http://shop.example:{port} {{}}")),
        ("x-copy", "a, b"),
        ("x-port", &format!("p{own}")),
        ("host", "Shop.Example:81"),
    ] {
        assert_eq!(field(&plain, name), want, "{name}");
    }
    for gone in ["x-name", "x-none", "x_name"] {
        assert_eq!(plain.field(gone), None, "{gone}");
    }
}

#[test]
fn a_server_gets_the_same_of_a_client_of_http_2() {
    let recorder = RecordingServer::start();
    let setup = BalancerConfig::http(&[recorder.address()])
        .service("http2 = \"always\"\n")
        .with_tables(RULES);
    let balancer = TestBalancer::start(&setup);
    let fields = vec![("x-forwarded-for", "198.51.100.1".to_owned()), ("x-one", "\u{e9}".into())];
    let answers = send_all(balancer.front(), &[H2Request { fields, ..H2Request::get("/") }]);
    assert_eq!(answers[0].status, 200, "{answers:?}");
    drop(balancer);
    let [request]: [ReceivedMessage; 1] = recorder.take().requests.try_into().unwrap();
    assert_eq!(field(&request, "x-forwarded-for"), "198.51.100.1, 127.0.0.1");
    assert_eq!(field(&request, "x-forwarded-host"), "shop.example");
    assert_eq!((field(&request, "x-copy").as_str(), request.field("x-none")), ("\u{e9}", None));
}

#[test]
fn a_server_gets_the_name_and_the_scheme_of_a_client_with_tls() {
    let recorder = RecordingServer::start();
    let authority = CertificateAuthority::new("test authority");
    let dir = TestDir::new();
    let ca = authority.write(dir.join("ca.pem")).display().to_string();
    let pair = authority.pair(dir.join("shop.pem"), &certificate_for(&["shop.example"]));
    let setup = BalancerConfig::http(&[recorder.address()])
        .service(&format!("tls = {pair:?}\n"))
        .with_tables(RULES);
    let balancer = TestBalancer::start(&setup);
    let front = balancer.front();
    let to = format!("shop.example:{}:{}", front.port(), front.ip());
    let url = format!("https://shop.example:{}/", front.port());
    for version in ["--http1.1", "--http2"] {
        assert_eq!(curl_text(&[version, "--cacert", &ca, "--resolve", &to, &url]), "ok");
    }
    drop(balancer);
    let requests = recorder.take().requests;
    assert_eq!(requests.len(), 2);
    for request in &requests {
        let want = format!("https://shop.example:{} {{shop.example}}", front.port());
        assert_eq!(
            (field(request, "x-where"), field(request, "x-name")),
            (want, "shop.example".into())
        );
    }
}

#[test]
fn what_a_client_sends_makes_no_malformed_and_no_endless_head() {
    let recorder = RecordingServer::start();
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).with_tables(RULES));
    let ask = |target: &str, field: &str| {
        let mut client = HttpClient::connect(balancer.front());
        client.send(format!("GET {target} HTTP/1.1\r\nHost: shop\r\n{field}\r\n\r\n"));
        let answer = client.read_answer();
        (answer.status(), answer.field("x-steelyard-cause").unwrap_or_default())
    };
    let long = "a".repeat(9_000);
    for (target, field, want) in [
        ("/tenant/", "X-Tenant: blue".to_owned(), (200, "")),
        ("/tenant/", "X-Tenant: a/b".into(), (400, "bad-request")),
        ("/tenant/", "X-Tenant: evil.example/x@y".into(), (400, "bad-request")),
        ("/tenant/", "X-Tenant: a, b".into(), (400, "bad-request")),
        ("/", format!("X-One: {long}"), (200, "")),
        ("/", format!("X-One: {long}\r\nX-Forwarded-For: {long}"), (431, "head-too-large")),
        ("/", format!("X-One: {long}\r\nX-One: {long}"), (431, "head-too-large")),
    ] {
        let (status, cause) = ask(target, &field);
        assert_eq!((status, cause.as_str()), want, "{target}");
    }
    let metrics = balancer.metrics();
    let counted = metrics.lines().find(|line| {
        line.starts_with("steelyard_service_causes_total{") && line.contains("\"head-too-large\"")
    });
    assert!(counted.is_some_and(|line| line.ends_with(" 2")), "{counted:?}");
    drop(balancer);
    let requests = recorder.take().requests;
    assert_eq!(requests.len(), 2);
    assert_eq!(field(&requests[0], "host"), "blue.inner");
}
