//! When neighbours are told where an address is: at once, and again later. It sends nothing.
//!
//! One announcement may be lost, may arrive at a switch whose port is still blocked, or at a neighbour that just
//! learned the rival's address. So each takeover, and each end of a split, is announced five times. A split may also
//! end without a packet that this member receives, so announcements can be refreshed at an interval.

use std::time::Duration;

use model::monotonic_time::MonotonicTime;

/// The first is sent at once. The others reach neighbours that missed it: a port of a switch with spanning tree begins
/// to forward after up to 30 s.
const FOLLOW_UP_DELAYS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
];

#[derive(Clone, Debug, Default)]
pub struct AnnouncementSchedule {
    started_at: MonotonicTime,
    /// How many of the initial announcements are left to send after `restart`.
    remaining: usize,
    last_sent: Option<MonotonicTime>,
}

impl AnnouncementSchedule {
    /// Restarts the whole sequence of announcements.
    pub fn restart(&mut self, now: MonotonicTime) {
        self.started_at = now;
        self.remaining = FOLLOW_UP_DELAYS.len();
    }

    /// When the next announcement is due. `refresh`: the longest time between two announcements.
    pub fn next_due(&self, refresh: Option<Duration>) -> MonotonicTime {
        let refresh =
            self.last_sent.zip(refresh).map_or(MonotonicTime::NEVER, |(last, every)| last + every);
        self.next_initial().min(refresh)
    }

    /// Whether an announcement is due. Several missed ones count as one.
    pub fn take_due(&mut self, now: MonotonicTime, refresh: Option<Duration>) -> bool {
        let due = now >= self.next_due(refresh);
        while now >= self.next_initial() {
            self.remaining -= 1;
        }
        if due {
            self.last_sent = Some(now);
        }
        due
    }

    /// When the next announcement of the sequence after a takeover is due.
    fn next_initial(&self) -> MonotonicTime {
        let next = self
            .remaining
            .checked_sub(1)
            .map(|left| self.started_at + FOLLOW_UP_DELAYS[FOLLOW_UP_DELAYS.len() - 1 - left]);
        next.unwrap_or(MonotonicTime::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_in_half_a_minute() {
        let mut all = AnnouncementSchedule::default();
        let start = MonotonicTime(7);
        assert_eq!(all.next_due(None), MonotonicTime::NEVER);
        all.restart(start);
        let mut times = Vec::new();
        while all.next_due(None) != MonotonicTime::NEVER {
            let now = all.next_due(None);
            assert!(all.take_due(now, None));
            assert!(!all.take_due(now, None));
            times.push(now.since(start));
        }
        assert_eq!(times, FOLLOW_UP_DELAYS);
    }

    #[test]
    fn missed_announcements_are_sent_once() {
        let mut all = AnnouncementSchedule::default();
        all.restart(MonotonicTime(0));
        assert!(all.take_due(MonotonicTime(0) + Duration::from_secs(6), None));
        assert_eq!(all.next_due(None), MonotonicTime(0) + Duration::from_secs(30));
    }
    #[test]
    fn a_refresh_follows_the_last_one_whatever_made_it() {
        let every = Some(Duration::from_secs(2));
        let mut all = AnnouncementSchedule::default();
        assert_eq!(all.next_due(every), MonotonicTime::NEVER, "nothing was announced yet");
        all.restart(MonotonicTime(0));
        let mut times = Vec::new();
        while times.len() < 9 {
            let now = all.next_due(every);
            assert!(all.take_due(now, every));
            times.push(now.since(MonotonicTime(0)).as_millis());
        }
        assert_eq!(times, [0, 100, 1_000, 3_000, 5_000, 7_000, 9_000, 11_000, 13_000]);
    }
}
