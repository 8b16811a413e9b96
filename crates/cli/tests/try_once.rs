//! `steelyard try` as it is run: nothing fails while servers die, and nothing is left behind.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

#[path = "../../api/tests/support/place.rs"]
mod place;

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use place::SocketDir;
use serde_json::Value;

fn start(place: &SocketDir, words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_steelyard"))
        .arg("try")
        .args(words)
        .env("TMPDIR", place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The output and the exit code; the process is killed after a minute.
fn end(mut child: Child) -> (String, String, Option<i32>) {
    let read = |mut from: Box<dyn Read + Send>| {
        let (sender, text) = channel();
        std::thread::spawn(move || {
            let mut all = String::new();
            let _ = from.read_to_string(&mut all);
            let _ = sender.send(all);
        });
        text
    };
    let out = child.stdout.take().map(|out| read(Box::new(out)));
    let errors = read(Box::new(child.stderr.take().unwrap()));
    let Ok(errors) = errors.recv_timeout(Duration::from_secs(60)) else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("it does not end");
    };
    let out = out.map(|out| out.recv().unwrap()).unwrap_or_default();
    (out, errors, child.wait().unwrap().code())
}

fn left(place: &SocketDir) -> Vec<PathBuf> {
    std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn once_kills_revives_and_drains_and_no_request_fails() {
    let place = SocketDir::new("once");
    let (text, errors, code) = end(start(&place, &["--once", "--json", "--rate", "500"]));
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["failed-requests"], 0, "{summary:#}");
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(summary["answered"].as_u64().unwrap() > 4_000, "{summary:#}");

    let events = summary["events"].as_array().unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["killed", "revived", "drained"]);
    assert!(events.iter().all(|event| event["effect-ms"].is_u64()), "{summary:#}");
    assert!(events[1]["requests-after"].as_u64().unwrap() > 0, "it works again: {summary:#}");
    assert_eq!(events[2]["requests-after"], 0, "it takes nothing new: {summary:#}");
    assert_eq!(left(&place), Vec::<PathBuf>::new());
}

#[test]
fn a_signal_ends_it_and_nothing_is_left() {
    let place = SocketDir::new("signal");
    let mut child = start(&place, &["--rate", "100"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    assert!(first.contains("6 of 6 servers up  failed requests: 0"), "{first}");
    let kill = Command::new("kill").arg("-TERM").arg(child.id().to_string()).status().unwrap();
    assert!(kill.success());
    let (_, errors, code) = end(child);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("failed requests: 0\n"), "{rest}");
    assert_eq!(left(&place), Vec::<PathBuf>::new());
}
