//! Finds out when the wall clock was set. Pure: what that changes is decided elsewhere.

use std::time::{Duration, SystemTime};

use model::moment::Moment;

/// A clock is slewed by less between two looks, and set by more.
const SLEWED: Duration = Duration::from_secs(2);

/// The wall clock was set, by so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To a later time.
    Ahead(Duration),
    /// To an earlier time.
    Back(Duration),
}

impl Step {
    /// A moment of the clock before, by the clock now.
    pub fn shift(self, at: SystemTime) -> SystemTime {
        let shifted = match self {
            Step::Ahead(by) => at.checked_add(by),
            Step::Back(by) => at.checked_sub(by),
        };
        shifted.unwrap_or(at)
    }
}

/// The wall clock beside one that nobody sets and that goes on while the machine sleeps.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    wall: SystemTime,
    steady: Moment,
}

impl WallClock {
    /// As both are now.
    pub fn new(wall: SystemTime, steady: Moment) -> WallClock {
        WallClock { wall, steady }
    }

    /// How the wall clock was set since the last look, if it was.
    pub fn look(&mut self, wall: SystemTime, steady: Moment) -> Option<Step> {
        let expected = self.wall + steady.since(self.steady);
        *self = WallClock { wall, steady };
        let step = match wall.duration_since(expected) {
            Ok(ahead) => Step::Ahead(ahead),
            Err(back) => Step::Back(back.duration()),
        };
        let (Step::Ahead(by) | Step::Back(by)) = step;
        (by >= SLEWED).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_clock_that_is_set_is_told_from_one_that_runs() {
        let wall = SystemTime::UNIX_EPOCH + S * 1_000_000;
        let mut clock = WallClock::new(wall, Moment(0));
        // Seconds that pass by the steady clock, the wall clock's time then, and what follows.
        let rows = [
            (1, 1, None),
            (2, 3, None),
            (3_603, 3_604, None),
            (3_604, 90_004, Some(Step::Ahead(S * 86_399))),
            (3_605, 90_005, None),
            (3_606, 3_606, Some(Step::Back(S * 86_400))),
        ];
        for (steady, at, step) in rows {
            let found = clock.look(wall + S * at, Moment(0) + S * steady);
            assert_eq!(found, step, "{steady}");
            if let Some(step) = step {
                let limit = wall + S * at;
                let before = match step {
                    Step::Ahead(by) => limit - by,
                    Step::Back(by) => limit + by,
                };
                assert_eq!(step.shift(before), limit);
            }
        }
    }
}
