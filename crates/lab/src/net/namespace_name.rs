//! Unique names for a run's namespaces and directories. A name identifies its process, so that remains of an ended
//! process are recognised.
//!
//! The kernel reuses process numbers; together with the start time they are unique.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

/// The prefix of all names.
const PREFIX: &str = "sylab";

/// Makes names of one process differ; its identity makes them differ from those of others.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A process, distinguished from a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerProcess {
    pub process: u32,
    /// Start time in the kernel's ticks since boot.
    pub began: u64,
}

impl OwnerProcess {
    pub fn current() -> OwnerProcess {
        let process = std::process::id();
        OwnerProcess { process, began: start_time(process).unwrap_or_default() }
    }

    /// The running process with this number.
    pub fn find(process: u32) -> Option<OwnerProcess> {
        Some(OwnerProcess { process, began: start_time(process)? })
    }

    /// Sends SIGTERM. A process that has ended, or whose number has been reused, gives an error (ESRCH).
    pub fn terminate(self) -> Result<(), Errno> {
        let pid = i32::try_from(self.process).ok().and_then(Pid::from_raw);
        match pid.filter(|_| self.is_alive()) {
            Some(pid) => kill_process(pid, Signal::TERM),
            None => Err(Errno::SRCH),
        }
    }

    pub fn is_alive(self) -> bool {
        start_time(self.process) == Some(self.began)
    }
}

/// A unique name: `sylab-PID-STARTED-NUMBER-ROLE`.
pub fn unique_name(role: &str) -> String {
    let OwnerProcess { process, began } = OwnerProcess::current();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}-{process}-{began}-{number}-{role}")
}

/// Whether this is a name of the same form whose process has ended.
pub fn is_orphan(name: &str) -> bool {
    let mut parts = name.split('-');
    let prefix = parts.next();
    let pid = parts.next();
    let began = parts.next();
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    let (Some(PREFIX), Some(pid), Some(began)) = (prefix, number(pid), number(began)) else {
        return false;
    };
    u32::try_from(pid).is_ok_and(|process| !OwnerProcess { process, began }.is_alive())
}

/// Start time of a process in the kernel's ticks since boot; `None`: there is no such process, or only a zombie
/// (proc(5), stat, fields 3 and 22).
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; fields are counted from the last parenthesis.
    let after = &stat[stat.rfind(')')? + 1..];
    let mut fields = after.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_run_owns_its_names_and_a_dead_one_none() {
        let name = unique_name("client");
        assert_ne!(name, unique_name("client"));
        assert!(!is_orphan(&name), "{name}");
        let pid = std::process::id();
        assert!(is_orphan(&format!("sylab-{pid}-1-0-client")), "another process with our number");
        assert!(is_orphan("sylab-4194305-1-0-client"), "beyond the largest process number");
        for foreign in ["blue", "sylab", "sylab-x-1-0-c", "steelyard-4194305-1-0-c"] {
            assert!(!is_orphan(foreign), "{foreign}");
        }
    }
}
