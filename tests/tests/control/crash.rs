//! The daemon is killed at each system call by which a change reaches the disk or opens a listener. Afterwards either
//! the old or the new configuration is active, complete, in memory and on disk.
//!
//! strace kills the daemon at the n-th such call after the change was requested, for n = 1, 2, … until the change
//! finishes.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use tests::e2e::balancer::figure;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;
use tests::skip::skip;

use crate::client::{ApiSocket, TOML};

/// System calls whose effect outlives the process or is visible to other processes.
const CALLS: &str = "openat,rename,renameat,renameat2,unlink,unlinkat,mkdir,fsync,fdatasync,fchmod,fchown,bind,listen";
/// An upper bound of the calls that a change makes.
const MOST: usize = 400;

#[test]
fn a_crash_while_the_file_is_written_leaves_the_old_or_the_new() {
    crash_everywhere("file");
}

#[test]
fn a_crash_while_the_overlay_is_written_leaves_the_old_or_the_new() {
    crash_everywhere("overlay");
}

fn crash_everywhere(how: &str) {
    let there = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    if !there {
        return skip("strace is not installed: tests/setup test");
    }
    let origins = [origin("a"), origin("b")];
    let at = addresses(&origins);
    let mut old = 0;
    let mut new = 0;
    for n in 1..=MOST {
        match crash(how, &at, n) {
            CrashOutcome::Old => old += 1,
            CrashOutcome::New => new += 1,
            CrashOutcome::NotKilled => {
                figure(format!("crash, {how}: killed at {} points: {old} old, {new} new", n - 1));
                assert!(old > 3 && new > 0, "{old} old, {new} new");
                return;
            }
        }
    }
    panic!("a change makes more than {MOST} calls");
}

enum CrashOutcome {
    Old,
    New,
    NotKilled,
}

/// Makes a change, during which the daemon is killed at its n-th call.
fn crash(how: &str, at: &[SocketAddr], n: usize) -> CrashOutcome {
    let control = format!(", write-back = \"{how}\"");
    let before = BalancerConfig::http(&at[..1]).control(&control);
    let more = tests::e2e::servers::reserve_port();
    let front = before.fronts()[0];
    let second = more.address();
    let place = CliEnvironment::new(&before);
    let mut process = place.start();
    let socket = ApiSocket::at(&place.dir().join("sock"));
    let old = before.text(place.dir().path());
    // The change replaces a server and opens a listener.
    let new = old.replace(&at[0].to_string(), &at[1].to_string())
        + &format!("[service.two]\nlisten = \"{second}\"\nforward = \"tcp\"\npool = \"web\"\n");
    let pid = place.pid().unwrap();
    let strace = strace(pid, n);
    drop(more);
    let told = socket.try_ask("PUT /v1/config", &[TOML, ("if-match", "\"1\"")], &new);
    let told = told.ok().map(|answer| {
        assert_eq!(answer.status, 200, "{answer:?}");
    });
    if told.is_some() && process.try_wait().is_none() {
        stop(strace);
        return CrashOutcome::NotKilled;
    }
    wait::until("the daemon is gone", || process.try_wait().is_some());
    stop(strace);
    let file = std::fs::read_to_string(place.file()).unwrap();
    assert!(file == old || file == new, "call {n}: the file is a mixture: {file}");
    let again = place.start();
    let (text, _) = socket.config();
    assert!(text == old || text == new, "call {n}: a mixture is active: {text}");
    let is_new = text == new;
    assert!(told.is_none() || is_new, "call {n}: it was confirmed and is lost");
    if how == "file" {
        assert_eq!(text, file, "call {n}");
    } else {
        assert_eq!(file, old, "call {n}: the file is the tool's");
    }
    let who = HttpClient::connect(front).get("/").field("x-origin");
    assert_eq!(who.as_deref(), Some(if is_new { "b" } else { "a" }), "call {n}");
    assert_eq!(HttpClient::try_connect(second).is_ok(), is_new, "call {n}");
    // Files left by the crash do not prevent the next change.
    let done = socket.ask("PUT /v1/config", &[TOML, ("if-match", "*")], &new);
    assert_eq!(done.status, 200, "call {n}: {done:?}");
    assert_eq!(socket.config().0, new);
    drop(again);
    if is_new { CrashOutcome::New } else { CrashOutcome::Old }
}

/// Attaches strace to every thread.
fn strace(pid: u32, n: usize) -> ChildProcess {
    let mut command = Command::new("strace");
    command.args(["-f", "-qqq", "-o", "/dev/null", "-e", &format!("trace={CALLS}")]);
    command.args(["-e", &format!("inject={CALLS}:signal=KILL:when={n}"), "-p", &pid.to_string()]);
    let process = ChildProcess::start(command);
    wait::until("strace is attached", || {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        threads.map(|thread| thread.unwrap().path().join("status")).all(|status| {
            let status = std::fs::read_to_string(status).unwrap_or_default();
            !status.lines().any(|line| line == "TracerPid:\t0")
        })
    });
    process
}

fn stop(mut strace: ChildProcess) {
    if strace.try_wait().is_none() {
        // On SIGTERM, strace detaches from the daemon before it ends.
        strace.signal(Signal::TERM);
        wait::until("strace is gone", || strace.try_wait().is_some());
    }
}
