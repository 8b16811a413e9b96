//! Keys in a field or in the query.

use std::process::Command;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::recording_server::RecordingServer;

use crate::passwords::ask;

/// A line of a file of keys.
fn key_line(dir: &TestDir, holder: &str, key: &str) -> String {
    let file = dir.write("key", key);
    let output = Command::new("sha256sum").arg(file).output().unwrap();
    let digest = String::from_utf8(output.stdout).unwrap();
    format!("{holder}:{}\n", digest.split(' ').next().unwrap())
}

/// The table with these further keys.
fn partners(dir: &TestDir, keys: &str) -> String {
    let lines = key_line(dir, "ci", "k3y+one") + &key_line(dir, "ci", "k3y+two");
    let file = dir.write("keys", lines);
    format!(
        "[auth.partners]\nkind = \"api-key\"\nfile = {file:?}\nuser-field = \"X-Partner\"\n{keys}"
    )
}

fn setup(recorder: &RecordingServer, dir: &TestDir, keys: &str) -> BalancerConfig {
    let setup = BalancerConfig::http(&[recorder.address()]).service("auth = \"partners\"\n");
    setup.with_tables(&partners(dir, keys))
}

fn start(recorder: &RecordingServer, dir: &TestDir, keys: &str) -> TestBalancer {
    TestBalancer::start(&setup(recorder, dir, keys))
}

#[test]
fn a_key_in_a_field_is_enough_and_reaches_no_server() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let balancer = start(&recorder, &dir, "");
    for (lines, status) in [
        ("", 401),
        ("X-Api-Key: k3y\r\n", 401),
        ("X-Api-Key: k3y+one\r\nX-Api-Key: k3y+one\r\n", 401),
        ("Authorization: k3y+one\r\n", 401),
        ("x-api-key: k3y+one\r\nX-Partner: root\r\n", 200),
        ("X-Api-Key: k3y+two\r\n", 200),
    ] {
        let answer = ask(&balancer, "/?x-api-key=k3y%2Bone", lines);
        assert_eq!(answer.status(), status, "{lines}");
        assert_eq!(answer.field("www-authenticate"), None);
    }
    for request in recorder.so_far().requests {
        assert_eq!(request.field("x-api-key"), None);
        assert_eq!(request.field("x-partner").as_deref(), Some("ci"));
    }
}

#[test]
fn a_key_in_the_query_is_taken_out_and_stands_in_no_log() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let balancer = start(&recorder, &dir, "query = \"key\"\n");
    for (target, status) in [
        ("/a", 401),
        ("/a?key=k3y", 401),
        ("/a?key=k3y%2Bone&key=k3y%2Bone", 401),
        ("/a?b=1&key=k3y%2Bone&c=%20", 200),
        ("/a?k%65y=k3y+two", 200),
    ] {
        assert_eq!(ask(&balancer, target, "X-Api-Key: k3y+one\r\n").status(), status, "{target}");
    }
    let record = recorder.so_far();
    let starts: Vec<&str> = record.requests.iter().map(|request| request.start.as_str()).collect();
    assert_eq!(starts, ["GET /a?b=1&c=%20 HTTP/1.1", "GET /a HTTP/1.1"]);
    balancer.wait_for_log_line("the last", |line| line["target"] == "/a?key=-");
    balancer.wait_for_log_line("the one before", |line| line["target"] == "/a?b=1&key=-&c=%20");
    assert!(!balancer.log_text().contains("k3y"), "{}", balancer.log_text());
}

#[test]
fn a_key_in_the_query_of_a_malformed_request_stands_in_no_log() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let balancer = start(&recorder, &dir, "query = \"key\"\n");
    let hosts = "Host: a\r\nHost: b\r\n";
    for (place, head) in [
        format!("GET /0?key=k3y%2Bone HTTP/1.1\r\n{hosts}"),
        "GET /1?key=k3y one HTTP/1.1\r\nHost: a\r\n".to_owned(),
        "GET /2?b=1&k%65y=k3y\u{1}k3y&c=2 HTTP/1.1\r\nHost: a\r\n".to_owned(),
        "GET /3?key=\u{7f}k3y+one HTTP/1.1\r\nHost: a\r\n".to_owned(),
        "G@T /4?key=k3y HTTP/1.1\r\nHost: a\r\n".to_owned(),
        "GET /5?key=k3y HTTP/9.9\r\nHost: a\r\n".to_owned(),
        "GET /6?key=k3y HTTP/1.1\r\nHost: a\r\nX Y: 1\r\n".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let mut client = balancer.client();
        client.send(format!("{head}\r\n"));
        assert!(client.read_answer().status() >= 400, "{head}");
        balancer.wait_for_log_line("a malformed request", |line| {
            line["target"].as_str().is_some_and(|it| it.contains(&format!("/{place}?")))
        });
    }
    assert!(recorder.so_far().requests.is_empty());
    assert!(!balancer.log_text().contains("k3y"), "{}", balancer.log_text());
}

#[test]
fn no_field_of_the_log_has_a_key_not_even_one_that_became_a_credential_later() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let fields = "all = true, fields = [\"target\", \"status\", \"referer\", \"header.x-team\"]";
    let mut balancer =
        TestBalancer::start(&setup(&recorder, &dir, "query = \"key\"\n").log_with(fields));
    let lines = "Referer: https://a.example/b?c=1&key=k3y%2Bone\r\nX-Team: blue\r\n";
    assert_eq!(ask(&balancer, "/a?key=k3y%2Bone", lines).status(), 200);
    let line = balancer.wait_for_log_line("the first", |line| line["target"] == "/a?key=-");
    let shown = [&line["referer"], &line["header.x-team"]];
    assert_eq!(shown, ["https://a.example/b?c=1&key=-", "blue"], "{line}");

    // The fields change at the next start, the credential at once.
    let changed = balancer.setup().log_with("all = true");
    balancer.reload(&changed.with_tables(&partners(&dir, "header = \"X-Team\"\n")));
    assert_eq!(ask(&balancer, "/b", "X-Team: k3y+one\r\n").status(), 200);
    let line = balancer.wait_for_log_line("the second", |line| line["target"] == "/b");
    assert_eq!(line.get("header.x-team"), None, "{line}");
    assert!(!balancer.log_text().contains("k3y"), "{}", balancer.log_text());
}
