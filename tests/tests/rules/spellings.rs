//! Fields, cookies, parameters and methods in spellings that some servers treat as equal to those in a rule.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers::origin;
use tests::e2e::wait;

const RULES: &str = r#"
[[service.shop.rule]]
name = "debug"
when = { header = "x-debug: 1" }
deny = true
[[service.shop.rule]]
name = "admin"
when = { cookie = "role=admin" }
deny = true
[[service.shop.rule]]
name = "trace"
when = { query = "trace=1" }
deny = true
[[service.shop.rule]]
name = "no-delete"
when = { method = ["DELETE", "PURGE"] }
deny = true
[[service.shop.rule]]
name = "tag"
when = { header-list = "x-tag: bad", value-case = "ignore" }
deny = true
[[service.shop.rule]]
name = "agent"
when = { header-regex = "x-agent: .*bot[0-9]+" }
deny = true
[[service.shop.rule]]
name = "role"
when = { header = "x-role", not = { header = "x-role: guest" } }
deny = true
[[service.shop.rule]]
name = "host"
when = { any = [{ host-part = "internal" }, { host-regex = "v[0-9]+[.]old" }] }
deny = true
[[service.shop.rule]]
name = "upgrade"
when = { header-list = "x-upgrade: websocket" }
pool = "web"
[[service.shop.rule]]
name = "tenant"
when = { header = "x-tenant: blue" }
pool = "web"
[[service.shop.rule]]
name = "beta"
when = { cookie = "beta=yes" }
pool = "web"
[[service.shop.rule]]
name = "version"
when = { query = "version=2" }
pool = "web"
"#;

/// Method, target, a field, and the cause of the rejection. An empty cause means that the request is served.
const ROWS: &[(&str, &str, (&str, &str), &str)] = &[
    ("GET", "/", ("x-debug", "1"), "rule-denied"),
    ("GET", "/", ("x_debug", "1"), "rule-denied"),
    ("GET", "/", ("x.debug", "1"), "rule-denied"),
    ("GET", "/", ("x_debug", "0"), ""),
    ("GET", "/", ("cookie", "role=\"admin\""), "rule-denied"),
    ("GET", "/", ("cookie", "a=\"b c\"; role=\"\\141dmin\""), "rule-denied"),
    ("GET", "/", ("cookie", "role=%61dmin"), "rule-denied"),
    ("GET", "/", ("cookie", "role=\"guest\"; theme=%22dark%22"), ""),
    ("GET", "/?trace=%2531", ("a", "b"), "rule-denied"),
    ("GET", "/?trace[]=1", ("a", "b"), "rule-denied"),
    ("GET", "/?trace=0&trace=1&trace=2", ("a", "b"), "rule-denied"),
    ("GET", "/?next=%2Fx%3Fa%26trace%3D1&q=100%25&trace=0", ("a", "b"), ""),
    ("DELETE", "/", ("a", "b"), "rule-denied"),
    ("purge", "/", ("a", "b"), "rule-denied"),
    ("delete", "/", ("a", "b"), "bad-request"),
    ("Get", "/", ("a", "b"), "bad-request"),
    ("fetch", "/", ("a", "b"), ""),
    ("GET", "/", ("x-tag", "good, BAD"), "rule-denied"),
    ("GET", "/", ("x-tag", "good, \"x,bad\""), ""),
    ("GET", "/", ("x-tag", "\"x, bad ,y\""), "rule-denied"),
    ("GET", "/", ("x-tag", "\"bad\""), "rule-denied"),
    ("GET", "/", ("x_tag", "a,bad"), "rule-denied"),
    ("GET", "/", ("x-tag", "badly, not-bad"), ""),
    ("GET", "/", ("x-agent", "curl bot7"), "rule-denied"),
    ("GET", "/", ("x-agent", "curl bot"), ""),
    ("GET", "/", ("x-role", "guest"), ""),
    ("GET", "/", ("x-role", "admin"), "rule-denied"),
    ("GET", "/", ("x-upgrade", "h2c, \"websocket\""), "ambiguous-request"),
    ("GET", "/", ("x-upgrade", "h2c, websocket"), ""),
    ("GET", "http://a.internal.example/", ("a", "b"), "rule-denied"),
    ("GET", "http://internals.example/", ("a", "b"), ""),
    ("GET", "http://V12.old/", ("a", "b"), "rule-denied"),
    ("GET", "http://v12.old.example/", ("a", "b"), ""),
    ("GET", "/", ("x_tenant", "blue"), "ambiguous-request"),
    ("GET", "/", ("x-tenant", "blue"), ""),
    ("GET", "/", ("cookie", "beta=\"yes\""), "ambiguous-request"),
    ("GET", "/?version=%2532", ("a", "b"), "ambiguous-request"),
    ("GET", "/?version=%32&version=3", ("a", "b"), ""),
];

