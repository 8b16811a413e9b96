//! Common HTTP clients receive exactly what the servers have.

use std::io::Write;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::http::{ExpectedBody, HttpReader, noise};
use tests::e2e::nginx::Nginx;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::tools::{ab, curl, curl_text, wrk};
use tests::e2e::wait;

// Rows: Z01
#[test]
fn curl_gets_pages_of_nginx_whole_and_in_part() {
    let nginx = Nginx::start("n");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[nginx.address()]));
    let page = nginx.page_bytes();
    assert!(curl(&[balancer.url("/page")]) == page, "HTTP/1.1");
    assert!(curl(&["-0".into(), balancer.url("/page")]) == page, "HTTP/1.0");
    let part = curl(&["-r", "1000000-2000000", "-w", " %{http_code}", &balancer.url("/page")]);
    assert!(part[..1_000_001] == page[1_000_000..=2_000_000], "a range");
    assert_eq!(&part[1_000_001..], b" 206");
    let head = curl_text(&["-I", &balancer.url("/page")]);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("Content-Length: 3000001\r\n"), "{head}");
    let since = "If-Modified-Since: Thu, 31 Dec 2037 00:00:00 GMT";
    let fresh = curl(&["-H", since, "-w", "%{http_code}", &balancer.url("/page")]);
    assert!(fresh == b"304", "a page that has not changed");
    let none = curl(&["-w", "%{http_code}", "-o", "/dev/null", &balancer.url("/none")]);
    assert!(none == b"404", "a page that is not there");
    let total = balancer.report_when_settled().total;
    assert!(total.bytes.spliced.total > 6_000_000, "{:?}", total.bytes);
    assert_eq!((total.requests.answered.total, total.requests.unaccounted), (6, 0), "{total:?}");
}

#[test]
fn curl_uploads_with_a_length_in_chunks_and_after_asking() {
    let nginx = Nginx::start("n");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[nginx.address()]));
    let dir = TestDir::new();
    let bytes = noise(5_000_000);
    let file = dir.write("file", &bytes).display().to_string();
    let rows: [(&str, &[&str]); 4] = [
        ("length", &["-H", "Expect:"]),
        ("chunked", &["-H", "Transfer-Encoding: chunked", "-H", "Expect:"]),
        ("asking", &["-H", "Expect: 100-continue", "--expect100-timeout", "20"]),
        ("old", &["-0"]),
    ];
    for (name, how) in rows {
        let url = balancer.url(&format!("/upload/{name}"));
        let mut arguments = vec!["-T", &file, "-w", "%{http_code}"];
        arguments.extend(how);
        arguments.push(&url);
        assert_eq!(curl_text(&arguments), "201", "{name}");
        assert!(nginx.uploaded(name) == bytes, "{name} differs");
    }
}

#[test]
fn what_is_posted_comes_back() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    let dir = TestDir::new();
    for length in [0, 1, 100, 16_384, 65_536, 3_000_000] {
        let bytes = noise(length);
        let data = format!("@{}", dir.write("data", &bytes).display());
        let url = balancer.url("/echo");
        let plain = ["--data-binary", &data, "-H", "Expect:", &url];
        assert!(curl(&plain) == bytes, "{length} bytes");
        let chunked = ["--data-binary", &data, "-H", "Transfer-Encoding: chunked", &url];
        assert!(curl(&chunked) == bytes, "{length} bytes in chunks");
        assert!(balancer.client().post("/echo", &bytes).body == bytes, "{length} bytes, raw");
    }
}

#[test]
fn answers_in_chunks_reach_old_and_new_clients() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    for bytes in [0, 1, 70_000, 2_000_000] {
        let url = balancer.url(&format!("/chunked/{bytes}"));
        assert_eq!(curl(&["--raw".to_owned(), "-0".to_owned(), url.clone()]).len(), bytes, "1.0");
        assert_eq!(curl(&[url]).len(), bytes, "1.1");
    }
}

