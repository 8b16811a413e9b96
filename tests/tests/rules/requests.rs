//! Each action of a rule, as curl sees it and as the program reports it.

use lab::origin::TestOrigin;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::origin;
use tests::e2e::tools::curl_text;
use tests::e2e::wait;

const RULES: &str = r#"
[[service.shop.rule]]
name = "denied"
when = { path = "/admin/*", not = { client = "198.51.100.0/24" } }
deny = true
[[service.shop.rule]]
name = "moved"
when = { path = "/old/*", method = ["GET", "HEAD"] }
redirect = { to = "https://new.example/x/{rest}{query}", status = 308 }
[[service.shop.rule]]
name = "closed"
when = { host = "closed.example" }
answer = { status = 503, body = "shut\n", type = "text/html", headers = "retry-after: 60" }
[[service.shop.rule]]
name = "api"
when = { path-regex = "/api/v([0-9]+)/(.*)" }
pool = "api"
mirror = "copy"
rewrite = { path = "/{2}", set = "x-version: set", response-set = "x-served: by-rule", response-remove = "x-origin" }
[[service.shop.rule]]
name = "few"
when = { query = "few" }
limit = { rate = 1, burst = 2, by = "header", header = "x-key" }
[[service.shop.rule]]
name = "empty"
when = { cookie = "empty=1" }
pool = "none"
when-unavailable = "next"
[[service.shop.rule]]
name = "cookie"
when = { cookie = "empty=1" }
pool = "api"
"#;

fn start(web: &TestOrigin, api: &TestOrigin, copy: &TestOrigin) -> TestBalancer {
    let pools = format!(
        "{RULES}[pool.api]\nservers = [\"{}\"]\n[pool.copy]\nservers = [\"{}\"]\n\
         [pool.none]\nservers = [{{ address = \"127.0.0.1:1\", state = \"disabled\" }}]\n",
        api.address(),
        copy.address()
    );
    TestBalancer::start(&BalancerConfig::http(&[web.address()]).with_tables(&pools))
}

// Rows: Z03
#[test]
fn every_action_is_carried_out_and_counted() {
    let web = origin("web");
    let api = origin("api");
    let copy = origin("copy");
    let balancer = start(&web, &api, &copy);
    let curl = |path: &str, more: &[&str]| {
        let mut arguments = vec!["-i".to_owned(), "--path-as-is".to_owned(), balancer.url(path)];
        arguments.extend(more.iter().map(|word| (*word).to_owned()));
        curl_text(&arguments).to_ascii_lowercase()
    };
    assert!(curl("/", &[]).contains("x-origin: web"));
    for path in ["/admin/x", "/%61dmin/x", "/a/../admin/x", "//admin//x"] {
        let denied = curl(path, &[]);
        assert!(denied.starts_with("http/1.1 403 "), "{path}: {denied}");
        assert!(denied.contains("x-steelyard-cause: rule-denied"), "{path}: {denied}");
    }
    let moved = curl("/old/a/b?q=1", &[]);
    assert!(moved.starts_with("http/1.1 308 "), "{moved}");
    assert!(moved.contains("location: https://new.example/x/a/b?q=1\r\n"), "{moved}");
    let closed = curl("/", &["-H", "Host: CLOSED.example:80"]);
    assert!(closed.starts_with("http/1.1 503 ") && closed.ends_with("\r\n\r\nshut\n"), "{closed}");
    assert!(closed.contains("retry-after: 60\r\n") && closed.contains("text/html"), "{closed}");
    let served = curl("/api/v2/bytes/5", &[]);
    assert!(
        served.starts_with("http/1.1 200 ") && served.contains("content-length: 5\r\n"),
        "{served}"
    );
    assert!(served.contains("x-served: by-rule") && !served.contains("x-origin"), "{served}");
    let few = |client: &mut HttpClient, key: &str| {
        client.send(format!("GET /?few HTTP/1.1\r\nHost: shop\r\nx-key: {key}\r\n\r\n"));
        client.read_answer().status()
    };
    let mut client = HttpClient::connect(balancer.front());
    let asked: Vec<u16> = (0..100).map(|_| few(&mut client, "one")).collect();
    assert_eq!(asked[..2], [200, 200]);
    assert!(asked.contains(&429), "{asked:?}");
    assert_eq!(few(&mut client, "two"), 200);
    assert!(curl("/", &["-H", "Cookie: empty=1"]).contains("x-origin: api"));

    wait::until("the copy arrives", || copy.figures().requests == 1);
    let report = balancer.report();
    let rules = &report.services[0].rules;
    let of = |name: &str| rules.iter().find(|rule| rule.name == name).unwrap();
    assert_eq!((of("denied").hits, of("moved").hits, of("closed").hits), (4, 1, 1));
    assert_eq!((of("api").hits, of("api").mirrored, of("few").hits), (1, 1, 101));
    assert!(of("few").rate_limited > 0 && of("few").rate_limit_entries == 2);
    assert_eq!((of("empty").hits, of("empty").skipped, of("cookie").hits), (0, 1, 1));
    assert!(of("api").last_unix_ms.is_some() && of("empty").last_unix_ms.is_none());
    let metrics = curl_text(&[
        "--unix-socket".to_owned(),
        balancer.dir().join("sock").display().to_string(),
        "http://localhost/v1/metrics".to_owned(),
    ]);
    assert!(
        metrics.contains("steelyard_rule_hits_total{service=\"shop\",rule=\"moved\"} 1"),
        "{metrics}"
    );
}

