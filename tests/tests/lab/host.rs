//! `doctor host` in a separate namespace: settings that are too small are reported, raised on request, and restored.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tests::e2e::balancer::program;
use tests::skip::skip;

/// Runs `doctor host` in a new network namespace with its own settings. `before` is a shell command that runs first.
fn doctor(before: &str, words: &str, after: &str) -> Output {
    let own = program().display().to_string();
    let line = format!("{before}; {own} doctor host --json {words}; code=$?; {after}; exit $code");
    Command::new("unshare").args(["--net", "sh", "-c", &line]).output().unwrap()
}

fn finding<'a>(answer: &'a Value, check: &str) -> &'a Value {
    let all = answer["findings"].as_array().unwrap();
    all.iter().find(|one| one["check"] == check).unwrap_or_else(|| panic!("{check}: {answer:#}"))
}

#[test]
fn a_planted_setting_is_named_and_mended_only_on_request() {
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let range = "/proc/sys/net/ipv4/ip_local_port_range";
    let outside = fs::read_to_string(range).unwrap();
    let plant = format!("echo '50000 51000' > {range}");
    let show = format!("cat {range} >&2");
    let done = doctor(&plant, "", &show);
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(1), "{answer:#}");
    let ports = finding(&answer, "source ports");
    assert_eq!((&ports["verdict"], &ports["found"]), (&"poor".into(), &"50000 to 51000".into()));
    assert_eq!(ports["command"], "sysctl -w 'net.ipv4.ip_local_port_range=1024 65535'");
    assert!(String::from_utf8_lossy(&done.stderr).contains("50000\t51000"), "nothing was changed");

    let done = doctor(&plant, "--apply", &show);
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
    let changed = answer["changed"].as_array().unwrap();
    let ports =
        changed.iter().find(|one| one["setting"] == "net.ipv4.ip_local_port_range").unwrap();
    assert_eq!((&ports["before"], &ports["after"]), (&"50000 51000".into(), &"1024 65535".into()));
    assert_eq!(ports["undo"], "sysctl -w 'net.ipv4.ip_local_port_range=50000 51000'");
    assert_eq!(finding(&answer, "source ports")["verdict"], "good");
    assert!(String::from_utf8_lossy(&done.stderr).contains("1024\t65535"));
    assert_eq!(fs::read_to_string(range).unwrap(), outside, "the namespace's own");
}

#[test]
fn the_goal_decides_what_is_small() {
    let found = |words: &[&str]| -> Value {
        let command =
            Command::new(program()).args(["doctor", "host", "--json"]).args(words).output();
        serde_json::from_slice(&command.unwrap().stdout).unwrap()
    };
    let far = ["--link", "10Gbit/s", "--round-trip", "130ms"];
    let buffers = finding(&found(&far), "receive buffer").clone();
    assert_eq!(buffers["verdict"], "poor", "{buffers}");
    assert!(buffers["command"].as_str().unwrap().ends_with(" 325000000'"), "{buffers}");
    let near = ["--link", "10Mbit/s", "--round-trip", "1ms"];
    assert_eq!(finding(&found(&near), "receive buffer")["verdict"], "good");
}