#[test]
fn a_connection_serves_many_requests_on_both_sides() {
    let origin = origin("a");
    let setup = BalancerConfig::http(&[origin.address()]).global("workers = 1");
    let balancer = TestBalancer::start(&setup);
    let urls: Vec<String> = (0..20).map(|_| balancer.url("/")).collect();
    let mut arguments = vec!["-o", "/dev/null", "-w", "%{num_connects}"];
    for url in &urls[1..] {
        arguments.extend([url.as_str(), "-o", "/dev/null"]);
    }
    arguments.push(&urls[0]);
    assert_eq!(curl_text(&arguments), format!("1{}", "0".repeat(19)));
    let counted = || (origin.figures().requests, origin.figures().accepted);
    wait::until("what the origin counted", || counted() == (20, 1));
    let server = &balancer.report_when_settled().pools[0].servers[0];
    assert_eq!((server.connects.total, server.reused.total), (1, 19));
}

#[test]
fn informational_answers_are_passed_on_to_those_who_know_them() {
    let early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let server = ScriptedServer::answering(early);
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let mut client = balancer.client();
    let hint = client.get("/");
    assert_eq!((hint.status(), hint.field("link").as_deref()), (103, Some("</a.css>")));
    assert_eq!(client.read_answer().text(), "ok");
    let mut old = balancer.client();
    old.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(old.read_answer().status(), 200);
    drop((client, old));
    assert_eq!(balancer.report_when_settled().total.statuses.informational.total, 1);
}

#[test]
fn a_body_waits_for_the_servers_word() {
    let server = ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        let mut request = reader.head().unwrap().unwrap();
        assert_eq!(request.field("expect").as_deref(), Some("100-continue"));
        (&stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        reader.body(&mut request, ExpectedBody::AsDeclared).unwrap();
        let length = request.body.len();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX-Got: {length}\r\n\r\n.");
        (&stream).write_all(answer.as_bytes()).unwrap();
    });
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let mut client = balancer.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.read_answer().status(), 100);
    client.send("hello");
    let answer = client.read_answer();
    assert_eq!((answer.status(), answer.field("x-got").as_deref()), (200, Some("5")));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    let mut client = balancer.client();
    let sizes: Vec<usize> = (0..40).map(|at| at * 1_700 % 90_000).collect();
    let asks = sizes.iter().map(|n| format!("GET /bytes/{n} HTTP/1.1\r\nHost: a\r\n\r\n"));
    client.send(asks.collect::<String>());
    for size in sizes {
        assert_eq!(client.read_answer().body.len(), size);
    }
}

#[test]
fn ab_and_wrk_before_two_nginx_see_no_failure() {
    let nginx = [Nginx::start("n1"), Nginx::start("n2")];
    let setup = BalancerConfig::http(&[nginx[0].address(), nginx[1].address()]);
    let setup = setup.pool("balance = \"round-robin\"").global("workers = 1").quiet();
    let balancer = TestBalancer::start(&setup);
    let kept = ab(balancer.front(), "/", 2_000, 16, true);
    assert_eq!((kept.complete, kept.failed, kept.not_2xx, kept.keep_alive), (2_000, 0, 0, 2_000));
    let single = ab(balancer.front(), "/", 1_000, 16, false);
    assert_eq!(
        (single.complete, single.failed, single.not_2xx, single.keep_alive),
        (1_000, 0, 0, 0)
    );
    let report = balancer.report_when_settled();
    let shares: Vec<u64> = report.pools[0].servers.iter().map(|s| s.requests.total).collect();
    assert_eq!(shares, [1_500, 1_500]);
    let run = wrk(balancer.front(), "/", 16, 1);
    assert!(run.requests > 100 && run.errors == 0, "{run:?}");
    // At the end of its run, wrk leaves responses unread.
    let requests = balancer.report_when_settled().total.requests;
    assert!(requests.answered.total >= 3_000 + run.requests, "{requests:?}");
    assert_eq!((requests.unaccounted, requests.local_replies.total), (0, 0));
    assert!(requests.aborted.total <= 16, "{requests:?}");
}

#[test]
fn load_over_many_connections_is_answered_whole() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).quiet());
    for path in ["/", "/bytes/70000", "/chunked/20000"] {
        let run = ab(balancer.front(), path, 600, 50, true);
        assert_eq!((run.complete, run.failed, run.not_2xx), (600, 0, 0), "{path}");
    }
    let report = balancer.report_when_settled();
    let sent: u64 = report.pools[0].servers.iter().map(|server| server.requests.total).sum();
    let got = || origins.iter().map(|origin| origin.figures().requests).sum::<u64>();
    wait::until("what the origins counted", || got() == 1_800);
    assert_eq!((sent, report.total.retried.total), (1_800, 0));
}
