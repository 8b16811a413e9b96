//! What came within the last hour, by network and by cause, in slices of five minutes. Pure: the moment comes in.

use std::collections::{HashMap, VecDeque};

use model::slo::network_table::SloNetwork;
use model::slo::outcome_counts::SloOutcomeCounts;

/// Seconds of a slice.
/// Five minutes: the shorter span of the fastest alarm.
const SLICE: u64 = 300;
/// Slices of the window: the current one, and the rest of the hour.
const SLICES: u64 = 12;

/// Counts by network; networks that do not fit are counted together.
#[derive(Clone, Debug, Default)]
pub(super) struct NetworkTallies {
    /// Networks that are counted separately.
    pub(super) known: HashMap<SloNetwork, SloOutcomeCounts>,
    pub(super) others: SloOutcomeCounts,
}

impl NetworkTallies {
    /// Adds counts of a network; `None`: one of the others. `most`: the number of networks counted separately.
    pub(super) fn add(&mut self, network: Option<SloNetwork>, more: &SloOutcomeCounts, most: u32) {
        let full = self.known.len() >= most as usize;
        match network.filter(|network| !full || self.known.contains_key(network)) {
            Some(network) => *self.known.entry(network).or_default() += more,
            None => self.others += more,
        }
    }
}

/// Five minutes of a service.
#[derive(Clone, Debug, Default)]
pub(super) struct TallySlice {
    index: u64,
    pub(super) tally: SloOutcomeCounts,
    pub(super) networks: NetworkTallies,
    /// Failures by cause, in the order of their numbers.
    pub(super) causes: Vec<u64>,
}

/// The slice that counts now.
pub(super) struct CurrentSlice<'a> {
    pub(super) slice: &'a mut TallySlice,
    /// It was begun just now.
    pub(super) is_new: bool,
}

/// An hour of a service.
#[derive(Clone, Debug, Default)]
pub(super) struct HourWindow(VecDeque<TallySlice>);

impl HourWindow {
    /// The slice of this moment. Clocks that are set back make no slice.
    pub(super) fn current_slice(&mut self, now: u64) -> CurrentSlice<'_> {
        let at = now / SLICE;
        let is_new = self.0.back().is_none_or(|last| last.index < at);
        if is_new {
            self.0.push_back(TallySlice { index: at, ..TallySlice::default() });
            self.trim(now);
        }
        let last = self.0.len().saturating_sub(1);
        // There is one: it was made above where there was none.
        CurrentSlice { slice: &mut self.0[last], is_new }
    }

    fn trim(&mut self, now: u64) {
        while self.0.front().is_some_and(|first| first.index + SLICES <= now / SLICE) {
            self.0.pop_front();
        }
    }

    /// All of it as one.
    pub(super) fn sum(&self, now: u64) -> TallySlice {
        let mut sum = TallySlice { index: now / SLICE, ..TallySlice::default() };
        for slice in self.0.iter().filter(|slice| slice.index + SLICES > now / SLICE) {
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
    pub(super) fn has_network(&self, network: &SloNetwork) -> bool {
        self.0.iter().any(|slice| slice.networks.known.contains_key(network))
    }
}

#[cfg(test)]
mod tests {
    use model::slo::network_table::NetworkGrouping;

    use super::*;

    #[test]
    fn an_hour_forgets_its_oldest_five_minutes() {
        let shape = NetworkGrouping { networks: 2, mask4: 24, mask6: 56 };
        let network = |last: u8| shape.network([10, 0, last, 1].into());
        let one = SloOutcomeCounts(std::array::from_fn(|at| u64::from(at == 0)));
        let mut hour = HourWindow::default();
        for minute in 0..65 {
            let CurrentSlice { slice, is_new } = hour.current_slice(minute * 60);
            assert_eq!(is_new, minute % 5 == 0, "{minute}");
            slice.tally += &one;
            slice.causes = vec![1, minute];
            slice.networks.add(Some(network((minute % 3) as u8)), &one, 2);
        }
        let sum = hour.sum(64 * 60);
        assert_eq!((sum.tally.total(), sum.causes[0]), (60, 12));
        let named: u64 = sum.networks.known.values().map(SloOutcomeCounts::total).sum();
        assert_eq!(named + sum.networks.others.total(), 60);
        assert!(
            sum.networks.others.total() > 10
                && hour.has_network(&network(1))
                && !hour.has_network(&network(9))
        );
        assert_eq!(hour.sum(64 * 60 + 1_800).tally.total(), 30);
        assert_eq!(hour.sum(200 * 60).tally.total(), 0);
        assert!(!hour.current_slice(60).is_new, "a clock that was set back");
    }
}
