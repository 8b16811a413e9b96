//! `steelyard lab`: a network from a file exists, has the configured properties, and is removed, even after its keeper
//! process was killed.

use std::fs;
use std::path::Path;
use std::process::Command;

use lab::net::OwnerProcess;
use lab::result::parse_result;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait;
use tests::skip::skip;

use crate::measured::figure;

const WAN: &str = r#"
[host.client]
gateway = "10.66.1.1"

[host.server]
gateway = "10.66.2.1"

[router.edge]

[bridge.lan]

[[link]]
ends = ["client", "edge"]
addresses = ["10.66.1.2/24", "10.66.1.1/24"]
delay = "40ms"

[[link]]
ends = ["edge:lan", "lan"]
addresses = ["10.66.2.1/24", []]

[[link]]
ends = ["lan", "server"]
addresses = [[], "10.66.2.2/24"]
"#;

/// Runs `steelyard lab` with these arguments: exit code, standard output, standard error.
fn order(dir: &TestDir, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(program());
    command.arg("lab").args(words).env("STEELYARD_LAB", dir.join("records"));
    let done = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

fn up(dir: &TestDir, text: &str, words: &[&str]) -> Option<Value> {
    if !rustix::process::geteuid().is_root() {
        skip("namespaces need root");
        return None;
    }
    let file = dir.write("wan.toml", text);
    let file = file.display().to_string();
    let (code, out, err) = order(dir, &[&["up", &file, "--json"], words].concat());
    assert_eq!(code, Some(0), "{out}{err}");
    Some(serde_json::from_str(&out).unwrap())
}

fn namespaces(network: &Value) -> Vec<String> {
    let nodes = network["nodes"].as_array().unwrap().iter();
    nodes.map(|node| node["namespace"].as_str().unwrap().to_owned()).collect()
}

fn stands(namespace: &str) -> bool {
    Path::new("/run/netns").join(namespace).exists()
}

#[test]
fn a_network_is_made_used_listed_and_taken_down() {
    let dir = TestDir::new();
    let Some(network) = up(&dir, WAN, &[]) else { return };
    assert_eq!((&network["name"], &network["state"]), (&"wan".into(), &"up".into()), "{network:#}");
    let all = namespaces(&network);
    assert!(all.len() == 4 && all.iter().all(|name| stands(name)), "{network:#}");

    // The path goes through the long link, the router and the bridge, and back: twice 40 ms.
    let own = program().display().to_string();
    let mut serve = Command::new(program());
    serve.args(["lab", "exec", "server", "--", &own, "bench", "serve", "10.66.2.2:7007"]);
    serve.env("STEELYARD_LAB", dir.join("records"));
    let serve = ChildProcess::start(serve);
    wait::until("the server listens", || serve.output().contains("10.66.2.2:7007"));
    let connect = ["bench", "connect", "10.66.2.2:7007", "-n", "3", "-c", "1", "--json"];
    let (code, out, err) = order(&dir, &[&["exec", "client", "--", &own], &connect[..]].concat());
    assert_eq!(code, Some(0), "{out}{err}");
    let result = parse_result(&out).unwrap();
    let half = figure(&result.runs[0], "latency-p50");
    assert!((80.0..2_000.0).contains(&half), "{half} ms: {:?}", result.runs[0].metrics);
    assert_eq!(order(&dir, &["exec", "client", "--", "sh", "-c", "exit 7"]).0, Some(7));

    let (code, _, err) = order(&dir, &["exec", "clent", "--", "true"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("wan has no host `clent`; it has client, server, edge"), "{err}");
    let file = dir.join("wan.toml").display().to_string();
    let (code, _, err) = order(&dir, &["up", &file]);
    assert_eq!(code, Some(2));
    assert!(err.contains("is up already") && err.contains("lab down wan"), "{err}");

    // A second network with the same addresses.
    let second = up(&dir, WAN, &["--name", "second"]).unwrap();
    let (code, _, err) = order(&dir, &["exec", "client", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("several networks are up, say which: second, wan"), "{err}");
    assert_eq!(order(&dir, &["exec", "--lab", "second", "client", "--", "true"]).0, Some(0));
    let (code, out, _) = order(&dir, &["list"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("wan: up") && out.contains("client:eth0 — edge:eth0, 40ms"), "{out}");

    let (code, out, err) = order(&dir, &["down", "--all", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let gone: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(gone.as_array().map(Vec::len), Some(2), "{gone:#}");
    assert!(namespaces(&second).iter().chain(&all).all(|name| !stands(name)));
    assert_eq!(order(&dir, &["down"]).0, Some(1), "nothing is left to take down");
}

#[test]
fn what_a_killed_keeper_left_is_found_and_removed() {
    let dir = TestDir::new();
    let Some(network) = up(&dir, WAN, &[]) else { return };
    let kill = |network: &Value| {
        let pid = u32::try_from(network["process"].as_u64().unwrap()).unwrap();
        let keeper = OwnerProcess::find(pid).unwrap();
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
        wait::until("the keeper is gone", || !keeper.is_alive());
    };
    // A program on a host, which would otherwise keep the namespace alive.
    let mut left = Command::new(program());
    left.args(["lab", "exec", "server", "--", "sleep", "600"]);
    let mut left = left.env("STEELYARD_LAB", dir.join("records")).spawn().unwrap();
    let server = namespaces(&network)[1].clone();
    wait::until("a program runs on the server", || {
        let pids = Command::new("ip").args(["netns", "pids", &server]).output().unwrap();
        String::from_utf8_lossy(&pids.stdout).contains(&left.id().to_string())
    });
    kill(&network);
    let (_, out, _) = order(&dir, &["list", "--json"]);
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed[0]["state"], "stale", "{listed:#}");
    let (code, out, err) = order(&dir, &["down", "wan", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let gone: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&gone[0]["stale"], &gone[0]["programs"]), (&true.into(), &1.into()), "{gone:#}");
    assert!(left.wait().unwrap().code().is_none(), "it was told to end");
    assert!(namespaces(&network).iter().all(|name| !stands(name)));

    // A new network of the same name removes the remains of the old one itself.
    let first = up(&dir, WAN, &[]).unwrap();
    kill(&first);
    let next = up(&dir, WAN, &[]).unwrap();
    assert!(namespaces(&first).iter().all(|name| !stands(name)));
    assert!(namespaces(&next).iter().all(|name| stands(name)));
    assert_eq!(order(&dir, &["down"]).0, Some(0));
}

const FAULTY: &str = r#"
[host.client]
[host.server]

[[link]]
ends = ["client", "server"]
addresses = ["10.67.1.1/24", "10.67.1.2/24"]
there = { loss = "20%" }

[[link]]
ends = ["client", "server"]
addresses = ["10.67.2.1/24", "10.67.2.2/24"]
rate = "8Mbit/s"

[[link]]
ends = ["client", "server"]
addresses = ["10.67.3.1/24", "10.67.3.2/24"]
reorder = "10%"
reorder-by = "5ms"
"#;

#[test]
fn packets_are_lost_slowed_and_overtaken_as_the_file_says() {
    let dir = TestDir::new();
    if up(&dir, FAULTY, &[]).is_none() {
        return;
    }
    let own = program().display().to_string();
    let serve = |arguments: &[&str]| {
        let mut serve = Command::new(program());
        serve.args(["lab", "exec", "server", "--", &own, "bench", "serve"]).args(arguments);
        serve.env("STEELYARD_LAB", dir.join("records"));
        let serve = ChildProcess::start(serve);
        wait::until("it listens", || serve.output().contains(" on 0.0.0.0:"));
        serve
    };
    let _ends = [serve(&["0.0.0.0:7007"]), serve(&["0.0.0.0:7008", "--stream"])];
    let bench = |arguments: &[&str]| {
        let words = [&["exec", "client", "--", &own, "bench"], arguments, &["--json"]].concat();
        let (code, out, err) = order(&dir, &words);
        (code, parse_result(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")))
    };
    // No layer retransmits a lost datagram.
    let udp = ["--udp", "-n", "500", "-c", "20", "--timeout", "300ms"];
    let (code, result) = bench(&[&["connect", "10.67.1.2:7007"], &udp[..]].concat());
    let run = &result.runs[0];
    let lost = run.failed["timeout"];
    assert!(
        code == Some(3) && (50..=150).contains(&lost),
        "{lost} of 500 were lost, not about 100"
    );
    assert!(figure(run, "answered") > 300.0, "{:?}", run.metrics);

    let once = ["-d", "1s", "--min-runs", "1", "--max-runs", "1"];
    let stream = |to: &str, more: &[&str]| {
        let (_, result) = bench(&[&["stream", to], &once[..], more].concat());
        result.runs[0].clone()
    };
    // Data in the sender's buffer may arrive after the measurement ends.
    let slowed = stream("10.67.2.2:7008", &["--buffer", "64KiB"]);
    let slowed = figure(&slowed, "throughput") / 1e6;
    assert!(slowed > 0.0 && slowed < 9.0, "{slowed} Mbit/s over a link of 8");
    let overtaken = stream("10.67.3.2:7008", &["--transport", "udp", "--message", "1000"]);
    assert!(figure(&overtaken, "reordered") > 0.0, "{:?}", overtaken.metrics);
    assert_eq!(order(&dir, &["down"]).0, Some(0));
}

#[test]
fn a_file_that_is_no_network_makes_nothing() {
    let dir = TestDir::new();
    let file = dir.write(
        "wan.toml",
        WAN.replace("\"40ms\"", "\"40\"").replace("[bridge.lan]", "[brigde.lan]"),
    );
    let file = file.display().to_string();
    for verb in ["check", "up"] {
        let (code, _, err) = order(&dir, &[verb, &file]);
        assert_eq!(code, Some(2), "{err}");
        for says in
            ["link 1, delay: found `40`", "did you mean `bridge`?", "no node is called `lan`"]
        {
            assert!(err.contains(says), "`{says}` is not in: {err}");
        }
    }
    let (code, out, _) = order(&dir, &["list"]);
    assert_eq!((code, out.as_str()), (Some(0), "no network is up: steelyard lab up FILE\n"));
    fs::write(&file, WAN).unwrap();
    let (code, out, _) = order(&dir, &["check", &file]);
    assert_eq!(code, Some(0));
    assert!(out.contains("host client, host server, router edge, bridge lan"), "{out}");
    if rustix::process::geteuid().is_root() {
        // The kernel rejects an unknown setting, which no check can detect.
        fs::write(&file, WAN.replace("[bridge.lan]", "[host.odd]\nset = { \"net/ipv4/no_such\" = \"1\" }\n[bridge.lan]\n[[link]]\nends = [\"odd\", \"lan\"]")).unwrap();
        let (code, _, err) = order(&dir, &["up", &file]);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("odd") && err.contains("net/ipv4/no_such"), "{err}");
        assert!(order(&dir, &["list"]).1.starts_with("no network"));
    }
}
