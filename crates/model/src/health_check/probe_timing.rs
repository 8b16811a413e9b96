//! Waiting times: probe intervals with their jitter, and the back-off of servers without a probe.
//!
//! It knows no state and no clock.

use std::time::Duration;

/// The first back-off: bounds how soon a failed server gets a trial.
pub(super) const BACK_OFF_FIRST: Duration = Duration::from_secs(1);
/// The longest back-off. A server that was up for this long begins with the first again.
pub(super) const BACK_OFF_LONGEST: Duration = Duration::from_secs(30);
/// Jitter of a back-off, percent.
/// A tenth, as for probes.
pub(super) const BACK_OFF_JITTER: u8 = 10;

/// The interval less a random share of up to `percent` of it, so that many probes do not synchronize. It never gets
/// longer: `interval` and `fast-interval` are upper bounds.
pub(super) fn jittered(interval: Duration, percent: u8, draw: u64) -> Duration {
    let nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let widest = u128::from(nanos) * u128::from(percent.min(100)) / 100;
    let share = (widest * u128::from(draw)) >> 64;
    // The share is at most the whole.
    Duration::from_nanos(nanos - share as u64)
}

/// The back-off after this many failed trials.
pub(super) fn back_off(trials: u32) -> Duration {
    BACK_OFF_FIRST.saturating_mul(1 << trials.min(8)).min(BACK_OFF_LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_share_only_shortens() {
        let second = Duration::from_secs(1);
        assert_eq!(jittered(second, 10, 0), second);
        assert_eq!(jittered(second, 0, u64::MAX), second);
        let least = jittered(second, 10, u64::MAX);
        assert!(
            least >= Duration::from_millis(900) && least < Duration::from_millis(901),
            "{least:?}"
        );
        assert_eq!(jittered(second, 200, 1 << 63), second / 2);
        assert!(jittered(Duration::MAX, 100, u64::MAX) < second);
    }

    #[test]
    fn back_off_doubles_to_its_end() {
        let seconds: Vec<u64> = (0..7).map(|trials| back_off(trials).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(back_off(u32::MAX), BACK_OFF_LONGEST);
    }
}
