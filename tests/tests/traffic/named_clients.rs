//! Clients that trusted proxies name in fields: beside nginx and HAProxy, over each protocol, and everything that uses them.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;
use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::haproxy::Haproxy;
use tests::e2e::nginx::Nginx;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers;
use tests::e2e::wait;

/// The table that the unit tests of the walk read as well.
const CHAINS: &str = include_str!("../../../crates/model/tests/vectors/client/chains.txt");

const TRUST: &str = "trust = [\"127.0.0.0/8\", \"10.0.0.0/8\", \"2001:db8:cd::/48\"]\n";

const SHOW: &str = "http2 = \"always\"\nrule = [{ when = { path = \"/*\" }, \
                    rewrite = { response-add = [\"X-Found: {client}\"] }, pool = \"web\" }]\n";

/// A row of the table.
struct ForgedChain<'a> {
    text: &'a str,
    field: &'a str,
    lines: Vec<&'a str>,
    ours: &'a str,
    stop: &'a str,
    nginx: &'a str,
}

fn chains() -> Vec<ForgedChain<'static>> {
    let rows = CHAINS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let chain = |text: &'static str| {
        let columns: Vec<&str> = text.split('|').map(str::trim).collect();
        let [kind, lines, ours, stop, nginx] = columns[..] else { panic!("{text}") };
        let field = match kind {
            "xff" => "X-Forwarded-For",
            "forwarded" => "Forwarded",
            _ => "CF-Connecting-IP",
        };
        let lines = lines.split(" ;; ").filter(|line| !line.is_empty()).collect();
        let nginx = if nginx == "=" { ours } else { nginx };
        ForgedChain { text, field, lines, ours, stop, nginx }
    };
    rows.map(chain).collect()
}

/// What the field `X-Found` of an answer over HTTP/1 says.
fn ask(front: SocketAddr, field: &str, lines: &[&str]) -> Option<String> {
    let fields: String = lines.iter().map(|line| format!("{field}: {line}\r\n")).collect();
    let mut client = HttpClient::connect(front);
    client.send(format!("GET / HTTP/1.1\r\nHost: shop.example\r\n{fields}\r\n"));
    let answer = client.read_answer();
    assert_eq!(answer.status(), 200, "{field}: {lines:?}");
    answer.field("x-found")
}

#[test]
fn forged_chains_lead_to_the_same_clients_as_with_nginx() {
    let recorder = RecordingServer::start();
    let rows = chains();
    assert!(rows.len() >= 60);
    let mut compared = 0;
    for field in ["X-Forwarded-For", "Forwarded", "CF-Connecting-IP"] {
        let own = format!("{TRUST}client-from = \"{field}\"\n{SHOW}");
        let balancer =
            TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(&own));
        let nginx = Nginx::with(
            "nginx",
            &format!(
                "set_real_ip_from 127.0.0.0/8; set_real_ip_from 10.0.0.0/8; set_real_ip_from 2001:db8:cd::/48;\n\
                 real_ip_header {field}; real_ip_recursive on; add_header X-Found $remote_addr always;"
            ),
        );
        for row in rows.iter().filter(|row| row.field == field) {
            let found = ask(balancer.front(), field, &row.lines);
            assert_eq!(found.as_deref(), Some(row.ours), "{}", row.text);
            let mut asked = H2Request::get("/");
            let name = ["x-forwarded-for", "forwarded", "cf-connecting-ip"]
                .into_iter()
                .find(|name| name.eq_ignore_ascii_case(field))
                .unwrap();
            asked.fields = row.lines.iter().map(|line| (name, (*line).to_owned())).collect();
            let over_h2 = &send_all(balancer.front(), &[asked])[0];
            assert_eq!(over_h2.field("x-found").as_deref(), Some(row.ours), "HTTP/2: {}", row.text);
            if row.nginx != "-" {
                let theirs = ask(nginx.address(), field, &row.lines);
                assert_eq!(theirs.as_deref(), Some(row.nginx), "nginx: {}", row.text);
                compared += 1;
            }
        }
        let wanted = rows.iter().filter(|row| row.field == field);
        let unnamed = wanted
            .filter(|row| !["untrusted", "all-trusted", "single"].contains(&row.stop))
            .count();
        let count = "steelyard_service_clients_from_proxies_total{service=\"shop\",named=\"no\"}";
        assert!(balancer.metrics().contains(&format!("{count} {}", 2 * unnamed)), "{field}");
    }
    assert!(compared >= 40, "{compared}");
}

