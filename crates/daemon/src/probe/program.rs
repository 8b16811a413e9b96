//! A program that probes: started without a shell, limited, listened to, and gone with everything it started.
//!
//! Its exit code decides, its first line is the reason. What it is told stands in its environment: HOST, PORT, NAME.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command as StdCommand, ExitStatus, Stdio};
use std::time::Duration;

use ::probe::dialogue::shown;
use model::config::ProgramProbe;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::{Instant, timeout, timeout_at};

use super::confine::confine;
use super::target::{Outcome, Target, time};
use crate::offspring::sweep;

/// Programs that run at a time; more wait.
pub(super) const AT_ONCE: usize = 64;
/// Bytes that a program may write to each of its two streams.
const OUTPUT_BYTES: usize = 64 * 1024;
/// For the streams to end when everything in the program's group is dead; what holds them open then has left it.
const SETTLE: Duration = Duration::from_millis(50);
/// The variable by which everything that a probe started is known.
const MARK: &str = "STEELYARD_PROBE";

/// How it ended.
enum End {
    /// By itself, having said this.
    Exit(ExitStatus, Vec<u8>),
    /// It said too much.
    Loud,
    /// It took too long.
    Late,
}

/// What stands in the environment of everything that a run with this draw started.
pub(super) fn mark(draw: u64) -> String {
    format!("{MARK}={draw:016x}")
}

/// Runs the program once. Of it nothing is left when this returns, but for what left its group and closed its streams:
/// `mark` finds that.
pub(super) async fn run(program: &ProgramProbe, target: &Target, draw: u64) -> Outcome {
    let end = Instant::now() + target.timeout;
    let mark = mark(draw);
    let mut command = StdCommand::new(&program.path);
    command.args(&program.args).env_clear();
    command.env("PATH", std::env::var_os("PATH").as_deref().unwrap_or(OsStr::new("/usr/bin:/bin")));
    command.env("HOST", target.address.ip().to_string());
    command.env("PORT", target.address.port().to_string());
    command.env("NAME", &*target.name).env(MARK, format!("{draw:016x}"));
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    confine(&mut command, program.memory, program.processes, target.timeout);
    let mut child = match Command::from(command).kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(error) => {
            return Outcome::Ours(format!("cannot run {}: {error}", program.path.display()));
        }
    };
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let mut heard = [Vec::new(), Vec::new()];
    let [first, second] = &mut heard;
    let mut streams = Box::pin(async { tokio::join!(listen(out, first), listen(err, second)) });
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
        // The group is the program's own: its number is not given away before we have waited for its leader.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let left = silent.is_none() && timeout(SETTLE, &mut streams).await.is_err();
    drop(streams);
    let _ = child.wait().await;
    if left || ended.is_err() {
        // What has left the group is found by its mark.
        let _ = tokio::task::spawn_blocking(move || sweep(&[mark])).await;
    }
    let [out, err] = heard;
    let end = match ended {
        Err(_) => End::Late,
        Ok(None) => End::Loud,
        Ok(Some(status)) => End::Exit(status, if out.is_empty() { err } else { out }),
    };
    judge(end, target.timeout)
}

fn judge(end: End, longest: Duration) -> Outcome {
    let (status, said) = match end {
        End::Late => {
            return Outcome::Failed(format!("the program did not end within {}", time(longest)));
        }
        End::Loud => {
            return Outcome::Failed(format!("the program wrote more than {OUTPUT_BYTES} bytes"));
        }
        End::Exit(status, said) => (status, said),
    };
    let reason = shown(&said);
    match (status.code(), reason.is_empty()) {
        (Some(0), true) => Outcome::Seen("program: exit code 0".to_owned()),
        (Some(0), false) => Outcome::Seen(format!("program: {reason}")),
        (Some(code), true) => Outcome::Failed(format!("program: exit code {code}")),
        (Some(code), false) => Outcome::Failed(format!("program: exit code {code}: {reason}")),
        (None, _) => {
            let signal = status.signal().unwrap_or_default();
            Outcome::Failed(format!("program: ended by signal {signal}"))
        }
    }
}

/// Reads a stream to its end; `false`: it was longer than allowed.
async fn listen(stream: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> bool {
    let Some(stream) = stream else { return true };
    let mut stream = stream.take(OUTPUT_BYTES as u64 + 1);
    // A stream that breaks has ended.
    let _ = stream.read_to_end(into).await;
    into.len() <= OUTPUT_BYTES
}
