//! Network processing on several processors: a single busy one is reported under real load, spread on request, and
//! restored.
//!
//! This program has a single test, because packets are counted for the whole machine. It needs root and two processors.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which may fail"
)]

use std::net::UdpSocket;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lab::net::{ChecksumMode, NetworkNamespace, SysctlSetting, VethEnd, create_veth, find};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;
use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;
use tests::skip::skip;

/// Flows of the load: enough for any hash to use two processors.
const FLOWS: usize = 64;
/// Consecutive packets of one flow.
const BURST: usize = 16;

/// Runs `steelyard doctor cores` inside the namespace. Returns its exit code and its output.
fn cores(
    inside: &NetworkNamespace,
    kept: &std::path::Path,
    arguments: &[&str],
) -> (Option<i32>, Value) {
    cores_of(inside, "eth0", kept, arguments)
}

/// As `cores`, for another interface.
fn cores_of(
    inside: &NetworkNamespace,
    interface: &str,
    kept: &std::path::Path,
    arguments: &[&str],
) -> (Option<i32>, Value) {
    let mut command = Command::new(find("ip"));
    command.args(["netns", "exec", inside.name()]).arg(program());
    command.args(["doctor", "cores", "--interface", interface, "--json", "--undo-file"]).arg(kept);
    let done = command.args(arguments).output().expect("started");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let read = serde_json::from_str(&said);
    let printed = read.unwrap_or_else(|error| {
        panic!("{error} in {said}: {}", String::from_utf8_lossy(&done.stderr))
    });
    (done.status.code(), printed)
}

/// The content of a file below the interface's `queues` directory.
fn held(inside: &NetworkNamespace, file: &str) -> String {
    let mut command = Command::new(find("ip"));
    command.args(["netns", "exec", inside.name(), "cat"]);
    let done = command.arg(format!("/sys/class/net/eth0/queues/{file}")).output();
    String::from_utf8_lossy(&done.expect("started").stdout).trim().to_owned()
}

/// Sends many flows from one processor until `stop`.
fn send(inside: &NetworkNamespace, stop: &AtomicBool) {
    let sent = inside.run_inside(|| {
        let mut cpus = CpuSet::new();
        cpus.set(0);
        sched_setaffinity(None, &cpus).expect("the first processor");
        let sockets: Vec<UdpSocket> =
            (0..FLOWS).map(|_| UdpSocket::bind("10.77.0.1:0").expect("a socket")).collect();
        while !stop.load(Ordering::Relaxed) {
            for socket in &sockets {
                for _ in 0..BURST {
                    // Ignored: a flood may fill the queue.
                    let _ = socket.send_to(&[0; 64], "10.77.0.2:9");
                }
            }
        }
    });
    sent.expect("a thread inside");
}

fn part(answer: &Value, side: &str) -> f64 {
    answer["applied"][side]["part"].as_f64().unwrap_or_else(|| panic!("no {side}: {answer:#}"))
}

// Rows: L12, L13
#[test]
fn one_processor_that_does_all_the_work_is_named_relieved_and_all_is_taken_back() {
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skip("one processor cannot share its work");
    }
    let source = NetworkNamespace::new("source").unwrap();
    let sink = NetworkNamespace::new("sink").unwrap();
    let end = |namespace| VethEnd { namespace, link: "eth0" };
    create_veth(end(&source), end(&sink), 1500, ChecksumMode::Offloaded).unwrap();
    let beside = |namespace| VethEnd { namespace, link: "eth1" };
    create_veth(beside(&source), beside(&sink), 1500, ChecksumMode::Offloaded).unwrap();
    source.ip("addr add 10.77.0.1/24 dev eth0\n").unwrap();
    sink.ip("addr add 10.77.0.2/24 dev eth0\n").unwrap();
    // ICMP errors caused by the flood would be network work too.
    sink.write_sysctls(&[
        SysctlSetting { path: "net/ipv4/icmp_ratelimit", value: "1000" },
        SysctlSetting { path: "net/ipv4/icmp_ratemask", value: "8" },
    ])
    .unwrap();
    let dir = TestDir::new();
    let kept = dir.path().join("state/steering.json");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| send(&source, &stop));
        let checks = thread::Builder::new().spawn_scoped(scope, || {
            let (code, found) = cores_of(&sink, "eth1", &kept, &["--for", "1s"]);
            assert_eq!((code, &found["steps"]), (Some(1), &Value::Array(Vec::new())), "{found:#}");
            let said = found["findings"].to_string();
            assert!(said.contains("most packets came by eth0"), "{found:#}");
            assert!(!said.contains("spread receiving as below"), "{found:#}");

            let (code, found) = cores(&sink, &kept, &["--for", "1s"]);
            assert_eq!((code, &found["wrong"]), (Some(1), &Value::from(1)), "{found:#}");
            assert_eq!(found["findings"][0]["about"], "processors");
            let said = found["findings"][0]["found"].as_str().unwrap_or_default();
            assert!(said.starts_with("processor 0 takes "), "{said}");
            let planned = found["steps"][0]["command"].as_str().unwrap_or_default();
            assert!(planned.ends_with("/sys/class/net/eth0/queues/rx-0/rps_cpus"), "{found:#}");
            assert_eq!(held(&sink, "rx-0/rps_cpus").trim_start_matches('0'), "", "only shown");

            let (code, done) = cores(&sink, &kept, &["--for", "1s", "--apply"]);
            assert_eq!(code, Some(0), "{done:#}");
            let before = part(&done, "before");
            let after = part(&done, "after");
            println!("proof: the busiest processor's part: {before:.2} before, {after:.2} after");
            assert!(before > 0.8 && after < 0.8, "{done:#}");
            assert_ne!(held(&sink, "rx-0/rps_cpus").trim_start_matches('0'), "");
            assert!(kept.exists());

            let (code, back) = cores(&sink, &kept, &["--undo"]);
            assert_eq!((code, &back["failed"]), (Some(0), &Value::Array(Vec::new())), "{back:#}");
            assert_eq!(held(&sink, "rx-0/rps_cpus").trim_start_matches('0'), "", "taken back");
            assert!(!kept.exists());
        });
        let checked = checks.expect("a thread").join();
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = checked {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn an_interface_that_is_not_there_is_named_with_those_that_are() {
    let mut command = Command::new(program());
    let done = command.args(["doctor", "cores", "--interface", "nosuch0"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("no interface `nosuch0` is here; there are: "), "{said}");
}