#[test]
fn the_last_address_is_the_client_as_with_haproxy() {
    let recorder = RecordingServer::start();
    let own = format!("trust = \"127.0.0.0/8\"\nclient-from = \"x-forwarded-for\"\n{SHOW}");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(&own));
    let port = servers::reserve_port();
    let sections = format!(
        "frontend f\n  bind {}\n  http-request set-src hdr_ip(x-forwarded-for,-1)\n  \
         http-request return status 200 hdr X-Found %[src]\n",
        port.address()
    );
    let _haproxy = Haproxy::start(&sections, port.address());
    for lines in [
        &[][..],
        &["203.0.113.9"],
        &["198.51.100.1, 203.0.113.9"],
        &["198.51.100.1", "203.0.113.9"],
        &["203.0.113.9:4711"],
        &["2001:db8::9"],
        &["unknown, 203.0.113.9"],
        &["203.0.113.9, unknown"],
        &["203.0.113.9, 10.0.0.256"],
    ] {
        let ours = ask(balancer.front(), "X-Forwarded-For", lines);
        assert!(ours.is_some());
        assert_eq!(ours, ask(port.address(), "X-Forwarded-For", lines), "{lines:?}");
    }
}

#[test]
fn an_untrusted_peer_is_the_client_whatever_it_sends() {
    let recorder = RecordingServer::start();
    for field in ["X-Forwarded-For", "Forwarded", "CF-Connecting-IP"] {
        let own = format!("trust = \"10.0.0.0/8\"\nclient-from = \"{field}\"\n{SHOW}");
        let balancer =
            TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(&own));
        for row in chains().iter().filter(|row| row.field == field) {
            let found = ask(balancer.front(), field, &row.lines);
            assert_eq!(found.as_deref(), Some("127.0.0.1"), "{}", row.text);
        }
        let line = balancer.wait_for_log_line("a request", |line| line["status"] == 200);
        assert!(line.get("connection").is_none() && line.get("client-from").is_none(), "{line}");
    }
}

#[test]
fn rules_limits_affinity_hashes_and_the_log_use_the_client() {
    let recorders = [RecordingServer::start(), RecordingServer::start()];
    let rules = "rule = [{ when = { client = \"203.0.113.66\" }, deny = true },\n\
                 { when = { path = \"/limited\" }, limit = { rate = 1, burst = 1, by = \"address\" }, pool = \"web\" }]\n";
    let own = format!(
        "{TRUST}client-from = \"x-forwarded-for\"\nsticky = {{ by = \"address\", expire = \"1h\" }}\n\
         forwarded = {{ forwarded = \"replace\" }}\n{rules}"
    );
    let setup = BalancerConfig::http(&recorders.each_ref().map(|it| it.address())).service(&own);
    let balancer = TestBalancer::start(&setup);
    // One connection, as that of a proxy: many clients share it.
    let mut client = balancer.client();
    let mut status = |path: &str, chain: &str| {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: shop.example\r\nX-Forwarded-For: {chain}\r\n\r\n"
        );
        client.send(head);
        client.read_answer().status()
    };
    assert_eq!(status("/", "203.0.113.66"), 403, "a rule about the client");
    assert_eq!(status("/", "203.0.113.66, 203.0.113.1"), 200, "a forged one");
    assert_eq!(status("/limited", "203.0.113.2"), 200);
    assert_eq!(status("/limited", "203.0.113.2"), 429, "its own bucket");
    assert_eq!(status("/limited", "203.0.113.3"), 200, "another client's");
    for _ in 0..6 {
        for client in ["203.0.113.10", "203.0.113.11", "203.0.113.12", "203.0.113.13"] {
            assert_eq!(status("/kept", client), 200);
        }
    }
    let line = balancer.wait_for_log_line("a kept client", |line| line["target"] == "/kept");
    assert_eq!(line["client"], "203.0.113.10");
    assert!(line["connection"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
    assert_eq!(
        [&line["client-from"], &line["client-stop"], &line["client-hops"]],
        [&Value::from("x-forwarded-for"), &Value::from("untrusted"), &Value::from(1)]
    );
    let kept = |client: &str| {
        let lines = balancer.log();
        let own = lines.iter().filter(|it| it["client"] == client && it["target"] == "/kept");
        own.map(|line| line["server"].clone()).collect::<Vec<_>>()
    };
    tests::e2e::wait::until("the lines of all clients", || {
        ["203.0.113.10", "203.0.113.11", "203.0.113.12", "203.0.113.13"]
            .iter()
            .all(|client| kept(client).len() == 6)
    });
    for client in ["203.0.113.10", "203.0.113.11", "203.0.113.12"] {
        let servers = kept(client);
        assert_eq!(servers.len(), 6, "{client}");
        assert!(servers.iter().all(|server| *server == servers[0]), "{client}: {servers:?}");
    }
    let found = balancer.cli_output(&["log", "--client", "203.0.113.66"]);
    assert!(found.contains("rule-denied"), "{found}");
    drop(client);
    let sent = recorders.each_ref().map(|it| it.so_far().requests).concat();
    let kept: Vec<_> = sent.iter().filter(|it| it.field("x-forwarded-for").is_some()).collect();
    let chain =
        kept.iter().find_map(|it| it.field("x-forwarded-for").filter(|it| it.contains("66")));
    assert_eq!(chain.as_deref(), Some("203.0.113.66, 203.0.113.1, 127.0.0.1"));
    let replaced = kept
        .iter()
        .filter(|it| it.field("x-forwarded-for").is_some_and(|it| it.contains("66")))
        .find_map(|it| it.field("forwarded"));
    let replaced = replaced.unwrap();
    assert!(replaced.starts_with("for=203.0.113.1;"), "the client stands alone: {replaced}");
}

#[test]
fn explain_says_which_client_is_found_and_why() {
    let recorder = RecordingServer::start();
    let rule =
        "rule = [{ name = \"office\", when = { client = \"203.0.113.0/24\" }, pool = \"web\" }]\n";
    let own = format!("{TRUST}client-from = \"x-forwarded-for\"\n{rule}");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(&own));
    let explain = |from: &str, chain: &str| {
        let field = format!("x-forwarded-for: {chain}");
        balancer
            .cli_output(&["explain", "request", "--url", "/", "--from", from, "--header", &field])
    };
    let told = explain("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.0.0.2");
    assert!(
        told.contains("203.0.113.9 by x-forwarded-for: the first address from the end"),
        "{told}"
    );
    assert!(told.contains("1 office"), "{told}");
    let told = explain("192.0.2.1", "203.0.113.9");
    assert!(!told.contains("by x-forwarded-for") && told.contains("rule     none"), "{told}");
}

