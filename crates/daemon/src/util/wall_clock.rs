//! The wall clock: its time in Unix milliseconds, and whether it was stepped. Pure: what a step changes is decided
//! elsewhere.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::monotonic_time::MonotonicTime;

/// A clock is slewed by less between two looks, and set by more.
/// NTP slews by 500 ppm at most, so a difference of seconds between two checks is a step.
const SLEW_TOLERANCE: Duration = Duration::from_secs(2);

/// A step of the wall clock, with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockStep {
    /// To a later time.
    Ahead(Duration),
    /// To an earlier time.
    Back(Duration),
}

impl ClockStep {
    /// A moment of the clock before, by the clock now.
    pub fn adjust(self, at: SystemTime) -> SystemTime {
        let shifted = match self {
            ClockStep::Ahead(by) => at.checked_add(by),
            ClockStep::Back(by) => at.checked_sub(by),
        };
        shifted.unwrap_or(at)
    }
}

/// Milliseconds since 1970; 0 for moments before.
pub fn unix_ms(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Compares the wall clock with a steady clock that also runs while the machine sleeps.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    wall: SystemTime,
    steady: MonotonicTime,
}

impl WallClock {
    /// As both are now.
    pub fn new(wall: SystemTime, steady: MonotonicTime) -> WallClock {
        WallClock { wall, steady }
    }

    /// How the wall clock was set since the last look, if it was.
    pub fn detect_step(&mut self, wall: SystemTime, steady: MonotonicTime) -> Option<ClockStep> {
        let expected = self.wall + steady.since(self.steady);
        *self = WallClock { wall, steady };
        let step = match wall.duration_since(expected) {
            Ok(ahead) => ClockStep::Ahead(ahead),
            Err(back) => ClockStep::Back(back.duration()),
        };
        let (ClockStep::Ahead(by) | ClockStep::Back(by)) = step;
        (by >= SLEW_TOLERANCE).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_clock_that_is_set_is_distinguished_from_one_that_runs() {
        let wall = SystemTime::UNIX_EPOCH + S * 1_000_000;
        let mut clock = WallClock::new(wall, MonotonicTime(0));
        // Elapsed time by the steady clock, the wall clock's time then, and the expected step.
        let rows = [
            (1, 1, None),
            (2, 3, None),
            (3_603, 3_604, None),
            (3_604, 90_004, Some(ClockStep::Ahead(S * 86_399))),
            (3_605, 90_005, None),
            (3_606, 3_606, Some(ClockStep::Back(S * 86_400))),
        ];
        for (steady, at, step) in rows {
            let found = clock.detect_step(wall + S * at, MonotonicTime(0) + S * steady);
            assert_eq!(found, step, "{steady}");
            if let Some(step) = step {
                let limit = wall + S * at;
                let before = match step {
                    ClockStep::Ahead(by) => limit - by,
                    ClockStep::Back(by) => limit + by,
                };
                assert_eq!(step.adjust(before), limit);
            }
        }
    }
}
