//! Whether the control's runtime lives: a beat that it gives, and others look at. A daemon whose control hangs cannot
//! follow its servers, and gives shared addresses up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::moment::Moment;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::MissedTickBehavior;

/// Between two beats.
const BEAT: Duration = Duration::from_millis(250);
/// A runtime without a beat for so long hangs. Loading a large configuration takes less.
const HANGS: Duration = Duration::from_secs(10);

/// The last beat.
#[derive(Clone, Debug)]
pub struct Pulse(Arc<AtomicU64>);

impl Pulse {
    /// One that beats now.
    pub fn new() -> Pulse {
        Pulse(Arc::new(AtomicU64::new(now().0)))
    }

    /// Beats until the daemon is gone.
    pub async fn run(self) {
        let mut every = tokio::time::interval(BEAT);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            self.0.store(now().0, Ordering::Relaxed);
        }
    }

    /// Since when there is no beat, if that is too long.
    pub fn hangs(&self, now: Moment) -> Option<Duration> {
        let silent = now.since(Moment(self.0.load(Ordering::Relaxed)));
        (silent >= HANGS).then_some(silent)
    }
}

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse::new()
    }
}

/// The kernel's monotonic clock, which the gate reads too.
pub fn now() -> Moment {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Moment(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_seconds_of_silence_are_too_long() {
        let pulse = Pulse::new();
        let beat = Moment(pulse.0.load(Ordering::Relaxed));
        assert_eq!(pulse.hangs(beat + Duration::from_secs(9)), None);
        assert_eq!(pulse.hangs(beat + HANGS), Some(HANGS));
    }
}
