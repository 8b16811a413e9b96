//! Edits of requests and answers: all that fit are made in order, before the rules and after them.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::{RecordingServer, ScriptedServer};

const EDITS: &str = r#"
[[service.shop.edit]]
name = "mobile"
when = { header = "user-agent: *Mobile*" }
rewrite = { set = "X-Device: mobile" }
[[service.shop.edit]]
when = { header = "x-device: mobile", path = "/m/*" }
rewrite = { add = "X-Seen: {header.x-device} {client}", remove = "x-secret" }
[[service.shop.edit]]
name = "main"
pool = "web"
when = { header = "x-rule" }
rewrite = { set = "X-Pool: web", remove = "x-rule" }
[[service.shop.edit]]
pool = "down"
rewrite = { set = "X-Pool: down" }
[[service.shop.edit]]
rewrite = { response-add = [{ field = "X-Own: {host-name}", own = true }] }
[[service.shop.rule]]
when = { header = "x-device: mobile", path = "/gone" }
answer = 410
[[service.shop.rule]]
when = { path = "/m/*" }
rewrite = { add = "X-Rule: 1" }
[pool.down]
servers = ["127.0.0.1:1"]
"#;

fn get(balancer: &TestBalancer, target: &str, fields: &str) -> ReceivedMessage {
    let mut client = HttpClient::connect(balancer.front());
    client.send(format!("GET {target} HTTP/1.1\r\nHost: shop.example\r\n{fields}\r\n"));
    client.read_answer()
}

fn values<'m>(message: &'m ReceivedMessage, name: &str) -> Vec<&'m str> {
    let own = message.fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
    own.map(|(_, value)| value.as_str()).collect()
}

/// What a server gets of a mobile client, of another one, and of one that only claims to be mobile.
fn check_requests(requests: &[ReceivedMessage]) {
    let rows: [&[(&str, &[&str])]; 3] = [
        &[
            ("x-device", &["mobile"]),
            ("x-seen", &["mobile 127.0.0.1"]),
            ("x-secret", &[]),
            ("x-pool", &["web"]),
            ("x-rule", &[]),
        ],
        &[("x-device", &[]), ("x-seen", &[]), ("x-secret", &["1"]), ("x-pool", &["web"])],
        &[("x-device", &["none"]), ("x-seen", &[]), ("x-secret", &["1"]), ("x-pool", &[])],
    ];
    assert_eq!(requests.len(), rows.len());
    for (request, row) in requests.iter().zip(rows) {
        for (name, want) in row {
            assert_eq!(values(request, name), *want, "{name} in {request:?}");
        }
    }
}

#[test]
fn edits_are_made_before_the_rules_and_for_their_pool() {
    let recorder = RecordingServer::start();
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).with_tables(EDITS));
    let mobile = "User-Agent: A Mobile B\r\nX-Secret: 1\r\nx_device: none\r\n";
    let answer = get(&balancer, "/m/x", mobile);
    assert_eq!((answer.status(), values(&answer, "x-own")), (200, vec!["shop.example"]));
    get(&balancer, "/m/x", "X-Secret: 1\r\n");
    get(&balancer, "/x", "X-Secret: 1\r\nX-Device: none\r\n");
    // The rule sees the field that an edit has set, and an answer of the balancer gets what is meant for it.
    let gone = get(&balancer, "/gone", mobile);
    assert_eq!((gone.status(), values(&gone, "x-own")), (410, vec!["shop.example"]));
    assert_eq!(get(&balancer, "/gone", "").status(), 200);
    let explained = balancer.cli_output(&[
        "explain",
        "request",
        "--url",
        &balancer.url("/m/x"),
        "--header",
        "user-agent: Mobile",
    ]);
    assert!(explained.contains("edits    mobile, edit-2, edit-5, main\n"), "{explained}");
    drop(balancer);
    let mut requests = recorder.take().requests;
    requests.truncate(3);
    check_requests(&requests);
}

