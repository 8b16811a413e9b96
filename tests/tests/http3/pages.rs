//! Own pages for errors over HTTP/3, of the balancer's answers and in the place of servers'; and settings of a rule.

use serde_json::json;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::nginx::Nginx;
use tests::e2e::servers::{origin, reserve_port};

use crate::authority::Http3Authority;

#[test]
fn pages_go_out_whole_on_a_connection_that_stays() {
    let ours = Http3Authority::new();
    let nobody = reserve_port();
    let large = "x".repeat(64 * 1024);
    let file = ours.dir.write("50x.html", &large);
    let lines = format!(
        "error-page = [{{ status = \"500-599\", file = {file:?}, headers = [\"X-Own: page\"] }},\n\
         {{ status = 403, body = \"no\", as = 404 }}, {{ status = 405, as = 204 }}]\n\
         rule = [{{ when = {{ path = \"/deny\" }}, deny = true }}, {{ when = {{ path = \"/none\" }}, answer = 405 }}]\n"
    );
    let balancer = TestBalancer::start(&ours.setup_with(&[nobody.address()], "", &lines));
    let mut client = ours.client(balancer.front());
    for _ in 0..2 {
        let answer = client.get("/");
        assert!(answer["status"].as_u64().is_some_and(|status| status >= 500), "{answer}");
        assert_eq!(answer["length"], large.len());
        assert_eq!(answer["head"]["content-type"], "text/html");
        assert_eq!(answer["head"]["x-own"], "page");
        assert!(answer["head"]["x-steelyard-cause"].is_string(), "{answer}");
        assert!(answer["head"]["connection"].is_null() && answer["reset"].is_null(), "{answer}");
    }
    let denied = client.get("/deny");
    assert_eq!((&denied["status"], &denied["text"]), (&json!(404), &json!("no")), "{denied}");
    let none = client.get("/none");
    assert_eq!((&none["status"], &none["length"]), (&json!(204), &json!(0)), "{none}");
    let sent = client.does(json!({ "do": "ask", "path": "/deny", "body": 100_000 }));
    assert_eq!(sent["text"], "no", "{sent}");
    assert!(client.get("/")["status"].as_u64().is_some_and(|status| status >= 500));
}

#[test]
fn a_servers_answer_is_replaced() {
    let ours = Http3Authority::new();
    let server = Nginx::start("a");
    let lines = "error-page = [{ status = 404, body = \"page\", intercept = true, as = 200 }]\n";
    let balancer = TestBalancer::start(&ours.setup_with(&[server.address()], "", lines));
    let mut client = ours.client(balancer.front());
    for _ in 0..2 {
        let answer = client.get("/missing");
        assert_eq!((&answer["status"], &answer["text"]), (&json!(200), &json!("page")), "{answer}");
        assert_eq!(answer["head"]["content-length"], "4");
        assert_eq!(client.get("/")["text"], "a\n");
    }
}

#[test]
fn a_rule_has_its_own_times_and_limits_of_bodies() {
    let ours = Http3Authority::new();
    let web = origin("a");
    let rules = "rule = [{ when = { path = \"/delay/*\" }, timeout = { first-byte = \"200ms\" }, retries = 0 },\n\
                 { when = { header = \"x-ruled\" }, buffer = { request = \"64KiB\", when-larger = \"refuse\" } }]\n";
    let balancer = TestBalancer::start(&ours.setup_with(&[web.address()], "", rules));
    let mut client = ours.client(balancer.front());
    assert_eq!(client.get("/delay/30000")["status"], 504);
    let mut post = |bytes: u64, fields: serde_json::Value| {
        let order = json!({ "do": "ask", "path": "/echo", "body": bytes, "fields": fields });
        let answer = client.does(order);
        (answer["status"].as_u64(), answer["length"].as_u64())
    };
    let ruled = json!({ "x-ruled": "1" });
    assert_eq!(post(60_000, ruled.clone()), (Some(200), Some(60_000)));
    assert_eq!(post(100_000, ruled).0, Some(413));
    assert_eq!(post(100_000, json!({})), (Some(200), Some(100_000)));
}
