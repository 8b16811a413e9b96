//! Whether the workers do anything, so that tasks that only follow their counters can sleep while they do not.
//!
//! A worker's part is one load a turn. Nothing here polls while the workers are quiet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};

/// Workers that have done nothing for this time are quiet.
const QUIET_AFTER: Duration = Duration::from_secs(1);

/// What workers report to, and what others follow.
#[derive(Debug)]
pub struct ActivityMonitor {
    /// The next turn of a worker is to be reported.
    armed: AtomicBool,
    resumed: Notify,
    active: watch::Sender<bool>,
}

/// One follower, which knows what it has already looked at.
#[derive(Debug)]
pub struct ActivityFollower {
    active: watch::Receiver<bool>,
    /// The workers were quiet before the last look, so it has seen everything.
    is_settled: bool,
}

impl ActivityMonitor {
    pub fn new() -> Arc<ActivityMonitor> {
        Arc::new(ActivityMonitor {
            armed: AtomicBool::new(false),
            resumed: Notify::new(),
            active: watch::Sender::new(true),
        })
    }

    /// A worker has done something. Called on workers, after each turn with work.
    #[inline]
    pub fn record(&self) {
        if self.armed.load(Ordering::Relaxed) && self.armed.swap(false, Ordering::Relaxed) {
            self.resumed.notify_one();
        }
    }

    pub fn follow(&self) -> ActivityFollower {
        ActivityFollower { active: self.active.subscribe(), is_settled: false }
    }

    /// Watches the workers until the daemon stops.
    pub async fn run(self: Arc<ActivityMonitor>) {
        loop {
            self.armed.store(true, Ordering::Relaxed);
            tokio::time::sleep(QUIET_AFTER).await;
            if !self.armed.load(Ordering::Relaxed) {
                continue;
            }
            self.active.send_replace(false);
            // A notice may be left from a report before.
            while self.armed.load(Ordering::Relaxed) {
                self.resumed.notified().await;
            }
            self.active.send_replace(true);
        }
    }
}

impl ActivityFollower {
    /// Whether the last look has seen everything, and workers have been quiet since before it.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Waits while workers are quiet and the last look has seen everything.
    pub async fn wait_active(&mut self) {
        if self.is_settled {
            // Fails only without a monitor, and then looks go on at each step.
            let _ = self.active.wait_for(|active| *active).await;
        }
        self.is_settled = false;
    }

    /// Waits for the next look: until workers are active, and then for `step`.
    pub async fn wait_step(&mut self, step: Duration) {
        self.wait_active().await;
        self.pause(step).await;
    }

    /// Waits for `step`, also while workers are quiet.
    pub async fn pause(&mut self, step: Duration) {
        tokio::time::sleep(step).await;
        self.is_settled = !*self.active.borrow();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(100);

    /// Looks until no further one comes.
    async fn count_looks(follower: &mut ActivityFollower) -> u32 {
        let mut looks = 0;
        while tokio::time::timeout(10 * QUIET_AFTER, follower.wait_step(STEP)).await.is_ok() {
            looks += 1;
            assert!(looks < 30, "looks do not end");
        }
        looks
    }

    #[tokio::test(start_paused = true)]
    async fn followers_sleep_while_workers_are_quiet_and_look_at_everything_before() {
        let monitor = ActivityMonitor::new();
        let task = tokio::spawn(Arc::clone(&monitor).run());
        let mut follower = monitor.follow();
        for _ in 0..3 {
            assert!(count_looks(&mut follower).await >= 10);
            assert!(follower.is_settled());
            monitor.record();
        }
        task.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn workers_that_work_now_and_then_are_never_quiet() {
        let monitor = ActivityMonitor::new();
        let task = tokio::spawn(Arc::clone(&monitor).run());
        let mut follower = monitor.follow();
        for _ in 0..100 {
            monitor.record();
            follower.wait_step(QUIET_AFTER / 2).await;
            assert!(!follower.is_settled());
        }
        task.abort();
    }
}