#[test]
fn requests_of_http_2_are_edited_likewise() {
    let recorder = RecordingServer::start();
    let setup = BalancerConfig::http(&[recorder.address()])
        .service("http2 = \"always\"\n")
        .with_tables(EDITS);
    let balancer = TestBalancer::start(&setup);
    let with = |path: &str, fields: &[(&'static str, &str)]| {
        let fields = fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        H2Request { fields, ..H2Request::get(path) }
    };
    let mobile = [("user-agent", "A Mobile B"), ("x-secret", "1"), ("x-device", "none")];
    for request in [
        with("/m/x", &mobile),
        with("/m/x", &[("x-secret", "1")]),
        with("/x", &[("x-secret", "1"), ("x-device", "none")]),
    ] {
        let answers = send_all(balancer.front(), &[request]);
        assert_eq!(answers[0].field("x-own").as_deref(), Some("shop.example"), "{answers:?}");
    }
    drop(balancer);
    check_requests(&recorder.take().requests);
}

#[test]
fn answers_are_edited_where_they_meet_the_condition() {
    let server = ScriptedServer::answering(
        b"HTTP/1.1 503 Busy\r\nX-Error: full\r\nX-Error: again\r\nServer: x\r\nContent-Length: 0\r\n\r\n",
    );
    let edits = r#"
edit = [
    { when-response = "500-599", rewrite = { response-set = "X-Class: bad", response-remove = "server" } },
    { when-response = 200, rewrite = { response-set = "X-Class: good" } },
    { when-response = { header = "x-class: bad", without = "server" }, rewrite = { response-add = ["X-After: {client}"] } },
    { when-response = { without = "x-class" }, rewrite = { response-set = "X-None: 1" } },
    { when-response = { header = "x-error: again" }, rewrite = { response-remove = "x-error" } },
    { when = { path = "/other" }, rewrite = { response-set = "X-Class: other" } },
    { when-response = "502", rewrite = { response-add = [{ field = "X-Own: 1", own = true }] } },
    { when-response = "502", rewrite = { response-remove = "x-own", response-add = [{ field = "X-Own: 2", own = true }] } },
]
"#;
    let setup = BalancerConfig::http(&[server.address()]).service(edits).pool("retries = 0\n");
    let mut balancer = TestBalancer::start(&setup);
    for (target, class) in [("/", "bad"), ("/other", "other")] {
        let answer = get(&balancer, target, "");
        for (name, want) in [
            ("x-class", &[class][..]),
            ("x-after", &["127.0.0.1"]),
            ("x-none", &[]),
            ("x-error", &[]),
            ("server", &[]),
            ("x-own", &[]),
        ] {
            assert_eq!(values(&answer, name), *want, "{name} in {answer:?}");
        }
    }
    let down = "[pool.down]\nservers = [\"127.0.0.1:1\"]\n[[service.shop.rule]]\npool = \"down\"\n";
    balancer.reload(&setup.with_tables(down));
    let answer = get(&balancer, "/", "");
    assert_eq!((answer.status(), values(&answer, "x-own")), (502, vec!["2"]), "{answer:?}");
}

#[test]
fn a_reload_changes_edits_and_doubtful_requests_are_counted() {
    let recorder = RecordingServer::start();
    let with = |edit: &str| {
        let table = format!("edit = [{edit}]\n");
        BalancerConfig::http(&[recorder.address()]).service(&table)
    };
    let first = with("{ when = { path = \"/admin/*\" }, rewrite = { remove = \"x-user\" } }");
    let mut balancer = TestBalancer::start(&first);
    for target in ["/x", "/x/..;/admin/y", "/admin/y"] {
        get(&balancer, target, "X_User: eve\r\n");
    }
    let count = "steelyard_service_edits_ambiguous_total{service=\"shop\"} 1";
    assert!(balancer.metrics().contains(count), "{}", balancer.metrics());
    balancer.reload(&with("{ rewrite = { set = \"X-User: nobody\" } }"));
    get(&balancer, "/x", "X_User: eve\r\n");
    drop(balancer);
    let requests = recorder.take().requests;
    let users: Vec<Vec<&str>> = requests
        .iter()
        .map(|request| [values(request, "x_user"), values(request, "x-user")].concat())
        .collect();
    assert_eq!(users, [vec!["eve"], vec![], vec![], vec!["nobody"]]);
}
