//! `convert --verify`: the shipped examples behave as their originals, and planted faults of a conversion are found.
//!
//! A sample of them is sent the quick corpus; with `STEELYARD_LONG=1` all of them the whole one. It needs root, and the
//! programs that `tests/setup test` installs.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use convert::dialect::Dialect;
use convert::run::{ConversionResult, convert};
use lab::shadow::input::{CorpusSize, ShadowInput};
use lab::shadow::report::{DifferenceRow, DifferenceVerdict, ShadowReport};
use lab::shadow::run::{ShadowError, run_shadow};
use tests::e2e::balancer::{figure, program};
use tests::e2e::dir::TestDir;
use tests::skip::skip;

use super::shadow_examples::{MOSTLY_DIFFERENT, NOT_STARTED, SAMPLE, source, started};
use super::stage::data;

/// Runs an original and this text beside it.
pub fn run(
    source: &str,
    converted: &ConversionResult,
    text: &str,
) -> Result<ShadowReport, ShadowError> {
    let proving = std::env::var("STEELYARD_LONG").is_ok();
    let steelyard = program();
    // Debian has neither.
    let original = match converted.from {
        Dialect::Envoy => Some(tests::e2e::target::tool("venv/bin/envoy")),
        Dialect::Traefik => Some(tests::e2e::target::tool("venv/bin/traefik")),
        _ => None,
    };
    let input = ShadowInput {
        source,
        dialect: converted.from,
        converted: text,
        notes: &converted.notes,
        program: Path::new(&steelyard),
        original: original.as_deref(),
        size: if proving { CorpusSize::Full } else { CorpusSize::Quick },
    };
    run_shadow(input, &AtomicBool::new(false), &mut |_| {})
}

pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("namespaces need root");
    }
    root
}

pub fn rows(report: &ShadowReport, verdict: DifferenceVerdict) -> String {
    let row = |row: &DifferenceRow| {
        let DifferenceRow { what, theirs, ours, request, reason, .. } = row;
        format!("{what}: {theirs}, ours {ours}: {request}; {reason}")
    };
    report.of(verdict).map(row).collect::<Vec<_>>().join("\n")
}

/// An error with its causes.
fn full_text(error: &dyn std::error::Error) -> String {
    let cause = error.source().map_or(String::new(), |cause| format!(": {}", full_text(cause)));
    format!("{error}{cause}")
}

/// What is wrong with the run of an example; `None`: nothing.
fn find_fault(file: &str, from: Dialect) -> Option<String> {
    let source = source(file);
    let converted = convert(&source, file, from);
    let report = match run(&source, &converted, converted.text.as_ref().unwrap()) {
        Ok(report) => report,
        Err(error) => return Some(format!("{file}: {}", full_text(&error))),
    };
    let ShadowReport { requests, equal, .. } = report;
    figure(format!("shadow {file}: {requests} requests, {equal} equal"));
    let unexplained = rows(&report, DifferenceVerdict::Unexplained);
    if !unexplained.is_empty() {
        return Some(format!("{file}:\n{unexplained}"));
    }
    let different = MOSTLY_DIFFERENT.iter().any(|one| one.file == file);
    let few = requests < 12 || equal * 10 <= requests && !different;
    few.then(|| format!("{file}: {equal} of {requests} are equal"))
}

