//! One path of the heartbeat: which heartbeats arrived, when, how many were lost, and the round trip. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

/// Rounds over which the loss is computed: a resolution of one per cent.
const WINDOW: u64 = 100;
/// Width of the bitmap of received numbers. A heartbeat further behind the newest counts as a duplicate.
const RECEIVED_BITS: u64 = u128::BITS as u64;
/// Round trips of which the least is reported: queueing does not make a path longer.
const TRIPS: usize = 32;

/// A received heartbeat that is still to be acknowledged to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeartbeatArrival {
    pub session: u64,
    pub number: u64,
    pub at: MonotonicTime,
}

#[derive(Clone, Debug, Default)]
pub struct PeerLinkPath {
    /// Heartbeats arrive over this path.
    pub up: bool,
    /// When the last accepted heartbeat arrived.
    pub received_at: Option<MonotonicTime>,
    /// The last heartbeat of the accepted session.
    pub(super) last: Option<HeartbeatArrival>,
    /// The last heartbeat that did not carry this member's session.
    pub(super) unknown_session: Option<HeartbeatArrival>,
    /// When we sent the newest of our heartbeats that arrived at the peer over this path.
    pub(super) arrived: Option<MonotonicTime>,
    newest: u64,
    received_bits: u128,
    round_trips: VecDeque<Duration>,
}

impl PeerLinkPath {
    /// Another session begins, and its numbers start anew.
    pub(super) fn reset_session(&mut self) {
        self.newest = 0;
        self.received_bits = 0;
        self.last = None;
        self.round_trips.clear();
    }

    /// Marks a number as received. Returns whether it is new on this path.
    pub(super) fn mark_received(&mut self, number: u64) -> bool {
        if number > self.newest {
            let ahead = number - self.newest;
            self.received_bits =
                if ahead < RECEIVED_BITS { self.received_bits << ahead } else { 0 };
            self.newest = number;
            self.received_bits |= 1;
            return true;
        }
        let behind = self.newest - number;
        let new = behind < RECEIVED_BITS && self.received_bits & (1 << behind) == 0;
        if new {
            self.received_bits |= 1 << behind;
        }
        new
    }

    pub(super) fn record_round_trip(&mut self, trip: Duration) {
        if self.round_trips.len() == TRIPS {
            self.round_trips.pop_front();
        }
        self.round_trips.push_back(trip);
    }

    /// The least of the recent round trips.
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trips.iter().min().copied()
    }

    /// The share of the rounds `first` to `newest` that arrived over some path but not over this one, 0–1. The newest
    /// round may still be in flight and is left out.
    pub(super) fn loss(&self, first: u64, newest: u64) -> f64 {
        let rounds = newest.saturating_sub(first).min(WINDOW);
        if rounds == 0 {
            return 0.0;
        }
        let came = |number: &u64| {
            let behind = self.newest.checked_sub(*number).filter(|behind| *behind < RECEIVED_BITS);
            behind.is_some_and(|behind| self.received_bits & (1 << behind) != 0)
        };
        let came = (newest - rounds..newest).filter(came).count();
        1.0 - came as f64 / rounds as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_taken_once_in_any_order() {
        let mut path = PeerLinkPath::default();
        assert!([3, 1, 2, 9].into_iter().all(|number| path.mark_received(number)));
        assert!(![3, 1, 2, 9].into_iter().any(|number| path.mark_received(number)));
        assert!(path.mark_received(9 + 200) && !path.mark_received(10), "too old to tell");
    }

    #[test]
    fn a_heartbeat_seen_only_on_another_path_is_lost() {
        let mut path = PeerLinkPath::default();
        assert!(
            (1..=100).filter(|number| number % 4 != 0).all(|number| path.mark_received(number))
        );
        assert_eq!(path.loss(1, 101), 0.25);
        assert_eq!(path.loss(1, 1000), 1.0, "the last hundred came by others");
        assert_eq!(path.loss(100, 100), 0.0);
    }

    proptest! {
        #[test]
        fn a_number_is_never_taken_twice(numbers in prop::collection::vec(1..400_u64, 0..400)) {
            let (mut path, mut taken) = (PeerLinkPath::default(), std::collections::BTreeSet::new());
            for number in numbers {
                if path.mark_received(number) {
                    prop_assert!(taken.insert(number));
                }
                prop_assert!((0.0..=1.0).contains(&path.loss(1, number)));
            }
        }
    }
}
