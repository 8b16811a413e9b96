//! Whether the control's runtime lives: a beat that it gives, and others look at. A daemon whose control hangs cannot
//! follow its servers, and gives shared addresses up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use tokio::sync::watch;

use crate::state::StateSnapshot;
use crate::util::monotonic_clock::monotonic_now;

/// Short beside the time after which a control thread without pulses counts as stuck.
/// Forty pulses of `HANG_TIMEOUT`.
const PULSE_INTERVAL: Duration = Duration::from_millis(250);
/// A runtime without a heartbeat for this time hangs. Loading a large configuration takes less.
const HANG_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct ControlPulse(Arc<AtomicU64>);

impl ControlPulse {
    /// One that beats now.
    pub fn new() -> ControlPulse {
        ControlPulse(Arc::new(AtomicU64::new(monotonic_now().0)))
    }

    /// Beats while there are groups, until the daemon stops.
    pub async fn run(self, mut snapshots: watch::Receiver<Arc<StateSnapshot>>) {
        loop {
            self.beat();
            if !snapshots.borrow_and_update().config.vrrp.is_empty() {
                tokio::time::sleep(PULSE_INTERVAL).await;
            } else if snapshots.changed().await.is_err() {
                return;
            }
        }
    }

    /// Counts silence from now on.
    pub fn beat(&self) {
        self.0.store(monotonic_now().0, Ordering::Relaxed);
    }

    /// Since when there is no beat, if that is too long.
    pub fn hanging_since(&self, now: MonotonicTime) -> Option<Duration> {
        let silent = now.since(MonotonicTime(self.0.load(Ordering::Relaxed)));
        (silent >= HANG_TIMEOUT).then_some(silent)
    }
}

impl Default for ControlPulse {
    fn default() -> ControlPulse {
        ControlPulse::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_seconds_of_silence_are_too_long() {
        let pulse = ControlPulse::new();
        let beat = MonotonicTime(pulse.0.load(Ordering::Relaxed));
        assert_eq!(pulse.hanging_since(beat + Duration::from_secs(9)), None);
        assert_eq!(pulse.hanging_since(beat + HANG_TIMEOUT), Some(HANG_TIMEOUT));
    }
}
