//! Names of what a run makes: they tell which process made it, so that the leavings of a dead one are known.
//!
//! A process number alone would come again; with the time when the process began it does not.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

/// What all names begin with.
const PREFIX: &str = "sylab";

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A name that nothing else has: `sylab-PID-STARTED-NUMBER-ROLE`.
pub fn fresh(role: &str) -> String {
    let (pid, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let started = started(pid).unwrap_or_default();
    format!("{PREFIX}-{pid}-{started}-{number}-{role}")
}

/// Whether this is such a name, of a process that has ended.
pub fn is_orphan(name: &str) -> bool {
    let mut parts = name.split('-');
    let (prefix, pid, began) = (parts.next(), parts.next(), parts.next());
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    let (Some(PREFIX), Some(pid), Some(began)) = (prefix, number(pid), number(began)) else {
        return false;
    };
    u32::try_from(pid).is_ok_and(|pid| started(pid) != Some(began))
}

/// When a process began, in the kernel's ticks since boot; `None`: there is none (proc(5), stat, field 22).
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; fields are counted from behind it.
    let after = &stat[stat.rfind(')')? + 1..];
    after.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_run_owns_its_names_and_a_dead_one_none() {
        let name = fresh("client");
        assert_ne!(name, fresh("client"));
        assert!(!is_orphan(&name), "{name}");
        let pid = std::process::id();
        assert!(is_orphan(&format!("sylab-{pid}-1-0-client")), "another process with our number");
        assert!(is_orphan("sylab-4194305-1-0-client"), "beyond the largest process number");
        for foreign in ["blue", "sylab", "sylab-x-1-0-c", "steelyard-4194305-1-0-c"] {
            assert!(!is_orphan(foreign), "{foreign}");
        }
    }
}
