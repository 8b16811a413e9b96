//! When the neighbours are told where an address is: at once, and again later. It sends nothing.
//!
//! One announcement may be lost, may meet a switch whose port is still blocked, or a neighbour that just learned the
//! rival's. So each taking of the address, and each end of a split, is announced five times.

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
}

impl Announcements {
    /// All of them from now on.
    pub fn begin(&mut self, now: Moment) {
        *self = Announcements { begun: now, left: AFTER.len() };
    }

    /// When the next is due.
    pub fn due(&self) -> Moment {
        let next = self.left.checked_sub(1).map(|left| self.begun + AFTER[AFTER.len() - 1 - left]);
        next.unwrap_or(Moment::NEVER)
    }

    /// Whether one is due; several that were missed are one.
    pub fn take(&mut self, now: Moment) -> bool {
        let due = now >= self.due();
        while now >= self.due() {
            self.left -= 1;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_in_half_a_minute() {
        let (mut all, start) = (Announcements::default(), Moment(7));
        assert_eq!(all.due(), Moment::NEVER);
        all.begin(start);
        let mut times = Vec::new();
        while all.due() != Moment::NEVER {
            let now = all.due();
            assert!(all.take(now));
            assert!(!all.take(now));
            times.push(now.since(start));
        }
        assert_eq!(times, AFTER);
    }

    #[test]
    fn what_was_missed_is_told_once() {
        let mut all = Announcements::default();
        all.begin(Moment(0));
        assert!(all.take(Moment(0) + Duration::from_secs(6)));
        assert_eq!(all.due(), Moment(0) + Duration::from_secs(30));
    }
}
