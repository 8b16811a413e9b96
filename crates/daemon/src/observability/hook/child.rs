//! One run of a program with limits: time, processor time, memory, files, and how much of its output is read.
//!
//! All processes that the program started end with it. The program leads its own process group, which is always killed
//! at the end. Processes that left the group are identified by a mark in their environment.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::health::health_check::program_limits::drop_capabilities;
use crate::util::orphan_reaper::kill_marked;

/// Bytes of output that are stored; further output is read and discarded, so that the program does not block.
/// More than the part that an event shows, for the log of a failure.
const OUTPUT: usize = 16 * 1024;
/// Bytes of memory that the program may map.
/// Enough for an interpreter such as Python; a leak must not take the host's memory.
const MEMORY: u64 = 1 << 30;
/// Bytes of a file that it may write.
/// A log or a state of the program; a loop must not fill the disk.
const FILE: u64 = 64 << 20;
/// Descriptors that it may open.
/// Below the kernel's default of 1,024 (INR_OPEN_CUR of linux/fs.h), and more than a program that sends a message
/// needs.
const DESCRIPTORS: u64 = 256;
/// Processes that its user may have when it starts another one; root's are not counted by the kernel.
const PROCESSES: u64 = 1_024;
/// The variable by which everything that it started is known.
const MARK: &str = "STEELYARD_HOOK";
/// The search path that it gets.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How a run ended.
#[derive(Debug)]
pub(super) enum HookOutcome {
    /// With exit code 0.
    Done { said: Vec<u8> },
    /// Otherwise, or it could not be started.
    Failed { why: String, said: Vec<u8> },
    /// It was killed because it took too long.
    TooLong { said: Vec<u8> },
}

/// Kills a process group on drop.
struct ProcessGroup(Option<Pid>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // It may have ended, all of it, already.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// Runs a program to its end, or to the time limit. Nothing of it is left afterwards. `draw` is unique.
pub(super) async fn run(
    program: &Path,
    environment: &BTreeMap<String, String>,
    limit: Duration,
    draw: u64,
) -> HookOutcome {
    let ran = limited(program, environment, limit, draw).await;
    let mark = format!("{MARK}={draw:016x}");
    // Its group is dead by now. Hooks are rare: looking at every process once costs little.
    let _ = tokio::task::spawn_blocking(move || kill_marked(&[mark])).await;
    ran
}

async fn limited(
    program: &Path,
    environment: &BTreeMap<String, String>,
    limit: Duration,
    draw: u64,
) -> HookOutcome {
    let mut command = Command::new(program);
    command.env_clear().env(MARK, format!("{draw:016x}")).env("PATH", PATH).envs(environment);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    drop_capabilities(command.as_std_mut());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let why = format!("{} cannot be started: {error}", program.display());
            return HookOutcome::Failed { why, said: Vec::new() };
        }
    };
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let _group = ProcessGroup(pid);
    limit_resources(pid, limit);
    let out = child.stdout.take();
    let err = child.stderr.take();
    let mut said = Vec::new();
    let both = async {
        let mut first = Vec::new();
        let mut second = Vec::new();
        let (status, (), ()) =
            tokio::join!(child.wait(), read_output(out, &mut first), read_output(err, &mut second));
        first.append(&mut second);
        (status, first)
    };
    match tokio::time::timeout(limit, both).await {
        Err(_) => HookOutcome::TooLong { said },
        Ok((status, heard)) => {
            said = heard;
            match status {
                Ok(status) if status.success() => HookOutcome::Done { said },
                Ok(status) => HookOutcome::Failed { why: status.to_string(), said },
                Err(error) => HookOutcome::Failed { why: error.to_string(), said },
            }
        }
    }
}

/// Reads to the end and stores the beginning.
async fn read_output(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut room = [0; 4096];
    while let Ok(read) = from.read(&mut room).await {
        if read == 0 {
            return;
        }
        let keep = read.min(OUTPUT.saturating_sub(into.len()));
        into.extend_from_slice(&room[..keep]);
    }
}

/// Limits the program's resources. It has run for a moment by then, but nothing that it starts outlives the group.
fn limit_resources(pid: Option<Pid>, limit: Duration) {
    let seconds = limit.as_secs().saturating_add(1);
    for (resource, most) in [
        (Resource::Cpu, seconds),
        (Resource::As, MEMORY),
        (Resource::Fsize, FILE),
        (Resource::Nofile, DESCRIPTORS),
        (Resource::Nproc, PROCESSES),
        (Resource::Core, 0),
    ] {
        // An error is ignored: a program that has ended needs no limit, and a lower limit stays.
        let _ = prlimit(pid, resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
}
