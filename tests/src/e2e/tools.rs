//! Third-party clients: curl, ab and wrk, run with a deadline, and their parsed figures.
//!
//! A tool that is not installed fails the test: `tests/setup test` installs them.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The path of a program, found in `PATH` and in the administrators' folders.
pub fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let found = places.map(|place| place.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{name} is not installed: tests/setup test"))
}

/// Runs curl quietly and returns its output. Panics if curl fails.
pub fn curl<A: AsRef<OsStr>>(arguments: &[A]) -> Vec<u8> {
    let mut command = Command::new(program("curl"));
    run_ok(command.args(["-sS", "--max-time", "60"]).args(arguments)).stdout
}

/// As `curl`, as text.
pub fn curl_text<A: AsRef<OsStr>>(arguments: &[A]) -> String {
    String::from_utf8_lossy(&curl(arguments)).into_owned()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbResult {
    pub complete: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Responses with a status other than 2xx.
    pub not_2xx: u64,
    /// Requests on a persistent connection.
    pub keep_alive: u64,
}

/// Runs ab with `requests` requests over `connections` connections.
pub fn ab(at: SocketAddr, path: &str, requests: u32, connections: u32, keep: bool) -> AbResult {
    let mut command = Command::new(program("ab"));
    command.args(["-q", "-s", "60", "-n", &requests.to_string(), "-c", &connections.to_string()]);
    if keep {
        command.arg("-k");
    }
    let output = run_ok(command.arg(format!("http://{at}{path}")));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let figure = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name));
        value.map_or(0, |value| value.trim().parse().unwrap_or_else(|_| panic!("{text}")))
    };
    AbResult {
        complete: figure("Complete requests:"),
        failed: figure("Failed requests:"),
        not_2xx: figure("Non-2xx responses:"),
        keep_alive: figure("Keep-Alive requests:"),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrkResult {
    pub requests: u64,
    /// Lines that report errors: sockets, time-outs, statuses other than 2xx and 3xx.
    pub errors: usize,
}

/// Runs wrk for `seconds` seconds.
pub fn wrk(at: SocketAddr, path: &str, connections: u32, seconds: u32) -> WrkResult {
    let mut command = Command::new(program("wrk"));
    command.args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s")]);
    let output = run_ok(command.arg(format!("http://{at}{path}")));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let requests = text.lines().find_map(|line| line.split_once(" requests in "));
    let requests = requests.unwrap_or_else(|| panic!("{text}")).0.trim().parse().unwrap();
    let bad = ["Socket errors", "Non-2xx"];
    WrkResult {
        requests,
        errors: text.lines().filter(|l| bad.iter().any(|b| l.contains(b))).count(),
    }
}

fn run_ok(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}
