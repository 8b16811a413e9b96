//! Studies whose balancer dies or whose page cannot be written: the measurements are kept and marked as partial.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;
use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait::until;
use tests::skip::skip;

use crate::study::alone;

fn study(name: &str, settings: &[&str], more: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(["study", name, "--quick"]).args(more);
    for setting in settings {
        command.args(["--set", setting]);
    }
    command
}

/// The child processes of a process.
fn children(of: u32) -> Vec<Pid> {
    let about = |entry: fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent = stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse::<u32>().ok()?;
        Pid::from_raw(pid).filter(|_| parent == of)
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(about).collect()
}

#[test]
fn a_balancer_that_dies_leaves_what_was_measured() {
    if !geteuid().is_root() {
        return skip("namespaces need root");
    }
    let _one = alone();
    let dir = TestDir::new();
    let page = dir.join("farm.html");
    let settings = ["requests=20", "repeats=1000", "connections=2", "page=20kB"];
    let command = study("farm", &settings, &["--out", page.to_str().unwrap()]);
    let mut farm = ChildProcess::start(command);
    until("pages pass the balancer", || {
        assert_eq!(farm.try_wait(), None, "{}", farm.output());
        farm.output().contains("balanced, TLS")
    });
    let balancers = children(farm.pid());
    assert!(!balancers.is_empty());
    for balancer in balancers {
        kill_process(balancer, Signal::KILL).unwrap();
    }
    assert_eq!(farm.wait().code(), Some(3), "{}", farm.output());
    until("it says what is missing", || {
        let said = farm.output();
        said.contains("PARTIAL: broken off: the balancer has ended")
            && said.contains("balanced, 2 connections")
    });
    let page = fs::read_to_string(page).unwrap();
    for says in [
        "This report is partial",
        "broken off: the balancer has ended",
        "<td>direct, 2 connections</td>",
    ] {
        assert!(page.contains(says), "`{says}` is not in the page");
    }
}

#[test]
fn a_page_that_cannot_be_written_loses_nothing() {
    let done = study("farm", &[], &["--out", "/nonexistent/farm.html"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert_eq!(
        said,
        "steelyard: cannot write /nonexistent/farm.html: No such file or directory: check the path\n",
        "nothing is measured before"
    );
    if !geteuid().is_root() {
        return skip("namespaces need root");
    }
    let _one = alone();
    let settings = ["delay=2ms", "buffers=auto", "think=1ms", "answer=20kB", "request=64B"];
    let done = study("two-balancers", &settings, &["--out", "/dev/full"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("could not be written to /dev/full: No space left"), "{said}");
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["complete"], false, "{report:#}");
    assert_eq!(
        report["sections"][0]["table"]["rows"].as_array().map(Vec::len),
        Some(2),
        "{report:#}"
    );
    let note = report["notes"][0]["text"].as_str().unwrap();
    assert!(note.contains("/dev/full"), "{note}");
}