#[test]
fn the_program_explains_which_rule_takes_a_request() {
    let web = origin("web");
    let api = origin("api");
    let copy = origin("copy");
    let balancer = start(&web, &api, &copy);
    let explain = |more: &[&str]| {
        let mut command = std::process::Command::new(tests::e2e::balancer::program());
        command.args(["explain", "request", "--socket"]).arg(balancer.dir().join("sock"));
        let output = command.args(["--service", "shop", "--json"]).args(more).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default())
    };
    let (code, api) = explain(&["--url", "/api/v2/x?y"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        (&api["rule"]["name"], &api["rule"]["target"]),
        (&"api".into(), &"/x?y".into()),
        "{api}"
    );
    assert_eq!(api["unmatched-rules"][0]["reason"], "path /admin/* does not hold", "{api}");
    assert_eq!(
        (&api["pools"][0]["name"], &api["servers"][0]["available"]),
        (&"api".into(), &true.into())
    );
    let (_, denied) = explain(&["--url", "/x/../admin/y"]);
    assert_eq!((&denied["rule"]["name"], &denied["path"]), (&"denied".into(), &"/admin/y".into()));
    let (_, inside) = explain(&["--url", "/admin/y", "--from", "198.51.100.7"]);
    assert!(inside["rule"].is_null() && inside["pools"][0]["name"] == "web", "{inside}");
    let (_, passed) = explain(&["--url", "/", "--header", "cookie: empty=1"]);
    assert_eq!(passed["rule"]["name"], "cookie", "{passed}");
    let why =
        passed["unmatched-rules"].as_array().unwrap().last().unwrap()["reason"].as_str().unwrap();
    assert!(why.contains("no server of its pool"), "{why}");
    assert_eq!(explain(&["--url", "/a b"]).0, Some(1));
    let hits: u64 = balancer.report().services[0].rules.iter().map(|rule| rule.hits).sum();
    assert_eq!(hits, 0, "asking counts nothing");
}

#[test]
fn hostile_requests_cost_a_refusal_and_nothing_more() {
    let web = origin("web");
    let api = origin("api");
    let copy = origin("copy");
    let balancer = start(&web, &api, &copy);
    let cookies: String = (0..10_000).map(|n| format!("c{n}=x; ")).collect();
    let query = "a=b&".repeat(1_500);
    let head = |more: &str| format!("GET /?{query} HTTP/1.1\r\nHost: shop\r\n{more}\r\n");
    let many = HttpClient::connect(balancer.front())
        .send(head(&format!("Cookie: {cookies}\r\n")))
        .rest_of();
    assert!(many.starts_with("HTTP/1.1 431 "), "{many}");
    let long = HttpClient::connect(balancer.front())
        .send(format!("GET /?{} HTTP/1.1\r\nHost: shop\r\n\r\n", "a=b&".repeat(3_000)))
        .rest_of();
    assert!(long.starts_with("HTTP/1.1 414 "), "{long}");
    let mut fits = HttpClient::connect(balancer.front());
    fits.send(head(&format!("Cookie: {}\r\n", &cookies[..20_000])));
    assert_eq!(fits.read_answer().status(), 200);
    // A path with exponential time in backtracking engines.
    let deep = format!("/api/v1{}", "/x".repeat(3_000));
    assert_ne!(HttpClient::connect(balancer.front()).get(&deep).status(), 0);
}

/// Reads the rest of a rejected client's connection.
trait ReadRemaining {
    fn rest_of(&self) -> String;
}

impl ReadRemaining for HttpClient {
    fn rest_of(&self) -> String {
        use std::io::Read;
        let mut bytes = [0; 4096];
        let read = self.stream().read(&mut bytes).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    }
}

#[test]
fn a_limit_by_address_counts_a_network_of_ipv6_as_one_client() {
    let web = origin("web");
    let rule = "accept-proxy = \"127.0.0.0/8\"\n\
        rule = [{ name = \"few\", when = { path = \"/\" }, limit = { rate = 1, burst = 2, by = \"address\" } }]\n";
    let balancer = TestBalancer::start(&BalancerConfig::http(&[web.address()]).service(rule));
    let refused = |clients: &[String]| {
        let ask = |client: &String| {
            let mut to = HttpClient::connect(balancer.front());
            let family = if client.contains(':') { "TCP6" } else { "TCP4" };
            let ours = if client.contains(':') { "2001:db8::1" } else { "192.0.2.1" };
            to.send(format!(
                "PROXY {family} {client} {ours} 4444 80\r\nGET / HTTP/1.1\r\nHost: shop\r\n\r\n"
            ));
            to.read_answer().status() == 429
        };
        clients.iter().filter(|client| ask(client)).count()
    };
    let of = |write: fn(u32) -> String| (1..=60).map(write).collect::<Vec<_>>();
    // Within a second or two, the token bucket allows a few more requests.
    assert!(refused(&of(|at| format!("2001:db8:1:2::{at:x}"))) > 40, "addresses of one network");
    assert_eq!(refused(&of(|at| format!("2001:db8:7:{at:x}::1"))), 0, "networks are apart");
    assert_eq!(refused(&of(|at| format!("198.51.100.{at}"))), 0, "addresses of IPv4 are apart");
}
