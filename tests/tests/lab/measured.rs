//! Runs `bench http` and parses its result.

use std::process::{Command, Output};

use lab::result::{BenchResult, BenchRun, parse_result};
use tests::e2e::balancer::program;
use tests::e2e::process;

/// The result of a benchmark that must succeed.
pub fn bench(arguments: &[&str]) -> BenchResult {
    let (code, result) = failing(arguments);
    assert_eq!(code, 0, "{arguments:?}: {:?}", result.notes);
    result
}

/// The exit code and the result of a run that may fail.
pub fn failing(arguments: &[&str]) -> (i32, BenchResult) {
    parsed(&command(arguments).arg("--json").output().unwrap())
}

/// As `failing`, with a descriptor limit of `most`.
pub fn with_descriptors(most: u64, arguments: &[&str]) -> (i32, BenchResult) {
    let mut command = command(arguments);
    command.arg("--json");
    parsed(&process::with_descriptors(most, &command).output().unwrap())
}

/// The exit code and the whole output.
pub fn said(arguments: &[&str]) -> (i32, String) {
    let output = command(arguments).output().unwrap();
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code().unwrap(), String::from_utf8_lossy(&text).into_owned())
}

/// The command of a run, for other ways to run it.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(["bench", "http"]).args(arguments);
    command
}

/// A figure of a run.
pub fn figure(run: &BenchRun, name: &str) -> f64 {
    let found = run.metrics.iter().find(|metric| metric.name == name);
    found.unwrap_or_else(|| panic!("no figure `{name}` in {:?}", run.test)).value
}

fn parsed(output: &Output) -> (i32, BenchResult) {
    let text = String::from_utf8_lossy(&output.stdout);
    let result = parse_result(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code().unwrap(), result)
}
