//! The program as users run it: exit codes, output streams, and a daemon that the test plays.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

#[path = "../../api/tests/support/place.rs"]
mod place;
#[path = "../../api/tests/support/played.rs"]
mod played;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use api::types::{Applied, Generations, Problem, Stopping};
use place::SocketDir;
use played::{socket, whole};
use serde_json::{Value, json};

fn file(place: &SocketDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = place.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Plays the daemon for as many calls as there are answers; returns the requests.
fn daemon(place: &SocketDir, answers: Vec<(u16, Value)>) -> JoinHandle<Vec<String>> {
    let listener = UnixListener::bind(socket(place)).unwrap();
    std::thread::spawn(move || {
        answers
            .into_iter()
            .map(|(status, body)| {
                let (mut stream, _) = listener.accept().unwrap();
                let request = read_request(&mut stream);
                let body = body.to_string();
                let kind =
                    if status == 200 { "application/json" } else { "application/problem+json" };
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(head.as_bytes()).unwrap();
                stream.write_all(body.as_bytes()).unwrap();
                request
            })
            .collect()
    })
}

fn read_request(stream: &mut UnixStream) -> String {
    let mut seen = Vec::new();
    loop {
        if let Some(request) = whole(&seen) {
            return request;
        }
        let mut some = [0; 4096];
        let n = stream.read(&mut some).unwrap();
        assert!(n > 0, "closed early: {}", seen.escape_ascii());
        seen.extend_from_slice(&some[..n]);
    }
}

fn steelyard(socket: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_steelyard"))
        .args(words)
        .env("STEELYARD_SOCKET", socket)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn parts(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn status() -> Value {
    json!({
        "version": "0.1.0", "generation": 7, "now-unix-ms": 10_000, "since-unix-ms": 0, "uptime-ms": 10_000,
        "pid": 1, "workers": 2, "services": [], "draining": [], "warnings": [],
        "pools": [{"name": "web", "balance": "least-request", "servers": [{
            "name": "a", "address": "127.0.0.1:80", "resolved": "127.0.0.1:80", "state": "up", "admin": "enabled",
            "weight": 1, "configured-weight": 1, "since-unix-ms": 7_000, "in-flight": 0, "connections": 0,
            "max-connections": null, "a-key-of-tomorrow": true,
            "reason": {"source": "probe", "text": "tcp connected in 1 ms", "at-unix-ms": 9_000}
        }]}]
    })
}

#[test]
fn usage_errors_are_2_and_help_is_0() {
    let place = SocketDir::new("usage");
    for (words, code) in [
        (&["--help"][..], 0),
        (&["--version"], 0),
        (&["apply", "--help"], 0),
        (&[], 2),
        (&["stauts"], 2),
        (&["server", "drain", "web"], 2),
        (&["rollback", "x"], 2),
    ] {
        let (found, out, err) = parts(&steelyard(&socket(&place), words));
        assert_eq!(found, code, "{words:?}: {out}{err}");
        assert_eq!(out.is_empty(), code != 0, "{words:?}: {out}{err}");
        assert_eq!(err.is_empty(), code == 0, "{words:?}: {out}{err}");
    }
    let (_, _, err) = parts(&steelyard(&socket(&place), &["stauts"]));
    assert!(err.contains("status"), "{err}");
}

#[test]
fn without_a_daemon_every_command_reports_it_and_exits_with_2() {
    let place = SocketDir::new("absent");
    let file = file(&place, "x.toml", b"");
    let file = file.to_str().unwrap();
    for words in [
        &["status"][..],
        &["status", "--watch"],
        &["report"],
        &["generations"],
        &["rollback"],
        &["stop"],
        &["server", "drain", "web/a"],
        &["plan-change", file],
        &["apply", file],
    ] {
        let (code, out, err) = parts(&steelyard(&socket(&place), words));
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}: {err}");
        let start = format!("steelyard: no daemon at {}: is it running?", socket(&place).display());
        assert!(err.starts_with(&start) && err.lines().count() == 1, "{words:?}: {err}");
    }
    let (code, out, err) = parts(&steelyard(&socket(&place), &["status", "--json"]));
    assert_eq!((code, err.as_str()), (2, ""));
    let problem: Problem = serde_json::from_str(&out).unwrap();
    assert!(problem.detail.starts_with("no daemon at"), "{out}");
}

#[test]
fn files_that_cannot_be_read_are_2() {
    let place = SocketDir::new("files");
    let not_text = file(&place, "bad.toml", b"ab\xff");
    for (file, message) in [
        (place.path().join("absent.toml"), "No such file"),
        (place.path().to_owned(), "Is a directory"),
        (not_text, "byte 2, in line 1, is not UTF-8"),
    ] {
        let (code, _, err) = parts(&steelyard(&socket(&place), &["apply", file.to_str().unwrap()]));
        assert_eq!(code, 2, "{err}");
        assert!(
            err.starts_with(&format!("steelyard: cannot read {}: ", file.display()))
                && err.contains(message),
            "{err}"
        );
    }
}

#[test]
fn status_is_shown_without_colours_when_nobody_looks() {
    let place = SocketDir::new("status");
    let requests = daemon(&place, vec![(200, status()), (200, status()), (200, status())]);
    let (code, out, err) = parts(&steelyard(&socket(&place), &["status"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("up 3s: tcp connected in 1 ms") && !out.contains('\x1b'), "{out}");
    let (code, out, _) = parts(&steelyard(&socket(&place), &["status", "--json"]));
    assert_eq!(code, 0);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["pools"][0]["servers"][0]["reason"]["text"], "tcp connected in 1 ms");
    let (code, out, err) = parts(&steelyard(&socket(&place), &["status", "shop"]));
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(err, "steelyard: no service or pool is called 'shop'; there are: web\n");
    assert!(
        requests
            .join()
            .unwrap()
            .iter()
            .all(|request| request.starts_with("GET /v1/status HTTP/1.1\r\n"))
    );
}

#[test]
fn watching_as_json_gives_an_object_a_line_until_the_daemon_goes() {
    let place = SocketDir::new("watch");
    let requests = daemon(&place, vec![(200, status()), (200, status())]);
    let (code, out, err) =
        parts(&steelyard(&socket(&place), &["status", "--watch", "--json", "--interval", "1ms"]));
    assert_eq!((code, err.as_str()), (2, ""), "{out}");
    requests.join().unwrap();
    let objects: Vec<Value> =
        serde_json::Deserializer::from_str(&out).into_iter().map(|one| one.unwrap()).collect();
    assert_eq!(objects.len(), 3);
    assert_eq!((&objects[0]["generation"], &objects[1]["generation"]), (&json!(7), &json!(7)));
    assert_eq!(objects[2]["type"], "/problems/no-answer");
}

#[test]
fn lists_are_watched_as_well() {
    let place = SocketDir::new("lists");
    let captures = serde_json::to_value(api::types::Captures::default()).unwrap();
    let audit = json!({"records": [], "unreadable": 0, "failures": 0});
    for (words, answer, key) in [
        (&["generations"][..], json!({"generations": []}), "generations"),
        (&["audit", "--since", "1h"], audit, "records"),
        (&["capture", "list"], captures, "rules"),
    ] {
        let requests = daemon(&place, vec![(200, answer.clone()), (200, answer)]);
        let words = [words, &["--watch", "--json", "--interval", "1ms"]].concat();
        let (code, out, err) = parts(&steelyard(&socket(&place), &words));
        assert_eq!((code, err.as_str()), (2, ""), "{words:?}: {out}");
        requests.join().unwrap();
        std::fs::remove_file(socket(&place)).unwrap();
        let shown = out.lines().filter(|line| line.contains(&format!("\"{key}\":"))).count();
        assert_eq!(shown, 2, "{words:?}: {out}");
    }
}

#[test]
fn findings_print_as_the_model_prints_them() {
    let place = SocketDir::new("findings");
    let file = file(&place, "x.toml", b"[pool.web]\nbalance = 3\n");
    let findings = json!([{
        "severity": "error", "file": "x.toml", "line": 2, "column": 11, "key": "pool.web.balance",
        "message": "not a policy", "found": "3", "expected": "a policy", "excerpt": "balance = 3", "width": 1
    }]);
    let problem = json!({
        "type": "/problems/config", "title": "mistakes", "status": 422, "detail": "1 mistake",
        "findings": findings, "unlisted": 2
    });
    let requests = daemon(&place, vec![(422, problem.clone()), (422, problem)]);
    let words = ["apply", "--if-generation", "7", file.to_str().unwrap()];
    let (code, out, err) = parts(&steelyard(&socket(&place), &words));
    assert_eq!((code, out.as_str()), (1, ""));
    let expected: Vec<model::config::ConfigFinding> = serde_json::from_value(findings).unwrap();
    assert_eq!(err, model::config::ConfigFindings { findings: expected, unlisted: 2 }.to_string());
    let (code, out, _) =
        parts(&steelyard(&socket(&place), &["plan-change", "--json", file.to_str().unwrap()]));
    assert_eq!(code, 1);
    assert_eq!(serde_json::from_str::<Problem>(&out).unwrap().findings.len(), 1);
    let requests = requests.join().unwrap();
    assert!(requests[0].starts_with("POST /v1/apply?if-generation=7&file=%2F"), "{}", requests[0]);
    assert!(requests[0].ends_with("[pool.web]\nbalance = 3\n"), "{}", requests[0]);
}

#[test]
fn check_needs_no_daemon_and_finds_what_apply_would() {
    let place = SocketDir::new("check");
    let good = file(&place, "good.toml", GOOD.as_bytes());
    let (code, out, err) =
        parts(&steelyard(&socket(&place), &["check", "-c", good.to_str().unwrap()]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let bad = file(&place, "bad.toml", GOOD.replace("listen", "lisen").as_bytes());
    let name = bad.to_str().unwrap();
    let (code, _, err) = parts(&steelyard(&socket(&place), &["check", "-c", name]));
    assert_eq!(code, 1);
    let findings = model::config::load(&GOOD.replace("listen", "lisen"), name).unwrap_err();
    assert_eq!(err, findings.to_string());
    let problem = Problem { findings: findings.findings, ..Problem::default() };
    let requests = daemon(&place, vec![(422, serde_json::to_value(problem).unwrap())]);
    assert_eq!(parts(&steelyard(&socket(&place), &["apply", name])).2, err);
    requests.join().unwrap();
}

#[test]
fn a_daemon_that_cannot_start_reports_why() {
    let place = SocketDir::new("run");
    let absent = place.path().join("absent.toml");
    let (code, out, err) =
        parts(&steelyard(&socket(&place), &["run", "-c", absent.to_str().unwrap()]));
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.starts_with(&format!("steelyard: cannot read {}: ", absent.display())), "{err}");
    let text = GOOD.replace("pool =", "poll =");
    let bad = file(&place, "bad.toml", text.as_bytes());
    let name = bad.to_str().unwrap();
    let (code, out, err) = parts(&steelyard(&socket(&place), &["run", "-c", name]));
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert_eq!(err, model::config::load(&text, name).unwrap_err().to_string());
}

const GOOD: &str = "\
[service.shop]
listen = \"127.0.0.1:80\"
forward = \"http\"
pool = \"web\"
[pool.web]
servers = [\"10.0.0.1:80\"]
";

#[test]
fn changes_and_generations_are_listed() {
    let place = SocketDir::new("changes");
    let file = file(&place, "x.toml", b"");
    let applied = Applied { generation: 8, changed: true, confirmed: true, ..Applied::default() };
    let applied = serde_json::to_value(applied).unwrap();
    let none = serde_json::to_value(Generations::default()).unwrap();
    let requests = daemon(&place, vec![(200, applied.clone()), (200, applied), (200, none)]);
    let (code, out, _) = parts(&steelyard(&socket(&place), &["apply", file.to_str().unwrap()]));
    assert_eq!((code, out.as_str()), (0, "generation 8 is active\n"));
    let (code, out, _) = parts(&steelyard(&socket(&place), &["rollback", "4"]));
    assert_eq!((code, out.as_str()), (0, "generation 8 is active\n"));
    assert_eq!(parts(&steelyard(&socket(&place), &["generations"])).0, 0);
    assert!(requests.join().unwrap()[1].starts_with("POST /v1/rollback?generation=4 HTTP/1.1\r\n"));
}

#[test]
fn an_order_that_some_servers_refuse_is_done_in_part() {
    let changed = json!({"servers": [{
        "pool": "web", "server": "a", "changed": true, "admin": "drain", "state": "drain", "weight": 1, "in-flight": 2
    }]});
    let absent =
        json!({"title": "no such server", "detail": "there is no server 'web/x'; there are a, b"});
    let message = "steelyard: there is no server 'web/x'; there are a, b\n";
    for (name, answers, code, printed) in [
        ("all", vec![(200, changed.clone()), (200, changed.clone())], 0, ""),
        ("part", vec![(404, absent.clone()), (200, changed)], 3, message),
        ("none", vec![(404, absent.clone()), (404, absent)], 1, &message.repeat(2)),
    ] {
        let place = SocketDir::new(name);
        let requests = daemon(&place, answers);
        let (found, out, err) =
            parts(&steelyard(&socket(&place), &["server", "drain", "web/x,web/a"]));
        assert_eq!((found, err.as_str()), (code, printed), "{name}");
        assert_eq!(out.contains("web/a"), code != 1, "{name}: {out}");
        let requests = requests.join().unwrap();
        assert!(requests[1].starts_with("POST /v1/servers/web/a HTTP/1.1\r\n"), "{name}");
        assert!(requests[1].ends_with("{\"action\":\"drain\"}"), "{name}");
    }
}

#[test]
fn stop_waits_until_the_daemon_is_gone() {
    let place = SocketDir::new("stop");
    let stopping = Stopping { limit_ms: 20_000, connections: 3, in_flight: 1 };
    let requests = daemon(&place, vec![(200, serde_json::to_value(stopping).unwrap())]);
    let (code, out, err) = parts(&steelyard(&socket(&place), &["stop", "--timeout", "20s"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("draining: 3 connections, 1 in flight, at most 20s;"), "{out}");
    assert!(out.ends_with("\nstopped\n"), "{out}");
    assert!(requests.join().unwrap()[0].starts_with("POST /v1/stop?limit-ms=20000 HTTP/1.1\r\n"));
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let place = SocketDir::new("pipe");
    let requests = daemon(&place, vec![(200, status())]);
    for words in [&["status"][..], &["completions", "bash"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = Command::new(env!("CARGO_BIN_EXE_steelyard"))
            .args(words)
            .env("STEELYARD_SOCKET", socket(&place))
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (code, _, err) = parts(&child.wait_with_output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{words:?}");
    }
    requests.join().unwrap();
}

#[test]
fn completions_and_manual_pages_know_the_verbs() {
    let place = SocketDir::new("man");
    for shell in ["bash", "zsh", "fish"] {
        let (code, out, _) = parts(&steelyard(&socket(&place), &["completions", shell]));
        assert_eq!(code, 0);
        assert!(out.contains("plan-change"), "{shell}");
    }
    assert_eq!(parts(&steelyard(&socket(&place), &["man", place.path().to_str().unwrap()])).0, 0);
    let page = std::fs::read_to_string(place.path().join("steelyard-status.1")).unwrap();
    assert!(page.contains("STEELYARD_SOCKET"), "{page}");
    let (code, _, err) = parts(&steelyard(&socket(&place), &["man", "/nonexistent/dir"]));
    assert_eq!(code, 2, "{err}");
}
