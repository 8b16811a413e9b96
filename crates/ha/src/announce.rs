//! When the neighbours are told where an address is: at once, and again later. It sends nothing.
//!
//! One announcement may be lost, may meet a switch whose port is still blocked, or a neighbour that just learned the
//! rival's. So each taking of the address, and each end of a split, is announced five times. A split may also end without
//! a word that this member hears, so there may be a refresh at an interval besides.

use std::time::Duration;

use model::moment::Moment;

/// After the first.
const AFTER: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
];

/// Announcements to come.
#[derive(Clone, Debug, Default)]
pub struct Announcements {
    begun: Moment,
    /// How many of them are made; all unless `begin` was called.
    left: usize,
    /// The last one that was made.
    last: Option<Moment>,
}

impl Announcements {
    /// All of them from now on.
    pub fn begin(&mut self, now: Moment) {
        (self.begun, self.left) = (now, AFTER.len());
    }

    /// When the next is due. `refresh`: so long after the last one there is another one in any case.
    pub fn due(&self, refresh: Option<Duration>) -> Moment {
        let refresh = self.last.zip(refresh).map_or(Moment::NEVER, |(last, every)| last + every);
        self.next().min(refresh)
    }

    /// Whether one is due; several that were missed are one.
    pub fn take(&mut self, now: Moment, refresh: Option<Duration>) -> bool {
        let due = now >= self.due(refresh);
        while now >= self.next() {
            self.left -= 1;
        }
        if due {
            self.last = Some(now);
        }
        due
    }

    /// The next of those that follow a change.
    fn next(&self) -> Moment {
        let next = self.left.checked_sub(1).map(|left| self.begun + AFTER[AFTER.len() - 1 - left]);
        next.unwrap_or(Moment::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_in_half_a_minute() {
        let (mut all, start) = (Announcements::default(), Moment(7));
        assert_eq!(all.due(None), Moment::NEVER);
        all.begin(start);
        let mut times = Vec::new();
        while all.due(None) != Moment::NEVER {
            let now = all.due(None);
            assert!(all.take(now, None));
            assert!(!all.take(now, None));
            times.push(now.since(start));
        }
        assert_eq!(times, AFTER);
    }

    #[test]
    fn what_was_missed_is_told_once() {
        let mut all = Announcements::default();
        all.begin(Moment(0));
        assert!(all.take(Moment(0) + Duration::from_secs(6), None));
        assert_eq!(all.due(None), Moment(0) + Duration::from_secs(30));
    }
    #[test]
    fn a_refresh_follows_the_last_one_whatever_made_it() {
        let every = Some(Duration::from_secs(2));
        let mut all = Announcements::default();
        assert_eq!(all.due(every), Moment::NEVER, "nothing was announced yet");
        all.begin(Moment(0));
        let mut times = Vec::new();
        while times.len() < 9 {
            let now = all.due(every);
            assert!(all.take(now, every));
            times.push(now.since(Moment(0)).as_millis());
        }
        assert_eq!(times, [0, 100, 1_000, 3_000, 5_000, 7_000, 9_000, 11_000, 13_000]);
    }
}
