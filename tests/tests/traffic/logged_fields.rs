//! The fields of the access log that are asked for: what clients sent, in the order of the configuration.

use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::recording_server::RecordingServer;

const REQUEST: &str = "GET /a HTTP/1.1\r\nHost: Shop.Example\r\nUser-Agent: curl/8\r\nReferer: https://x/\"\r\n\
                       Cookie: t=1; session=abc\r\nX-Tenant: blue\r\nX-Tenant: red\r\n\r\n";

const RULES: &str = "http2 = \"always\"\nrule = [{ name = \"all\", when = { path = \"/a\" }, \
                     rewrite = { host = \"inner\" }, pool = \"web\" }]\n";

fn start(log: &str, recorder: &RecordingServer) -> TestBalancer {
    let setup = BalancerConfig::http(&[recorder.address()]).service(RULES);
    TestBalancer::start(&setup.log_with(log))
}

fn names(line: &Value) -> Vec<&str> {
    line.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_line_has_the_fields_as_the_client_sent_them_and_no_others() {
    let recorder = RecordingServer::start();
    let fields = "fields = [\"status\", \"host\", \"user-agent\", \"referer\", \"header.X-Tenant\", \
                  \"cookie.session\", \"sni\", \"tls-version\", \"rule\", \"client\", \"connection\", \"target\"]";
    let balancer = start(&format!("all = true, {fields}"), &recorder);
    let mut client = balancer.client();
    client.send(REQUEST);
    assert_eq!(client.read_answer().status(), 200);
    let mut over_h2 = H2Request::get("/h2");
    over_h2.fields = vec![("x-tenant", "green".to_owned()), ("cookie", "session=h2".to_owned())];
    assert_eq!(send_all(balancer.front(), &[over_h2])[0].status, 200);

    let line = balancer.wait_for_log_line("over HTTP/1", |line| line["target"] == "/a");
    for (key, value) in [
        ("host", "Shop.Example"),
        ("user-agent", "curl/8"),
        ("referer", "https://x/\""),
        ("header.X-Tenant", "blue"),
        ("cookie.session", "abc"),
        ("rule", "all"),
    ] {
        assert_eq!(line[key], value, "{line}");
    }
    assert_eq!(line["client"], line["connection"], "{line}");
    assert_eq!(names(&line).len(), 10, "neither others nor those that are not known: {line}");
    let text = balancer.log_text();
    let order = ["{\"status\":200,\"host\":", ",\"client\":", ",\"target\":\"/a\"}\n"];
    let places: Vec<_> = order.iter().map(|part| text.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    let line = balancer.wait_for_log_line("over HTTP/2", |line| line["target"] == "/h2");
    assert_eq!(
        (&line["header.X-Tenant"], &line["cookie.session"]),
        (&"green".into(), &"h2".into())
    );
}

#[test]
fn both_clients_and_a_refused_requests_host_are_there_beside_the_default() {
    let recorder = RecordingServer::start();
    let own = "trust = \"127.0.0.0/8\"\nclient-from = \"x-forwarded-for\"\n";
    let setup = BalancerConfig::http(&[recorder.address()]).service(own);
    let fields = "all = true, fields = [\"default\", \"connection\", \"host\"]";
    let balancer = TestBalancer::start(&setup.log_with(fields));
    let mut client = balancer.client();
    client.send("GET /named HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n");
    assert_eq!(client.read_answer().status(), 200);
    let line = balancer.wait_for_log_line("the named client", |line| line["target"] == "/named");
    assert_eq!((&line["client"], &line["host"]), (&"203.0.113.9".into(), &"a".into()));
    assert!(line["connection"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
    let mut client = balancer.client();
    client.send("GET /bad HTTP/1.1\r\nHost: b\r\nbad name: x\r\n\r\n");
    assert_eq!(client.read_answer().status(), 400);
    let line = balancer.wait_for_log_line("the refused", |line| line["cause"] == "bad-request");
    assert_eq!(line["host"], "b", "{line}");
    assert!(names(&line).contains(&"connection"), "{line}");
}

#[test]
fn a_sample_has_its_weight_and_all_that_failed() {
    let recorder = RecordingServer::start();
    let balancer = start("sample = \"25%\"", &recorder);
    let mut client = balancer.client();
    for _ in 0..800 {
        client.send(REQUEST);
        assert_eq!(client.read_answer().status(), 200);
    }
    for _ in 0..10 {
        let mut other = balancer.client();
        other.send("GET /broken HTTP/1.1\r\nHost: a\r\nbad name: x\r\n\r\n");
        assert_eq!(other.read_answer().status(), 400);
    }
    // The last one of its worker: lines of one worker are in their order.
    client.send("GET /last HTTP/1.1\r\nHost: a\r\nbad name: x\r\n\r\n");
    assert_eq!(client.read_answer().status(), 400);
    let is_failed = |line: &&Value| line["cause"] == "bad-request";
    let count = || balancer.log().iter().filter(is_failed).count();
    tests::e2e::wait::until("all that failed", || count() == 11);
    let lines = balancer.log();
    assert!(lines.iter().filter(is_failed).all(|line| line.get("weight").is_none()));
    // Slow ones are logged in any case and stand for themselves; how many they are is the machine's affair. Of the rest a
    // quarter is drawn: 800 draws have a standard deviation of 12, and 6 of them are allowed.
    let good: Vec<&Value> = lines.iter().filter(|line| line["status"] == 200).collect();
    let drawn = good.iter().filter(|line| line["weight"] == 4.0).count();
    let slow = good.len() - drawn;
    let expected = (800 - slow) as f64 / 4.0;
    assert!((drawn as f64 - expected).abs() < 75.0, "{drawn} drawn, {slow} slow");
    let estimate: f64 = good.iter().map(|line| line["weight"].as_f64().unwrap_or(1.0)).sum();
    assert!((estimate - 800.0).abs() < 300.0, "{estimate}");
    let told = balancer.cli_output(&["log", "--status", "299"]);
    assert!(told.contains("access-log.sample"), "{told}");
}
