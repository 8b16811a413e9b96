//! How many exchanges each measured one represents, so that all of them represent what was counted.
//!
//! A slow exchange represents itself. A failed one represents those that failed in the same way, and an ordinary one the
//! ordinary ones, that were counted since the last measured ones. What was counted and not represented yet is pending.
//!
//! A worker counts an exchange first and hands its measurement over afterwards. A look takes what was handed over, then
//! counts, then weighs, so that everything measured has been counted. An exchange between its two steps is represented
//! by others at first, and then by itself: for that time the pending number is negative. The weights and the pending
//! number add up to what was counted in any case.

use std::collections::HashMap;

use super::ended_counts::EndedCounts;
use super::exchange_measurement::ExchangeMeasurement;
use crate::exchange_failure::ExchangeFailure;

/// Counted exchanges that no measured one represents yet, by service.
#[derive(Debug, Default)]
pub struct SampleWeights {
    pending: HashMap<u32, PendingExchanges>,
}

#[derive(Debug, Default)]
struct PendingExchanges {
    ordinary: f64,
    failures: HashMap<ExchangeFailure, f64>,
}

/// Counted exchanges that no measured one represents yet. Negative: they were represented twice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PendingCounts {
    pub ordinary: f64,
    pub failed: f64,
}

/// What a measured exchange represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    Slow,
    Ordinary,
    Failed(ExchangeFailure),
    /// The balancer answered, or the client was denied: not counted among the others, and represents itself.
    Uncounted,
}

impl SampleKind {
    pub fn of(facts: &ExchangeMeasurement) -> SampleKind {
        match facts.failure() {
            Some(failure) => SampleKind::Failed(failure),
            None if facts.flags.by_us || facts.cause.is_some() => SampleKind::Uncounted,
            None if facts.flags.slow => SampleKind::Slow,
            None => SampleKind::Ordinary,
        }
    }
}

impl SampleWeights {
    /// Exchanges of a service that ended.
    pub fn count(&mut self, service: u32, ended: &EndedCounts) {
        let pending = self.pending.entry(service).or_default();
        pending.ordinary += ended.answered as f64;
        for one in &ended.failures {
            *pending.failures.entry(one.failure).or_default() += one.count as f64;
        }
    }

    /// Sets the weights of exchanges that were measured among those counted. The others have a weight of 1.
    pub fn weigh(&mut self, measured: &mut [ExchangeMeasurement]) {
        let mut numbers: HashMap<(u32, Option<ExchangeFailure>), f64> = HashMap::new();
        for facts in measured.iter() {
            match SampleKind::of(facts) {
                SampleKind::Slow => self.pending.entry(facts.service).or_default().ordinary -= 1.0,
                SampleKind::Ordinary => *numbers.entry((facts.service, None)).or_default() += 1.0,
                SampleKind::Failed(failure) => {
                    *numbers.entry((facts.service, Some(failure))).or_default() += 1.0;
                }
                SampleKind::Uncounted => {}
            }
        }
        let mut weights = HashMap::with_capacity(numbers.len());
        for (key, number) in numbers {
            let pending = self.pending.entry(key.0).or_default();
            let left = match key.1 {
                None => &mut pending.ordinary,
                Some(failure) => pending.failures.entry(failure).or_default(),
            };
            let weight = (*left / number).max(1.0);
            *left -= weight * number;
            weights.insert(key, weight);
        }
        for facts in measured {
            let failure = match SampleKind::of(facts) {
                SampleKind::Slow | SampleKind::Uncounted => continue,
                SampleKind::Ordinary => None,
                SampleKind::Failed(failure) => Some(failure),
            };
            facts.weight = weights.get(&(facts.service, failure)).copied().unwrap_or(1.0);
        }
    }

    /// Exchanges of a service that no measured one represents yet.
    pub fn pending(&self, service: u32) -> PendingCounts {
        self.pending.get(&service).map_or(PendingCounts::default(), |pending| PendingCounts {
            ordinary: pending.ordinary,
            failed: pending.failures.values().sum(),
        })
    }

    /// Forgets every service but these.
    pub fn retain(&mut self, is_known: impl Fn(u32) -> bool) {
        self.pending.retain(|service, _| is_known(*service));
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::cause::Cause;
    use crate::time_attribution::ended_counts::FailureCount;

    fn measured(slow: bool, cause: Option<Cause>) -> ExchangeMeasurement {
        let mut facts = ExchangeMeasurement::from_total(IpAddr::from([192, 0, 2, 1]), 1);
        facts.flags.slow = slow;
        facts.cause = cause.map(|cause| cause as u8);
        facts
    }

    #[test]
    fn the_measured_represent_what_was_counted_however_few_or_many() {
        for (answered, slow, ordinary, refused, refused_measured) in [
            (6, 0, 6, 0, 0),
            (6, 0, 1, 0, 0),
            (1_000, 10, 15, 0, 0),
            (0, 0, 0, 500, 3),
            (64, 64, 0, 1, 1),
            (70, 1, 2, 90, 4),
        ] {
            let mut weights = SampleWeights::default();
            let failure = ExchangeFailure::Cause(Cause::ServerRefused);
            let failures = vec![FailureCount { failure, count: refused }];
            weights.count(0, &EndedCounts { answered, failures });
            let mut all: Vec<_> = (0..slow).map(|_| measured(true, None)).collect();
            all.extend((0..ordinary).map(|_| measured(false, None)));
            all.extend(
                (0..refused_measured).map(|at| measured(at == 0, Some(Cause::ServerRefused))),
            );
            weights.weigh(&mut all);
            let sum: f64 = all.iter().map(|facts| facts.weight).sum();
            let PendingCounts { ordinary, failed } = weights.pending(0);
            assert!((sum + ordinary + failed - (answered + refused) as f64).abs() < 1e-9, "{sum}");
            assert!(all.iter().all(|facts| facts.weight >= 1.0
                && (!facts.flags.slow || facts.weight == 1.0 || facts.cause.is_some())));
        }
    }

    #[test]
    fn an_exchange_that_others_represented_is_taken_off_what_is_pending() {
        let mut weights = SampleWeights::default();
        weights.count(0, &EndedCounts { answered: 2, failures: Vec::new() });
        let mut first = [measured(false, None)];
        weights.weigh(&mut first);
        let mut late = [measured(false, None)];
        weights.weigh(&mut late);
        assert_eq!(
            (first[0].weight, late[0].weight, weights.pending(0).ordinary),
            (2.0, 1.0, -1.0)
        );
        weights.count(0, &EndedCounts { answered: 4, failures: Vec::new() });
        assert_eq!(weights.pending(0).ordinary, 3.0);
        weights.retain(|_| false);
        assert_eq!(weights.pending(0), PendingCounts::default());
    }

    #[test]
    fn a_denial_stands_for_itself_and_takes_nothing_from_answers() {
        let mut weights = SampleWeights::default();
        weights.count(0, &EndedCounts { answered: 9, failures: Vec::new() });
        let mut by_us = measured(true, None);
        by_us.flags.by_us = true;
        let mut all = [measured(true, Some(Cause::RuleDenied)), by_us, measured(false, None)];
        weights.weigh(&mut all);
        assert_eq!(all.map(|facts| facts.weight), [1.0, 1.0, 9.0]);
    }

    #[test]
    fn a_servers_error_that_a_page_replaced_is_a_failure() {
        let mut replaced = measured(false, None);
        (replaced.status, replaced.flags.error_replaced) = (200, true);
        let failure = SampleKind::Failed(ExchangeFailure::ServerStatus);
        assert_eq!(SampleKind::of(&replaced), failure);
    }
}
