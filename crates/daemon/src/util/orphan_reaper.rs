//! Finds and ends what a program of ours started and left behind, wherever in the process tree it went: by a variable in
//! the environment that children inherit. What clears its environment is not found.

use std::fs::File;
use std::io::Read;

use rustix::process::{Pid, Signal, kill_process};

/// Bounds the sweeps; each one finds processes started since the previous one.
/// A process that starts others faster than twenty sweeps find them is left to the operator.
const SWEEPS: usize = 20;
/// The most bytes of a process's environment to read: twice the limit of execve(2) for one string.
const ENVIRONMENT_BYTES: u64 = 256 * 1024;

/// Looks in a row that find nothing: a process that is being replaced by another program (execve(2)) has no environment
/// for a moment.
const EMPTY: usize = 2;

/// Kills every process with one of these variables (`NAME=value`) in its environment, until none is left.
pub fn kill_marked(variables: &[String]) {
    let mut empty = 0;
    for _ in 0..SWEEPS {
        let Ok(entries) = std::fs::read_dir("/proc") else { return };
        let mut found = false;
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.parse::<i32>().ok());
            let Some(process) = number.and_then(Pid::from_raw) else { continue };
            if has_marker(process, variables) {
                found = true;
                // The process may have ended meanwhile. If it cannot be killed, the next sweep handles it.
                let _ = kill_process(process, Signal::KILL);
            }
        }
        empty = if found { 0 } else { empty + 1 };
        if empty == EMPTY {
            return;
        }
    }
}

fn has_marker(process: Pid, variables: &[String]) -> bool {
    let path = format!("/proc/{}/environ", process.as_raw_nonzero());
    let Ok(file) = File::open(path) else { return false };
    let mut environment = Vec::new();
    let read = file.take(ENVIRONMENT_BYTES).read_to_end(&mut environment);
    let ours = |one: &[u8]| variables.iter().any(|variable| variable.as_bytes() == one);
    read.is_ok() && environment.split(|byte| *byte == 0).any(ours)
}
