//! What came within the last hour, by network and by cause, in slices of five minutes. Pure: the moment comes in.

use std::collections::{HashMap, VecDeque};

use model::users::table::Network;
use model::users::tally::Tally;

/// Seconds of a slice.
const SLICE: u64 = 300;
/// Slices that are kept: the one under way and those of the rest of the hour.
const SLICES: u64 = 12;

/// Tallies by network; those that find no room are one.
#[derive(Clone, Debug, Default)]
pub(super) struct Networks {
    /// Those that are told apart.
    pub(super) known: HashMap<Network, Tally>,
    /// All others together.
    pub(super) others: Tally,
}

impl Networks {
    /// Adds what a network met; `None`: one of the others. `most`: networks that are told apart.
    pub(super) fn add(&mut self, network: Option<Network>, more: &Tally, most: u32) {
        let full = self.known.len() >= most as usize;
        match network.filter(|network| !full || self.known.contains_key(network)) {
            Some(network) => *self.known.entry(network).or_default() += more,
            None => self.others += more,
        }
    }
}

/// Five minutes of a service.
#[derive(Clone, Debug, Default)]
pub(super) struct Slice {
    at: u64,
    /// All that ended.
    pub(super) tally: Tally,
    /// By network.
    pub(super) networks: Networks,
    /// Failures by cause, in the order of their numbers.
    pub(super) causes: Vec<u64>,
}

/// An hour of a service.
#[derive(Clone, Debug, Default)]
pub(super) struct Hour(VecDeque<Slice>);

impl Hour {
    /// The slice of this moment, and whether it is a new one. Clocks that are set back make no slice.
    pub(super) fn now(&mut self, now: u64) -> (&mut Slice, bool) {
        let at = now / SLICE;
        let new = self.0.back().is_none_or(|last| last.at < at);
        if new {
            self.0.push_back(Slice { at, ..Slice::default() });
            self.trim(now);
        }
        let last = self.0.len().saturating_sub(1);
        // There is one: it was made above where there was none.
        (&mut self.0[last], new)
    }

    fn trim(&mut self, now: u64) {
        while self.0.front().is_some_and(|first| first.at + SLICES <= now / SLICE) {
            self.0.pop_front();
        }
    }

    /// All of it as one.
    pub(super) fn sum(&self, now: u64) -> Slice {
        let mut sum = Slice { at: now / SLICE, ..Slice::default() };
        for slice in self.0.iter().filter(|slice| slice.at + SLICES > now / SLICE) {
            sum.tally += &slice.tally;
            for (network, tally) in &slice.networks.known {
                sum.networks.add(Some(*network), tally, u32::MAX);
            }
            sum.networks.others += &slice.networks.others;
            sum.causes.resize(slice.causes.len().max(sum.causes.len()), 0);
            sum.causes.iter_mut().zip(&slice.causes).for_each(|(all, more)| *all += more);
        }
        sum
    }

    /// Whether a network had anything within the hour.
    pub(super) fn has(&self, network: &Network) -> bool {
        self.0.iter().any(|slice| slice.networks.known.contains_key(network))
    }
}

#[cfg(test)]
mod tests {
    use model::users::table::Shape;

    use super::*;

    #[test]
    fn an_hour_forgets_its_oldest_five_minutes() {
        let shape = Shape { networks: 2, mask4: 24, mask6: 56 };
        let network = |last: u8| shape.network([10, 0, last, 1].into());
        let one = Tally(std::array::from_fn(|at| u64::from(at == 0)));
        let mut hour = Hour::default();
        for minute in 0..65 {
            let (slice, new) = hour.now(minute * 60);
            assert_eq!(new, minute % 5 == 0, "{minute}");
            slice.tally += &one;
            slice.causes = vec![1, minute];
            slice.networks.add(Some(network((minute % 3) as u8)), &one, 2);
        }
        let sum = hour.sum(64 * 60);
        assert_eq!((sum.tally.ended(), sum.causes[0]), (60, 12));
        let named: u64 = sum.networks.known.values().map(Tally::ended).sum();
        assert_eq!(named + sum.networks.others.ended(), 60);
        assert!(
            sum.networks.others.ended() > 10 && hour.has(&network(1)) && !hour.has(&network(9))
        );
        assert_eq!(hour.sum(64 * 60 + 1_800).tally.ended(), 30);
        assert_eq!(hour.sum(200 * 60).tally.ended(), 0);
        assert!(!hour.now(60).1, "a clock that was set back");
    }
}
