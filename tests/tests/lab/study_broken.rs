//! Studies whose page cannot be written: what was measured is there, marked as partial.

use std::process::Command;

use rustix::process::geteuid;
use serde_json::Value;
use tests::e2e::balancer::program;
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

#[test]
fn a_page_that_cannot_be_written_loses_nothing() {
    let done = study("farm", &[], &["--out", "/nonexistent/farm.html"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert_eq!(
        said,
        "steelyard: cannot write /nonexistent/farm.html: No such file or directory (os error 2)\n",
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