#[test]
fn no_other_spelling_of_a_value_gets_past_a_rule() {
    let recorder = RecordingServer::start();
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).with_tables(RULES));
    for (method, target, (name, value), cause) in ROWS {
        let mut client = balancer.client();
        client.send(format!("{method} {target} HTTP/1.1\r\nHost: shop\r\n{name}: {value}\r\n\r\n"));
        let found = client.read_answer().field("x-steelyard-cause").unwrap_or_default();
        assert_eq!(&found, cause, "{method} {target} {name}: {value}");
    }
    let served = ROWS.iter().filter(|row| row.3.is_empty()).count();
    let unclear = ROWS.iter().filter(|row| row.3 == "ambiguous-request").count();
    let line =
        balancer.wait_for_log_line("the refusal", |line| line["cause"] == "ambiguous-request");
    assert_eq!(line["status"], 400, "{line}");
    let metrics = balancer.metrics();
    let counted = metrics.lines().find(|line| {
        line.starts_with("steelyard_service_causes_total{")
            && line.contains("cause=\"ambiguous-request\"")
    });
    assert!(counted.is_some_and(|line| line.ends_with(&format!(" {unclear}"))), "{counted:?}");
    // Workers hand over what they refused a moment later.
    wait::until("the refused requests are kept", || {
        let kept = balancer.refused().requests.into_iter();
        kept.filter(|one| one.cause == "ambiguous-request").count() == unclear
    });
    drop(balancer);
    assert_eq!(recorder.take().requests.len(), served);
}

#[test]
fn values_of_http_2_are_checked_likewise() {
    let web = origin("web");
    let setup =
        BalancerConfig::http(&[web.address()]).service("http2 = \"always\"\n").with_tables(RULES);
    let balancer = TestBalancer::start(&setup);
    let rows = || ROWS.iter().filter(|row| row.0 != "fetch");
    let asked: Vec<H2Request> = rows()
        .map(|(method, target, (name, value), _)| H2Request {
            method,
            fields: vec![(*name, (*value).to_owned())],
            ..H2Request::get(target)
        })
        .collect();
    for (row, answer) in rows().zip(send_all(balancer.front(), &asked)) {
        let found = answer.field("x-steelyard-cause").unwrap_or_default();
        assert_eq!(found, row.3, "{row:?} {answer:?}");
    }
}

#[test]
fn the_program_explains_what_is_unclear() {
    let web = origin("web");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[web.address()]).with_tables(RULES));
    let mut explain = std::process::Command::new(tests::e2e::balancer::program());
    explain.args(["explain", "request", "--service", "shop", "--url", "/", "--header"]);
    explain.arg("X_Tenant: blue").arg("--socket").arg(balancer.dir().join("sock"));
    let explained = explain.output().unwrap();
    let explained = String::from_utf8_lossy(&explained.stdout);
    let wanted = "refused: 400, `ambiguous-request`: rule tenant fits some readings of a field";
    assert!(explained.contains(wanted), "{explained}");
}

#[test]
fn a_field_that_connection_names_is_hidden_from_no_rule() {
    let recorder = RecordingServer::start();
    let setup = || BalancerConfig::http(&[recorder.address()]);
    let ruled = TestBalancer::start(&setup().with_tables(RULES));
    let plain = TestBalancer::start(&setup());
    for (balancer, fields, cause) in [
        (&ruled, "x-debug: 1\r\nConnection: close, X-Debug\r\n", "bad-request"),
        (&ruled, "Cookie: role=admin\r\nConnection: cookie\r\n", "bad-request"),
        (&ruled, "Connection: x-debug\r\n", ""),
        (&ruled, "Keep-Alive: 5\r\nConnection: keep-alive\r\n", ""),
        (&plain, "x-debug: 1\r\nConnection: X-Debug\r\n", ""),
    ] {
        let mut client = balancer.client();
        client.send(format!("GET / HTTP/1.1\r\nHost: shop\r\n{fields}\r\n"));
        let found = client.read_answer().field("x-steelyard-cause").unwrap_or_default();
        assert_eq!(found, cause, "{fields}");
    }
    drop((ruled, plain));
    let served = recorder.take().requests;
    assert_eq!(served.len(), 3);
    let debug = |request: &str| request.to_ascii_lowercase().contains("x-debug");
    assert!(!served.iter().any(|request| debug(&format!("{request:?}"))), "{served:?}");
}
