//! What workers counted of a service's ended exchanges since the last look: exact, also where few were measured.

use super::ended_counts::{EndedCounts, FailureCount};
use crate::cause::Cause;
use crate::exchange_failure::ExchangeFailure;
use crate::stats::{Count, ServiceStats};

/// A service's counters at the last look.
#[derive(Clone, Debug, Default)]
pub struct EndedTotals {
    /// Answers, those with an error status left out.
    answered: u64,
    complete_5xx: u64,
    other_ends: u64,
    causes: Vec<u64>,
    /// An end is counted a moment before its cause: the causes are read once more.
    is_recent: bool,
}

impl EndedTotals {
    /// What was counted since the last call. Causes are read only after an exchange ended without an answer.
    pub fn advance(&mut self, stats: &ServiceStats) -> EndedCounts {
        let sum = |of: fn(&crate::stats::ServiceCounters) -> &Count| -> u64 {
            stats.slots.iter().map(|slot| of(&slot.counters).get()).sum()
        };
        let answers = sum(|counters| &counters.answered);
        let complete_5xx = sum(|counters| &counters.complete_5xx);
        let other_ends =
            sum(|counters| &counters.answered_by_us) + sum(|counters| &counters.aborted);
        let answered = answers.saturating_sub(complete_5xx).max(self.answered);
        let mut counts = EndedCounts { answered: answered - self.answered, failures: Vec::new() };
        let changed = other_ends != self.other_ends;
        if changed || self.is_recent {
            self.advance_causes(stats, &mut counts);
        }
        let errors = complete_5xx.saturating_sub(self.complete_5xx);
        if errors > 0 {
            counts
                .failures
                .push(FailureCount { failure: ExchangeFailure::ServerStatus, count: errors });
        }
        *self = EndedTotals {
            answered,
            complete_5xx,
            other_ends,
            is_recent: changed,
            causes: std::mem::take(&mut self.causes),
        };
        counts
    }

    fn advance_causes(&mut self, stats: &ServiceStats, counts: &mut EndedCounts) {
        self.causes.resize(Cause::COUNT, 0);
        for (cause, before) in Cause::ALL.iter().zip(&mut self.causes) {
            let now: u64 = stats.slots.iter().map(|slot| slot.causes[*cause as usize].get()).sum();
            let count = now.saturating_sub(*before);
            *before = now;
            if let Some(failure) = ExchangeFailure::of_cause(*cause).filter(|_| count > 0) {
                counts.failures.push(FailureCount { failure, count });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_is_told_once() {
        let stats = ServiceStats::new(2);
        let mut totals = EndedTotals::default();
        assert_eq!(totals.advance(&stats), EndedCounts::default());
        let [one, other] = [&stats.slots[0], &stats.slots[1]];
        one.counters.answered.add(5);
        other.counters.answered.add(2);
        other.counters.complete_5xx.add(2);
        one.counters.answered_by_us.add(3);
        one.causes[Cause::ServerRefused as usize].add(2);
        one.causes[Cause::RuleDenied as usize].add(1);
        let counts = totals.advance(&stats);
        assert_eq!(counts.answered, 5);
        let failures: Vec<_> =
            counts.failures.iter().map(|one| (one.failure.name(), one.count)).collect();
        assert_eq!(failures, [("server-refused", 2), ("server-5xx", 2)]);
        assert_eq!(totals.advance(&stats), EndedCounts::default());
    }
}
