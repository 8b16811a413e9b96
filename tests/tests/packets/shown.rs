//! `steelyard try --packets`: every method is shown under real load without a failure, and nothing is left behind.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use tests::e2e::balancer::program;
use tests::e2e::cli_environment::run_command;
use tests::e2e::dir::TestDir;
use tests::e2e::packet_balancer::ready;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait;

fn shown(dir: &TestDir, words: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(["try", "--packets"]).args(words).env("TMPDIR", dir.path());
    command
}

/// Files, namespaces and mounts of a run. Their names contain the process ID.
fn left(dir: &TestDir, pid: Option<u32>) -> Vec<String> {
    let names = |at: &str| -> Vec<String> {
        let entries =
            fs::read_dir(at).map(|all| all.flatten().collect()).unwrap_or_else(|_| Vec::new());
        entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let mut out = names(dir.path().to_str().unwrap());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let own = dir.path().to_str().unwrap();
    out.extend(mounts.lines().filter(|line| line.contains(own)).map(str::to_owned));
    let mark = pid.map(|pid| format!("sylab-{pid}-"));
    let spaces = names("/run/netns").into_iter();
    out.extend(spaces.filter(|name| mark.as_ref().is_some_and(|mark| name.starts_with(mark))));
    out
}

#[test]
fn every_method_is_shown_under_load_and_nothing_is_left() {
    if !ready() {
        return;
    }
    let dir = TestDir::new();
    let answer = run_command(shown(&dir, &["--once", "--json"]));
    assert_eq!(answer.code, 0, "{answer:?}");
    let rows: Value =
        serde_json::from_str(&answer.stdout).unwrap_or_else(|e| panic!("{e}: {answer:?}"));
    let rows = rows.as_array().unwrap();
    for method in ["direct", "mac", "nat", "tunnel", "http"] {
        let of: Vec<&Value> = rows.iter().filter(|row| row["method"] == method).collect();
        assert_eq!(of.len(), 2, "kept connections and one a request: {rows:?}");
        for row in of {
            assert!(row["answered"].as_u64().unwrap() > 0 && row["failed"] == 0, "{row}");
            assert!(row["cpu-us"].as_f64().unwrap() > 0.0, "{row}");
            // Only the methods of the packet plane forward packets; a proxy or a direct connection does not.
            let forwarded = row["forwarded-packets"].as_u64().unwrap();
            let plane = ["mac", "nat", "tunnel"].contains(&method);
            assert_eq!(forwarded > 0, plane, "{row}");
        }
    }
    assert_eq!(left(&dir, None), Vec::<String>::new());
}

#[test]
fn whoever_interrupts_it_finds_nothing_left() {
    if !ready() {
        return;
    }
    let dir = TestDir::new();
    let mut run = ChildProcess::start(shown(&dir, &[]));
    wait::until("the first row", || run.output().contains("direct"));
    let pid = run.pid();
    assert!(!left(&dir, None).is_empty(), "it keeps its files there");
    run.signal(Signal::INT);
    run.wait();
    assert_eq!(left(&dir, Some(pid)), Vec::<String>::new(), "{}", run.output());
}
