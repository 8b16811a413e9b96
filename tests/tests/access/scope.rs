//! Which requests must prove who they are: rules, their own answers, preflights, and services beside.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers;
use tests::e2e::wait;

use crate::passwords::{USERS, ask, basic};

/// Rules in the order in which they are asked.
const RULES: &str = r#"auth = "staff"
[[service.shop.rule]]
when = { path = "/denied" }
deny = true
[[service.shop.rule]]
when = { path = "/health" }
auth = "off"
[[service.shop.rule]]
when = { method = "OPTIONS", header = "access-control-request-method" }
auth = "off"
[[service.shop.rule]]
when = { path = "/old" }
redirect = "/new"
[[service.shop.rule]]
when = { path = "/secret-old" }
redirect = "/secret-new"
auth = "staff"
[[service.shop.rule]]
when = { path = "/limited" }
limit = { rate = 1, burst = 1 }
[[service.shop.rule]]
when = { path = "/mirrored" }
mirror = "copies"
[[service.shop.rule]]
when = { path = "/signed" }
rewrite = { set = "Authorization: Bearer ours" }
"#;

#[test]
fn rules_say_who_is_asked_and_what_is_denied_or_limited_is_not_asked_for() {
    let recorder = RecordingServer::start();
    let copies = RecordingServer::start();
    let dir = TestDir::new();
    let file = dir.write("users", USERS);
    let tables = format!(
        "[auth.staff]\nkind = \"basic\"\nfile = {file:?}\n\
         [pool.copies]\nservers = [\"{}\"]\n",
        copies.address()
    );
    let setup = BalancerConfig::http(&[recorder.address()]).service(RULES).with_tables(&tables);
    let balancer = TestBalancer::start(&setup);
    let good = format!("Authorization: {}\r\n", basic("apr1", "open sesame"));
    let preflight = "Access-Control-Request-Method: PUT\r\nOrigin: https://a.example\r\n";
    for (method, target, lines, status) in [
        ("GET", "/", "", 401),
        ("GET", "/", good.as_str(), 200),
        ("GET", "/denied", "", 403),
        ("GET", "/denied", good.as_str(), 403),
        ("GET", "/health", "", 200),
        ("GET", "/health", good.as_str(), 200),
        ("OPTIONS", "/", preflight, 200),
        ("OPTIONS", "/", "", 401),
        ("GET", "/", preflight, 401),
        ("GET", "/old", "", 302),
        ("GET", "/secret-old", "", 401),
        ("GET", "/secret-old", good.as_str(), 302),
        ("GET", "/limited", "", 401),
        ("GET", "/limited", "", 429),
        ("GET", "/mirrored", "", 401),
        ("GET", "/mirrored", good.as_str(), 200),
        ("GET", "/signed", good.as_str(), 200),
    ] {
        let mut client = balancer.client();
        client.send(format!("{method} {target} HTTP/1.1\r\nHost: shop.example\r\n{lines}\r\n"));
        assert_eq!(client.read_answer().status(), status, "{method} {target} {lines}");
    }
    let record = recorder.so_far();
    let values: Vec<Option<String>> =
        record.requests.iter().map(|request| request.field("authorization")).collect();
    let kept = good.strip_prefix("Authorization: ").map(|value| value.trim().to_owned());
    assert_eq!(values, [None, None, kept, None, None, Some("Bearer ours".to_owned())]);
    wait::until("the copy", || !copies.so_far().requests.is_empty());
    let mirrored = copies.so_far();
    assert_eq!(mirrored.requests.len(), 1, "nobody's copy was sent");
    assert_eq!(mirrored.requests[0].field("authorization"), None);
}

#[test]
fn a_user_field_is_believed_of_no_client_of_another_service_before_the_same_servers() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let file = dir.write("users", USERS);
    let beside = servers::reserve_port();
    let address = beside.address();
    let tables = format!(
        "[auth.staff]\nkind = \"basic\"\nfile = {file:?}\nuser-field = \"X-User\"\n\
         [service.open]\nlisten = \"{address}\"\nforward = \"http\"\npool = \"web\"\n"
    );
    let setup = BalancerConfig::http(&[recorder.address()])
        .service("auth = \"staff\"\n")
        .with_tables(&tables);
    let balancer = TestBalancer::start(&setup);
    let good = format!("Authorization: {}\r\nX-User: root\r\n", basic("apr1", "open sesame"));
    assert_eq!(ask(&balancer, "/", &good).status(), 200);
    let mut client = tests::e2e::client::HttpClient::connect(address);
    client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nX-User: root\r\nX.User: root\r\nTransfer-Encoding: chunked\r\n\r\n\
         0\r\nX-User: root\r\n\r\n",
    );
    assert_eq!(client.read_answer().status(), 200);
    let record = recorder.so_far();
    assert_eq!(record.requests[0].field("x-user").as_deref(), Some("apr1"));
    let all = String::from_utf8_lossy(&record.connections.concat()).into_owned();
    assert!(!all.contains("root"), "{all}");
}
