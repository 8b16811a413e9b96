//! One path of the heartbeat: which beats came by it, when, how many were lost, how long the way is. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use model::moment::Moment;

/// Rounds of beats of which the loss is told.
const WINDOW: u64 = 100;
/// Bits of what was seen: a beat that comes later than so many after it counts as heard before.
const SEEN: u64 = u128::BITS as u64;
/// Round trips of which the least is told: what waited in queues does not make a path longer.
const TRIPS: usize = 32;

/// A beat by which the sender is to learn that it was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Last {
    pub session: u64,
    pub number: u64,
    pub at: Moment,
}

/// A path.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// The other member is heard by it.
    pub up: bool,
    /// A beat that was believed came last.
    pub heard_at: Option<Moment>,
    /// The last beat of the session that is believed.
    pub(super) last: Option<Last>,
    /// The last beat that did not know our session.
    pub(super) stranger: Option<Last>,
    /// The newest of our beats that arrived there by this path, as we sent it.
    pub(super) arrived: Option<Moment>,
    newest: u64,
    seen: u128,
    trips: VecDeque<Duration>,
}

impl Path {
    /// Another session begins: numbers begin anew.
    pub(super) fn renew(&mut self) {
        (self.newest, self.seen, self.last) = (0, 0, None);
        self.trips.clear();
    }

    /// Whether no beat of this number came by this path yet; it is taken as come.
    pub(super) fn take(&mut self, number: u64) -> bool {
        if number > self.newest {
            let ahead = number - self.newest;
            self.seen = if ahead < SEEN { self.seen << ahead } else { 0 };
            (self.newest, self.seen) = (number, self.seen | 1);
            return true;
        }
        let behind = self.newest - number;
        let new = behind < SEEN && self.seen & (1 << behind) == 0;
        if new {
            self.seen |= 1 << behind;
        }
        new
    }

    /// A round trip was measured.
    pub(super) fn trip(&mut self, trip: Duration) {
        if self.trips.len() == TRIPS {
            self.trips.pop_front();
        }
        self.trips.push_back(trip);
    }

    /// The least of the last round trips.
    pub fn round_trip(&self) -> Option<Duration> {
        self.trips.iter().min().copied()
    }

    /// Of the last rounds from `first` up to `newest`, which came by some path, the share that did not come by this
    /// one, 0–1. The newest may still be on its way.
    pub(super) fn loss(&self, first: u64, newest: u64) -> f64 {
        let rounds = newest.saturating_sub(first).min(WINDOW);
        if rounds == 0 {
            return 0.0;
        }
        let came = |number: &u64| {
            let behind = self.newest.checked_sub(*number).filter(|behind| *behind < SEEN);
            behind.is_some_and(|behind| self.seen & (1 << behind) != 0)
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
        let mut path = Path::default();
        assert!([3, 1, 2, 9].into_iter().all(|number| path.take(number)));
        assert!(![3, 1, 2, 9].into_iter().any(|number| path.take(number)));
        assert!(path.take(9 + 200) && !path.take(10), "too old to tell");
    }

    #[test]
    fn what_came_by_another_path_alone_is_lost() {
        let mut path = Path::default();
        assert!((1..=100).filter(|number| number % 4 != 0).all(|number| path.take(number)));
        assert_eq!(path.loss(1, 101), 0.25);
        assert_eq!(path.loss(1, 1000), 1.0, "the last hundred came by others");
        assert_eq!(path.loss(100, 100), 0.0);
    }

    proptest! {
        #[test]
        fn a_number_is_never_taken_twice(numbers in prop::collection::vec(1..400_u64, 0..400)) {
            let (mut path, mut taken) = (Path::default(), std::collections::BTreeSet::new());
            for number in numbers {
                if path.take(number) {
                    prop_assert!(taken.insert(number));
                }
                prop_assert!((0.0..=1.0).contains(&path.loss(1, number)));
            }
        }
    }
}
