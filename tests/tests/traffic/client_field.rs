//! The field with the client's address, forwarding fields that pass from anyone, and field names of unusual characters.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::RecordingServer;

/// What a server got of a request with these fields over HTTP/1 and over HTTP/2, each as the values of one field.
fn passed(service: &str, fields: &[(&'static str, &str)], name: &str) -> [Vec<String>; 2] {
    let recorder = RecordingServer::start();
    let lines = format!("http2 = \"always\"\n{service}");
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(&lines));
    let mut client = balancer.client();
    let lines: String = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    client.send(format!("GET / HTTP/1.1\r\nHost: shop.example\r\n{lines}\r\n"));
    assert_eq!(client.read_answer().status(), 200, "{service}");
    let mut asked = H2Request::get("/");
    asked.fields =
        fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect::<Vec<_>>();
    assert_eq!(send_all(balancer.front(), &[asked])[0].status, 200, "{service}");
    drop((client, balancer));
    let requests = recorder.take().requests;
    let values = |request: &ReceivedMessage| -> Vec<String> {
        let own = request.fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        own.map(|(_, value)| value.clone()).collect()
    };
    [values(&requests[0]), values(&requests[1])]
}

#[test]
fn the_client_is_named_after_the_rules_in_each_mode() {
    let came = [("x-forwarded-for", "192.0.2.1"), ("x-forwarded-for", "192.0.2.2")];
    let remove = "rule = [{ when = { path = \"/*\" }, rewrite = { remove = \"X-Forwarded-For\" }, pool = \"web\" }]\n";
    let service = |mode: &str, more: &str| {
        let field =
            format!("client-field = {{ name = \"X-Forwarded-For\", mode = \"{mode}\"{more} }}");
        format!("forwarded = {{ x-forwarded = \"pass\", {field} }}\n")
    };
    for (mode, expected) in [
        ("add", &["192.0.2.1", "192.0.2.2", "127.0.0.1"][..]),
        ("list", &["192.0.2.1", "192.0.2.2, 127.0.0.1"]),
        ("set", &["127.0.0.1"]),
        ("if-absent", &["192.0.2.1", "192.0.2.2"]),
    ] {
        let text = service(mode, "");
        for got in passed(&text, &came, "x-forwarded-for") {
            assert_eq!(got, expected, "{mode}");
        }
        for got in passed(&text, &[], "x-forwarded-for") {
            assert_eq!(got, ["127.0.0.1"], "{mode}, nothing came");
        }
        for got in passed(&(text + remove), &came, "x-forwarded-for") {
            assert_eq!(got, ["127.0.0.1"], "{mode}, a rule has removed what came");
        }
        let except = service(mode, ", except = [\"127.0.0.0/8\"]");
        for got in passed(&except, &came, "x-forwarded-for") {
            assert_eq!(
                got,
                ["192.0.2.1", "192.0.2.2"],
                "{mode}, a client for whom nothing is written"
            );
        }
    }
    let short = "forwarded = { client-field = \"X-Client\" }\n";
    for spelled in ["x-client", "x_client", "x.client"] {
        for got in passed(short, &[(spelled, "192.0.2.1")], spelled) {
            let expected: &[&str] = if spelled == "x-client" { &["127.0.0.1"] } else { &[] };
            assert_eq!(got, expected, "{spelled}");
        }
    }
}

#[test]
fn forwarding_fields_of_anyone_pass_where_that_is_wanted() {
    let service = "forwarded = { x-forwarded = \"pass\", forwarded = \"pass\", via = false }\n\
                   rule = [{ when = { not = { header = \"x-forwarded-proto: https\" } }, deny = true }]\n";
    let came = [
        ("x-forwarded-for", "192.0.2.1"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "a.example"),
        ("x-real-ip", "192.0.2.1"),
        ("forwarded", "for=192.0.2.1"),
    ];
    for (name, value) in came {
        for got in passed(service, &came, name) {
            assert_eq!(got, [value], "{name}");
        }
    }
    for name in ["x-forwarded-for", "x-real-ip", "forwarded"] {
        for got in passed(service, &came[1..2], name) {
            assert!(got.is_empty(), "{name} came from nobody: {got:?}");
        }
    }
}

#[test]
fn fields_of_unusual_names_are_dropped_or_refused() {
    let recorder = RecordingServer::start();
    let setup = |policy: &str| {
        let rule = "rule = [{ when = { header = \"x-user\" }, deny = true }]\n";
        let lines = format!("field-names = \"{policy}\"\nhttp2 = \"always\"\n{rule}");
        BalancerConfig::http(&[recorder.address()]).service(&lines)
    };
    let mut balancer = TestBalancer::start(&setup("drop"));
    let request = "POST / HTTP/1.1\r\nHost: a\r\nX_User: eve\r\nX.Id: 1\r\nx-ok-1: yes\r\n\
                   Transfer-Encoding: chunked\r\n\r\n0\r\nX_Late: 1\r\nX-Sum: 2\r\n\r\n";
    let ask = |balancer: &TestBalancer| {
        let mut client = balancer.client();
        client.send(request);
        client.read_answer()
    };
    assert_eq!(ask(&balancer).status(), 200);
    let mut over_h2 = H2Request::get("/");
    over_h2.fields = vec![("x_user", "eve".to_owned()), ("x-ok-1", "yes".to_owned())];
    assert_eq!(send_all(balancer.front(), &[over_h2])[0].status, 200);
    let record = recorder.so_far();
    for got in &record.requests {
        assert_eq!(got.field("x-ok-1").as_deref(), Some("yes"));
        assert!(got.fields.iter().all(|(name, _)| !name.contains(['_', '.'])), "{:?}", got.fields);
    }
    let text = String::from_utf8_lossy(&record.connections[0]).into_owned();
    assert!(text.contains("\r\n0\r\nX-Sum: 2\r\n\r\n") && !text.contains("X_"), "{text}");
    let count = "steelyard_service_fields_dropped_total{service=\"shop\"} 3";
    assert!(balancer.metrics().contains(count), "{}", balancer.metrics());

    balancer.reload(&setup("refuse"));
    let refused = ask(&balancer);
    assert_eq!(refused.status(), 400);
    balancer.wait_for_log_line("refused", |line| {
        line["defect"] == "unusual-name" && line["cause"] == "bad-request"
    });
    let mut over_h2 = H2Request::get("/");
    over_h2.fields = vec![("x_user", "eve".to_owned())];
    assert_eq!(send_all(balancer.front(), &[over_h2])[0].status, 400);
    assert_eq!(recorder.so_far().requests.len(), 2, "none of them reaches a server");

    balancer.reload(&setup("any"));
    assert_eq!(ask(&balancer).status(), 403, "a server may read it as what the rule denies");
}
