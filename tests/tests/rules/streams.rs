//! Rules apply to HTTP/2 requests as to HTTP/1 requests, for each stream separately.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::h2client::{H2Request, H2Response, send_all};
use tests::e2e::servers::origin;

const RULES: &str = r#"
[[service.shop.rule]]
name = "denied"
when = { path = "/admin/*" }
deny = true
[[service.shop.rule]]
name = "moved"
when = { path = "/old/*" }
redirect = { to = "https://new.example/{rest}{query}", status = 308 }
[[service.shop.rule]]
name = "closed"
when = { header = "x-closed: yes" }
answer = { status = 503, body = "shut\n", headers = "retry-after: 60" }
[[service.shop.rule]]
name = "api"
when = { path-regex = "/api/v([0-9]+)/(.*)", method = ["GET", "POST"] }
pool = "api"
rewrite = { path = "/{2}", response-set = "x-served: by-rule" }
[[service.shop.rule]]
name = "cookie"
when = { cookie = "beta=1" }
pool = "api"
[[service.shop.rule]]
name = "few"
when = { query = "few" }
limit = { rate = 1, burst = 2, by = "header", header = "x-key" }
"#;

fn with(path: &str, fields: &[(&'static str, &str)]) -> H2Request {
    let fields = fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    H2Request { fields, ..H2Request::get(path) }
}

#[test]
fn every_action_is_carried_out_on_one_connection() {
    let web = origin("web");
    let api = origin("api");
    let pools = format!("{RULES}[pool.api]\nservers = [\"{}\"]\n", api.address());
    let setup =
        BalancerConfig::http(&[web.address()]).service("http2 = \"always\"\n").with_tables(&pools);
    let balancer = TestBalancer::start(&setup);
    let asked = [
        H2Request::get("/"),
        H2Request::get("/admin/x"),
        H2Request::get("/%61dmin/x"),
        H2Request::get("/old/a/b?q=1"),
        with("/", &[("x-closed", "yes")]),
        H2Request::get("/api/v2/bytes/5"),
        H2Request::post("/api/v2/echo", b"hello"),
        // Split cookie fields count as one field (RFC 9113 §8.2.3).
        with("/", &[("cookie", "a=b"), ("cookie", "beta=1")]),
        with("/", &[("cookie", "beta=2")]),
    ];
    let answers = send_all(balancer.front(), &asked);
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 403, 403, 308, 503, 200, 200, 200, 200], "{answers:?}");
    let from = |answer: &H2Response| answer.field("x-origin").unwrap_or_default();
    let by: Vec<String> = answers.iter().map(from).collect();
    assert_eq!(by, ["web", "", "", "", "", "api", "api", "api", "web"]);
    assert_eq!(answers[3].field("location").as_deref(), Some("https://new.example/a/b?q=1"));
    assert_eq!(answers[4].body, b"shut\n");
    assert_eq!(answers[4].field("retry-after").as_deref(), Some("60"));
    assert_eq!(answers[5].body.len(), 5);
    assert_eq!(answers[5].field("x-served").as_deref(), Some("by-rule"));
    assert_eq!(answers[6].body, b"hello");
    // A token bucket of two for each key, shared by all streams.
    let few: Vec<H2Request> =
        (0..8).map(|at| with("/?few", &[("x-key", if at < 6 { "one" } else { "two" })])).collect();
    let answers = send_all(balancer.front(), &few);
    let refused = |answer: &&H2Response| answer.status == 429;
    let (one, two) = answers.split_at(6);
    assert!((3..=4).contains(&one.iter().filter(refused).count()), "{one:?}");
    assert_eq!(two.iter().filter(refused).count(), 0, "{two:?}");
    let report = balancer.report_when_settled();
    assert_eq!(report.total.requests.unaccounted, 0);
    let denied = balancer.metrics();
    assert!(
        denied.contains("steelyard_rule_hits_total{service=\"shop\",rule=\"denied\"} 2"),
        "{denied}"
    );
}
