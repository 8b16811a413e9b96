//! The commands against a real daemon: one command reads the effect of another.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use files::TemporaryDir;
use serde_json::Value;

/// How long anything may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// A daemon in a directory of its own; both are removed at the end.
struct TestDaemon {
    dir: TemporaryDir,
    process: RefCell<Child>,
    service: SocketAddr,
    server: SocketAddr,
}

impl TestDaemon {
    fn start(name: &str) -> Self {
        let dir = TemporaryDir::new(name).unwrap();
        let origin = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = origin.local_addr().unwrap();
        std::thread::spawn(move || answer(&origin));
        let service = free();
        let text = config(dir.path(), service, server, 1);
        let file = dir.write("steelyard.toml", text).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_steelyard"))
            .args(["run", "-c"])
            .arg(file)
            .stdout(Stdio::null())
            .stderr(dir.create("log").unwrap())
            .spawn()
            .unwrap();
        let daemon = TestDaemon { dir, process: RefCell::new(process), service, server };
        daemon.until(&["status", "--json"], |status| {
            status["pools"][0]["servers"][0]["state"] == "up"
        });
        daemon
    }

    fn call(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_steelyard"))
            .args(words)
            .env("STEELYARD_SOCKET", self.dir.path().join("control.sock"))
            .output()
            .unwrap()
    }

    /// The output of a command that must end with this code.
    fn say(&self, code: i32, words: &[&str]) -> String {
        let output = self.call(words);
        let out = String::from_utf8(output.stdout).unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {out}{err}");
        out + &err
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_slice(&self.call(words).stdout).unwrap()
    }

    /// Asks until the answer is as wanted.
    fn until(&self, words: &[&str], wanted: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let output = self.call(words);
            if let Ok(value) = serde_json::from_slice::<Value>(&output.stdout)
                && wanted(&value)
            {
                return value;
            }
            let gone = self.process.borrow_mut().try_wait().unwrap().is_some();
            assert!(
                !gone && start.elapsed() < DEADLINE,
                "{words:?} stays at {}; the daemon said: {}",
                String::from_utf8_lossy(&output.stdout),
                std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
            );
        }
    }

    fn write(&self, name: &str, weight: u16) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, config(self.dir.path(), self.service, self.server, weight)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        // A daemon that was stopped is gone already.
        let mut process = self.process.borrow_mut();
        let _ = process.kill();
        let _ = process.wait();
    }
}

fn config(dir: &std::path::Path, service: SocketAddr, server: SocketAddr, weight: u16) -> String {
    let dir = dir.display();
    format!(
        "[global.control]\nsocket = \"{dir}/control.sock\"\nstate = \"{dir}/state\"\n\
         [service.shop]\nlisten = \"{service}\"\nforward = \"http\"\npool = \"web\"\n\
         [pool.web]\nprobe = {{ http = \"/\", interval = \"100ms\", fast-interval = \"20ms\", timeout = \"100ms\" }}\n\
         servers = [{{ name = \"a\", address = \"{server}\", weight = {weight} }}]\n"
    )
}

/// An address that was free a moment ago.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Answers every connection's first request.
fn answer(origin: &TcpListener) {
    for stream in origin.incoming() {
        let Ok(mut stream) = stream else { return };
        let mut head = [0; 4096];
        let _ = stream.read(&mut head);
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi");
    }
}

fn request(to: SocketAddr, head: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

// Rows: I01
#[test]
fn what_passed_through_is_in_the_report() {
    let daemon = TestDaemon::start("report");
    let good = request(daemon.service, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(good.starts_with("HTTP/1.1 200"), "{good}");
    let bad =
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bad = request(daemon.service, bad);
    assert!(bad.starts_with("HTTP/1.1 400"), "{bad}");
    let report = daemon.until(&["report", "--json"], |report| {
        let total = &report["total"];
        total["requests"]["answered"]["total"] == 1 && total["connections"]["closed"]["total"] == 2
    });
    for part in ["connections", "requests"] {
        assert_eq!(report["total"][part]["unaccounted"], 0, "{report}");
        assert_eq!(report["total"][part], report["services"][0][part]);
    }
    assert_eq!(report["total"]["causes"][0]["cause"], "bad-request");
    assert_eq!(report["total"]["defects"].as_array().map(Vec::len), Some(1), "{report}");
    let text = daemon.say(0, &["report"]);
    assert!(text.contains("bad-request") && text.contains("web/a"), "{text}");
    assert!(
        daemon.say(0, &["report", "shop", "--interval", "1ms"]).contains("service shop (http)")
    );
    assert!(daemon.say(1, &["report", "nothing"]).contains("there are: shop, web"));
}

#[test]
fn a_change_is_planned_applied_refused_and_taken_back() {
    let daemon = TestDaemon::start("change");
    let file = daemon.write("next.toml", 3);
    assert!(daemon.say(0, &["plan-change", &file]).contains("~ server a"));
    assert_eq!(daemon.json(&["status", "--json"])["generation"], 1);
    assert!(
        daemon
            .say(0, &["apply", &file, "--if-generation", "1"])
            .starts_with("generation 2 is active")
    );
    assert!(
        daemon
            .say(1, &["apply", &file, "--if-generation", "1"])
            .contains("generation 2 is active, not 1")
    );
    assert!(daemon.say(0, &["apply", &file]).starts_with("nothing differs"));
    let bad = daemon.write("bad.toml", 999);
    let output = daemon.say(1, &["apply", &bad]);
    let checked = daemon.call(&["check", "-c", &bad]);
    assert_eq!(output, String::from_utf8(checked.stderr).unwrap());
    assert!(daemon.say(0, &["rollback"]).starts_with("generation 3 is active"));
    assert!(daemon.say(1, &["rollback", "77"]).contains("77"));
    let generations = daemon.json(&["generations", "--json"]);
    let numbers: Vec<u64> = generations["generations"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["generation"].as_u64())
        .collect();
    assert_eq!(numbers, [3, 2, 1]);
    assert!(daemon.say(0, &["stop", "--timeout", "5s"]).ends_with("stopped\n"));
    assert!(daemon.process.borrow_mut().wait().unwrap().success());
    assert!(daemon.say(2, &["status"]).contains("no daemon at"));
}

#[test]
fn servers_obey_and_status_names_the_operator() {
    let daemon = TestDaemon::start("server");
    assert!(daemon.say(0, &["server", "drain", "web/a"]).contains("drain"));
    assert!(daemon.say(0, &["server", "weight", "web/*", "7"]).contains('7'));
    let text = daemon.say(0, &["status", "shop"]);
    assert!(text.contains("7 (file: 1)") && text.contains("drain "), "{text}");
    assert!(daemon.say(3, &["server", "enable", "web/a,web/b"]).contains("web/b"));
    daemon.say(0, &["server", "weight", "web/a"]);
    let status = daemon
        .until(&["status", "--json"], |status| status["pools"][0]["servers"][0]["state"] == "up");
    assert_eq!(status["pools"][0]["servers"][0]["weight"], 1);
    let reason = status["pools"][0]["servers"][0]["reason"]["text"].as_str().unwrap();
    assert!(reason.contains("GET / 200"), "{reason}");
}
