//! A program as a probe: started without a shell, with limits, its output read, and killed with everything it started.
//!
//! Its exit code decides, its first line is the reason. Its environment has HOST, PORT and NAME.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command as StdCommand, ExitStatus, Stdio};
use std::time::Duration;

use ::probe::dialogue::printable_text;
use model::config::{ProgramProbe, ServerEndpoint};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::{Instant, timeout, timeout_at};

use super::program_limits::limit_program;
use super::target::{ProbeOutcome, ProbeTarget};
use crate::util::duration_text::format_duration;
use crate::util::orphan_reaper::kill_marked;

/// Programs that run at a time; more wait.
/// Each is a process with its memory; further ones wait.
pub(super) const MAX_PROGRAMS: usize = 64;
/// Bytes that a program may write to each of its two streams.
/// Evidence shows the first line; the rest must not fill the memory.
const OUTPUT_BYTES: usize = 64 * 1024;
/// The time for the streams to close after the program's group was killed. A stream that is open after that belongs to
/// a process outside of the group.
const SETTLE: Duration = Duration::from_millis(50);
/// The variable by which everything that a probe started is known.
const MARKER_VARIABLE: &str = "STEELYARD_PROBE";

enum ProgramExit {
    /// The program ended, with this output.
    Exit(ExitStatus, Vec<u8>),
    TooMuchOutput,
    /// It took too long.
    TimedOut,
}

/// The marker in the environment of all processes that this run started.
pub(super) fn run_marker(draw: u64) -> String {
    format!("{MARKER_VARIABLE}={draw:016x}")
}

/// Runs the program once. Afterwards no process of its group remains. Processes that left the group and closed their
/// streams are identified by `mark`.
pub(super) async fn run_program(
    program: &ProgramProbe,
    target: &ProbeTarget,
    draw: u64,
) -> ProbeOutcome {
    let end = Instant::now() + target.timeout;
    let mark = run_marker(draw);
    let mut command = StdCommand::new(&program.path);
    command.args(&program.args).env_clear();
    command.env("PATH", std::env::var_os("PATH").as_deref().unwrap_or(OsStr::new("/usr/bin:/bin")));
    match &target.address {
        ServerEndpoint::Socket(address) => {
            command.env("HOST", address.ip().to_string());
            command.env("PORT", address.port().to_string());
        }
        // Without a port; the prefix tells the program that it is no host.
        ServerEndpoint::Unix(path) => {
            command.env("HOST", path.to_string());
        }
    }
    command.env("NAME", &*target.name).env(MARKER_VARIABLE, format!("{draw:016x}"));
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    limit_program(&mut command, program.memory, program.processes, target.timeout);
    let mut child = match Command::from(command).kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(error) => {
            return ProbeOutcome::NotMade(format!(
                "cannot run {}: {error}",
                program.path.display()
            ));
        }
    };
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let out = child.stdout.take();
    let err = child.stderr.take();
    let mut heard = [Vec::new(), Vec::new()];
    let [first, second] = &mut heard;
    let mut streams =
        Box::pin(async { tokio::join!(read_output(out, first), read_output(err, second)) });
    let mut silent = None;
    let ended = timeout_at(end, async {
        tokio::select! {
            status = child.wait() => status.ok(),
            (quiet_out, quiet_err) = &mut streams => {
                silent = Some(quiet_out && quiet_err);
                if silent == Some(true) { child.wait().await.ok() } else { None }
            }
        }
    })
    .await;
    if let Some(group) = group {
        // The group is the program's own: its number is not reused before its leader has been reaped.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let left = silent.is_none() && timeout(SETTLE, &mut streams).await.is_err();
    drop(streams);
    // Reaps the process. An error means that the child no longer exists.
    let _ = child.wait().await;
    if left || ended.is_err() {
        // Processes that left the group are identified by their marker. If this task fails, a later sweep kills them.
        let _ = tokio::task::spawn_blocking(move || kill_marked(&[mark])).await;
    }
    let [out, err] = heard;
    let end = match ended {
        Err(_) => ProgramExit::TimedOut,
        Ok(None) => ProgramExit::TooMuchOutput,
        Ok(Some(status)) => ProgramExit::Exit(status, if out.is_empty() { err } else { out }),
    };
    check_exit(end, target.timeout)
}

fn check_exit(end: ProgramExit, longest: Duration) -> ProbeOutcome {
    let (status, output) = match end {
        ProgramExit::TimedOut => {
            return ProbeOutcome::Failed(format!(
                "the program did not end within {}",
                format_duration(longest)
            ));
        }
        ProgramExit::TooMuchOutput => {
            return ProbeOutcome::Failed(format!(
                "the program wrote more than {OUTPUT_BYTES} bytes"
            ));
        }
        ProgramExit::Exit(status, output) => (status, output),
    };
    let reason = printable_text(&output);
    match (status.code(), reason.is_empty()) {
        (Some(0), true) => ProbeOutcome::Passed("program: exit code 0".to_owned()),
        (Some(0), false) => ProbeOutcome::Passed(format!("program: {reason}")),
        (Some(code), true) => ProbeOutcome::Failed(format!("program: exit code {code}")),
        (Some(code), false) => ProbeOutcome::Failed(format!("program: exit code {code}: {reason}")),
        (None, _) => {
            let signal = status.signal().unwrap_or_default();
            ProbeOutcome::Failed(format!("program: ended by signal {signal}"))
        }
    }
}

/// Reads a stream to its end; `false`: it was longer than allowed.
async fn read_output(stream: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> bool {
    let Some(stream) = stream else { return true };
    let mut stream = stream.take(OUTPUT_BYTES as u64 + 1);
    // A stream that breaks has ended.
    let _ = stream.read_to_end(into).await;
    into.len() <= OUTPUT_BYTES
}
