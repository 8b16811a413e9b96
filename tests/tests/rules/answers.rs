//! What a rule changes in answers, as clients receive them: added fields, locations, domains and paths of cookies.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::ScriptedServer;

const RULES: &str = r#"
[[service.shop.rule]]
when = { path = "/moved/*" }
redirect = { to = "/new/{rest}", headers = ["Cache-Control: no-store", "X-Moved: yes"] }
[[service.shop.rule]]
when = { path = "/denied" }
deny = true
rewrite = { response-add = [{ field = "X-Denied: {client}", own = true }] }
[[service.shop.rule]]
when = { path = "/teapot" }
answer = 418
rewrite = { response-add = [
    { field = "X-Own: {host-name}", own = true },
    { field = "X-Other: 1", own = true, statuses = 200 },
] }
[[service.shop.rule]]
when = { path = "/down" }
pool = "down"
rewrite = { response-add = ["X-Server: 1", { field = "X-Own: {scheme}", own = true, statuses = "500-599" }] }
[[service.shop.rule]]
[service.shop.rule.rewrite]
response-add = [
    "X-Client: {client}",
    "X-None: {sni}",
    { field = "X-Good: 1", statuses = [200, "301-302"] },
    { field = "X-Bad: 1", statuses = "400-599" },
    "X-Twice: ours",
]
location = [
    { from = "http://inner:8080/app/", to = "{scheme}://{host}/" },
    { from = "http://inner:8080", to = "{scheme}://{host}" },
]
cookie-domain = [{ from = "inner.example", to = "shop.example" }, { from = "*", to = "" }]
cookie-path = [{ from = "/app", to = "/" }]
[pool.down]
servers = ["127.0.0.1:1"]
"#;

const ANSWER: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: http://inner:8080/app/cart?x=1\r\nX-Twice: theirs\r\n\
    Refresh: 3; url=http://INNER:8080/x\r\nSet-Cookie: a=1; Domain=.inner.example; Path=/app/x; HttpOnly\r\n\
    Set-Cookie: b=2; domain=other.example; Path=/else\r\nContent-Length: 0\r\n\r\n";

const WANT: &[(&str, &[&str])] = &[
    ("location", &["http://shop.example/cart?x=1"]),
    ("refresh", &["3; url=http://shop.example/x"]),
    ("set-cookie", &["a=1; Domain=shop.example; Path=/x; HttpOnly", "b=2; Path=/else"]),
    ("x-client", &["127.0.0.1"]),
    ("x-none", &[]),
    ("x-good", &["1"]),
    ("x-bad", &[]),
    ("x-twice", &["theirs", "ours"]),
];

fn values<'m>(message: &'m ReceivedMessage, name: &str) -> Vec<&'m str> {
    let own = message.fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
    own.map(|(_, value)| value.as_str()).collect()
}

fn get(balancer: &TestBalancer, target: &str) -> ReceivedMessage {
    let mut client = HttpClient::connect(balancer.front());
    client.send(format!("GET {target} HTTP/1.1\r\nHost: shop.example\r\n\r\n"));
    client.read_answer()
}

// Rows: Z12
#[test]
fn answers_of_servers_lead_clients_to_the_balancer() {
    let server = ScriptedServer::answering(ANSWER);
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[server.address()]).with_tables(RULES));
    let answer = get(&balancer, "/");
    assert_eq!(answer.status(), 302, "{answer:?}");
    for (name, want) in WANT {
        assert_eq!(values(&answer, name), *want, "{name}");
    }
}

#[test]
fn answers_over_http_2_are_changed_likewise() {
    let server = ScriptedServer::answering(ANSWER);
    let setup = BalancerConfig::http(&[server.address()])
        .service("http2 = \"always\"\n")
        .with_tables(RULES);
    let balancer = TestBalancer::start(&setup);
    let paths = ["/", "/denied", "/teapot", "/down"];
    let asked: Vec<H2Request> = paths.iter().map(|path| H2Request::get(path)).collect();
    let answers = send_all(balancer.front(), &asked);
    for (name, want) in WANT {
        let got: Vec<_> = answers[0].fields.get_all(*name).iter().collect();
        assert_eq!(got, *want, "{name}");
    }
    let own = [("x-denied", "127.0.0.1"), ("x-own", "shop.example"), ("x-own", "http")];
    for (answer, (name, want)) in answers[1..].iter().zip(own) {
        assert_eq!(answer.field(name).as_deref(), Some(want), "{answer:?}");
    }
}

#[test]
fn answers_of_the_balancer_get_what_is_meant_for_them() {
    let server = ScriptedServer::answering(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n");
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[server.address()]).with_tables(RULES));
    for (target, status, name, want) in [
        ("/", 500, "x-bad", &["1"][..]),
        ("/", 500, "x-good", &[]),
        ("/moved/a", 302, "x-moved", &["yes"]),
        ("/moved/a", 302, "cache-control", &["no-store"]),
        ("/moved/a", 302, "location", &["/new/a"]),
        ("/denied", 403, "x-denied", &["127.0.0.1"]),
        ("/teapot", 418, "x-own", &["shop.example"]),
        ("/teapot", 418, "x-other", &[]),
        ("/down", 502, "x-own", &["http"]),
        ("/down", 502, "x-server", &[]),
    ] {
        let answer = get(&balancer, target);
        // A server that is not there is refused at first, and down once its probe has failed.
        let same = answer.status() == status || status == 502 && answer.status() == 503;
        assert!(same, "{target}: {answer:?}");
        assert_eq!(values(&answer, name), want, "{target} {name}");
    }
}

#[test]
fn a_server_chooses_no_other_host_and_no_other_line() {
    for (sent, want) in [
        ("http://inner:8080.evil.example/", "http://inner:8080.evil.example/"),
        ("http://inner:8080@evil.example/", "http://inner:8080@evil.example/"),
        ("http://inner:8080/app//evil.example", "http://shop.example/evil.example"),
        ("http://inner:8080/app/\\evil.example", "http://shop.example/evil.example"),
        ("http://inner:80801/", "http://inner:80801/"),
        ("", ""),
    ] {
        let text = format!("HTTP/1.1 302 Found\r\nLocation: {sent}\r\nContent-Length: 0\r\n\r\n");
        let server = ScriptedServer::answering(text.leak().as_bytes());
        let balancer =
            TestBalancer::start(&BalancerConfig::http(&[server.address()]).with_tables(RULES));
        assert_eq!(values(&get(&balancer, "/"), "location"), [want], "{sent}");
    }
}