/// Runs a sample, or all examples.
fn behave_as_their_originals(from: Dialect) {
    if !is_root() {
        return;
    }
    let all = std::env::var("STEELYARD_LONG").is_ok();
    let files = started(from).into_iter().filter(|file| all || SAMPLE.contains(&file.as_str()));
    let faults: Vec<String> = files.filter_map(|file| find_fault(&file, from)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn examples_of_haproxy_behave_as_haproxy() {
    behave_as_their_originals(Dialect::Haproxy);
}

#[test]
fn examples_of_nginx_behave_as_nginx() {
    behave_as_their_originals(Dialect::Nginx);
}

#[test]
fn examples_of_apache_behave_as_apache() {
    behave_as_their_originals(Dialect::Apache);
}

#[test]
fn examples_of_caddy_behave_as_caddy() {
    behave_as_their_originals(Dialect::Caddy);
}

#[test]
fn examples_of_envoy_behave_as_envoy() {
    behave_as_their_originals(Dialect::Envoy);
}

#[test]
fn examples_of_traefik_behave_as_traefik() {
    behave_as_their_originals(Dialect::Traefik);
}

#[test]
fn enough_examples_of_each_program_are_run_and_every_exception_has_a_reason() {
    for dialect in [Dialect::Haproxy, Dialect::Nginx] {
        assert!(started(dialect).len() >= 30, "{dialect:?}");
    }
    for dialect in [Dialect::Apache, Dialect::Caddy, Dialect::Envoy, Dialect::Traefik] {
        assert!(started(dialect).len() >= 8, "{dialect:?}");
    }
    for one in NOT_STARTED.iter().chain(MOSTLY_DIFFERENT) {
        assert!(data().join(one.file).exists() && !one.reason.is_empty(), "{}", one.file);
    }
    assert!(SAMPLE.iter().all(|file| data().join(file).exists()));
}

#[test]
fn planted_faults_of_a_conversion_are_found() {
    if !is_root() {
        return;
    }
    for (file, from, fault, to, found) in [
        (
            "haproxy-shop.cfg",
            Dialect::Haproxy,
            "deny = true",
            "pool = \"app\"",
            "status: 403 of its own",
        ),
        (
            "nginx-shop.conf",
            Dialect::Nginx,
            "\"X-Real-IP: {client}\", ",
            "",
            "x-real-ip at the server",
        ),
    ] {
        let source = source(file);
        let converted = convert(&source, file, from);
        let text = converted.text.as_ref().unwrap();
        assert!(text.contains(fault), "{file}: {fault}");
        let report = run(&source, &converted, &text.replace(fault, to)).unwrap();
        let unexplained = rows(&report, DifferenceVerdict::Unexplained);
        assert!(unexplained.contains(found), "{file}:\n{unexplained}");
    }
}

/// Processes that see directories of runs of this process.
fn remaining_processes(of: u32) -> Vec<String> {
    let mark = format!("sylab-{of}-");
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let sees = |place: &std::path::PathBuf| {
        std::fs::read_to_string(place.join("mountinfo")).is_ok_and(|text| text.contains(&mark))
    };
    processes.filter(sees).map(|place| place.display().to_string()).collect()
}

#[test]
fn nothing_runs_on_after_a_comparison_not_even_what_changed_its_user() {
    if !is_root() {
        return;
    }
    let dir = TestDir::new();
    let text = "global\n user haproxy\n group haproxy\nlisten a\n mode http\n timeout connect 1s\n \
         timeout client 5s\n timeout server 5s\n bind 127.0.0.1:80\n server s 10.0.0.1:80\n";
    let mut command = Command::new(program());
    command.arg("convert").arg(dir.write("haproxy.cfg", text)).args(["--verify", "--quick"]);
    let child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let process = child.id();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("0 unexplained"), "{text}");
    tests::e2e::wait::until("all processes have ended", || remaining_processes(process).is_empty());
}

#[test]
fn the_command_compares_and_says_what_cannot_be_compared() {
    if !is_root() {
        return;
    }
    let verify = |file: &Path, more: &[&str]| {
        let mut command = Command::new(program());
        command.arg("convert").arg(file).arg("--verify").args(more).output().unwrap()
    };
    let compared = verify(&data().join("haproxy-database.cfg"), &["--quick", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&compared.stdout).unwrap();
    assert_eq!((compared.status.code(), &report["original"]), (Some(0), &"haproxy".into()));
    assert_eq!(report["requests"], report["equal"], "{report}");
    let table = verify(&data().join("haproxy-database.cfg"), &["--quick"]);
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(text.contains("requests to haproxy and to Steelyard"), "{text}");
    let keepalived = verify(&data().join("keepalived-web.conf"), &[]);
    let why = String::from_utf8_lossy(&keepalived.stderr).into_owned();
    assert_eq!(keepalived.status.code(), Some(2), "{why}");
    assert!(why.contains("IPVS"), "{why}");
    let dir = TestDir::new();
    let broken = dir
        .write("haproxy.cfg", "listen a\n bind 127.0.0.1:80\n server s 10.0.0.1:80\n nonsense\n");
    let refused = verify(&broken, &[]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{why}");
    assert!(why.contains("the original does not run") && why.contains("nonsense"), "{why}");
}
