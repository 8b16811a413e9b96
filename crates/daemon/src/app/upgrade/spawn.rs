//! Starting the new binary: the same path on disk, the same arguments, and `--takeover`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// The option that makes a new process take over.
pub const FLAG: &str = "--takeover";
/// These variables are meant for the process that systemd started, not for its child.
const NOT_INHERITED: [&str; 4] = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID"];

/// The program that an upgrade starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeProgram {
    pub path: PathBuf,
    pub arguments: Vec<OsString>,
}

impl UpgradeProgram {
    /// The current program, by the path under which it was started. After a package upgrade the path leads to the new
    /// version.
    ///
    /// # Errors
    /// /proc is not mounted.
    pub fn current() -> io::Result<UpgradeProgram> {
        let path = strip_deleted_mark(std::fs::read_link("/proc/self/exe")?);
        Ok(UpgradeProgram { path, arguments: with_takeover_flag(std::env::args_os().skip(1)) })
    }

    /// Starts it.
    ///
    /// # Errors
    /// There is no such binary, or no process can be made.
    pub fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).stdin(Stdio::null());
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        command.spawn()
    }
}

/// The kernel marks the path of a binary that was replaced.
fn strip_deleted_mark(path: PathBuf) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    match bytes.strip_suffix(b" (deleted)") {
        Some(before) => PathBuf::from(OsString::from_vec(before.to_vec())),
        None => path,
    }
}

fn with_takeover_flag(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let flag = OsStr::new(FLAG);
    arguments.filter(|argument| argument != flag).chain([flag.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_binary_is_found_under_its_name() {
        assert_eq!(
            strip_deleted_mark("/usr/bin/steelyard (deleted)".into()),
            PathBuf::from("/usr/bin/steelyard")
        );
        assert_eq!(strip_deleted_mark("/opt/steelyard".into()), PathBuf::from("/opt/steelyard"));
    }

    #[test]
    fn the_flag_is_given_once_over_many_upgrades() {
        let first = with_takeover_flag(["run", "a.toml"].map(OsString::from).into_iter());
        let second = with_takeover_flag(first.clone().into_iter());
        assert_eq!(first, second);
        assert_eq!(first, ["run", "a.toml", "--takeover"]);
    }
}