#[test]
fn a_proxy_header_and_fields_work_together_and_tcp_logs_both_addresses() {
    let recorder = RecordingServer::start();
    let own =
        format!("accept-proxy = \"127.0.0.0/8\"\n{TRUST}client-from = \"x-forwarded-for\"\n{SHOW}");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(&own));
    let ask = |proxied: &str| {
        let mut client = balancer.client();
        client.send(format!(
            "PROXY TCP4 {proxied} 192.0.2.1 5000 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\
             X-Forwarded-For: 203.0.113.9\r\n\r\n"
        ));
        client.read_answer().field("x-found")
    };
    assert_eq!(ask("10.0.0.7").as_deref(), Some("203.0.113.9"), "the header names a trusted proxy");
    assert_eq!(ask("198.51.100.7").as_deref(), Some("198.51.100.7"), "and here the client itself");
    let line = balancer
        .wait_for_log_line("the client itself", |line| line["client"] == "198.51.100.7:5000");
    assert_eq!(line["client-from"], "proxy-header");
    assert!(line["connection"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");

    let own = "accept-proxy = \"127.0.0.0/8\"\n";
    let balancer = TestBalancer::start(&BalancerConfig::tcp(&[recorder.address()]).service(own));
    let mut client = balancer.client();
    client.send("PROXY TCP4 198.51.100.8 192.0.2.1 5000 80\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(client.read_answer().status(), 200);
    drop(client);
    let line = balancer.wait_for_log_line("the connection", |line| line["protocol"] == "TCP");
    assert_eq!(line["client"], "198.51.100.8:5000");
    assert_eq!(line["client-from"], "proxy-header");
    assert!(line["connection"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
}

#[test]
fn a_file_of_networks_is_followed_while_it_is_good() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let file = dir.write("cdn.cidr", "# nobody here\n192.0.2.0/24\n");
    let own =
        format!("trust = \"file:{}\"\nclient-from = \"x-forwarded-for\"\n{SHOW}", file.display());
    let setup = BalancerConfig::http(&[recorder.address()]).service(&own);
    let balancer = TestBalancer::start(&setup);
    let found = || ask(balancer.front(), "X-Forwarded-For", &["203.0.113.9"]);
    assert_eq!(found().as_deref(), Some("127.0.0.1"));
    dir.write("cdn.cidr", "192.0.2.0/24\n127.0.0.0/8\n");
    wait::until("the proxy is trusted", || found().as_deref() == Some("203.0.113.9"));
    wait::until("an event", || balancer.count_events("networks-renewed") == 1);

    dir.write("cdn.cidr", "192.0.2.0/24\n127.0.0.0/1");
    wait::until("an event", || balancer.count_events("networks-refused") == 1);
    assert_eq!(found().as_deref(), Some("203.0.113.9"), "as before");
    let written = balancer.dir().join("steelyard.toml");
    let mut command = Command::new(program());
    command.arg("check").arg("-c").arg(&written).env("NO_COLOR", "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in ["service.shop.trust", "line 2: `127.0.0.0/1` has bits behind its prefix"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
