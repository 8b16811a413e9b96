//! The process that an upgrade started: it takes over, it ends, or it hangs and is ended after a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::process::Child;
use tokio::time::Instant;

/// The limit from the start of the new process until its takeover request. The takeover itself has its own limit.
/// Below systemd's start timeout, 90 s by default (DefaultTimeoutStartSec).
pub const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two looks at one that takes over when its time has come.
/// The takeover is over within a second of its end.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A process that was started for an upgrade.
#[derive(Debug)]
pub struct Successor {
    child: Child,
    /// Its number, which the kernel may give to another process once this one has ended.
    pid: u32,
    limit: Duration,
    deadline: Instant,
    killed: bool,
}

impl Successor {
    /// It was started just now.
    pub fn new(child: Child, limit: Duration) -> Successor {
        let pid = child.id().unwrap_or_default();
        Successor { child, pid, limit, deadline: Instant::now() + limit, killed: false }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until the takeover has failed for good; returns why. `takes_over`: a takeover is running, maybe that of
    /// this successor.
    pub async fn wait_failure(&mut self, takes_over: &AtomicBool) -> String {
        loop {
            tokio::select! {
                ended = self.child.wait() => return match ended {
                    _ if self.killed => {
                        format!("it did not ask to take over within {:?}, and was killed", self.limit)
                    }
                    Ok(status) => format!("it ended before it took over ({status})"),
                    Err(error) => format!("it is not known how it ended ({error})"),
                },
                () = tokio::time::sleep_until(self.deadline), if !self.killed => {
                    if takes_over.load(Ordering::Relaxed) {
                        self.deadline = Instant::now() + POLL_INTERVAL;
                    } else {
                        // A process that has ended by now is also waited for.
                        self.killed = self.child.start_kill().is_ok();
                        self.deadline = Instant::now() + POLL_INTERVAL;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::process::Command;

    use super::*;

    fn started(program: &str, argument: &str, limit: u64) -> Successor {
        let child = Command::new(program).arg(argument).spawn().unwrap();
        let pid = child.id().unwrap();
        let successor = Successor::new(child, Duration::from_millis(limit));
        assert_eq!(successor.pid(), pid);
        successor
    }

    #[tokio::test]
    async fn one_that_hangs_is_killed_after_its_time() {
        let why = started("sleep", "600", 50).wait_failure(&AtomicBool::new(false)).await;
        assert_eq!(why, "it did not ask to take over within 50ms, and was killed");
    }

    #[tokio::test]
    async fn one_that_ends_says_how() {
        let why = started("sh", "-cexit 3", 60_000).wait_failure(&AtomicBool::new(false)).await;
        assert!(why.starts_with("it ended before it took over (exit status"), "{why}");
    }

    #[tokio::test]
    async fn one_that_takes_over_is_not_killed_until_that_has_failed() {
        let mut successor = started("sleep", "600", 10);
        let busy = AtomicBool::new(true);
        let waited =
            tokio::time::timeout(Duration::from_millis(200), successor.wait_failure(&busy)).await;
        assert!(waited.is_err(), "{waited:?}");
        busy.store(false, Ordering::Relaxed);
        assert!(successor.wait_failure(&busy).await.contains("was killed"));
    }
}
