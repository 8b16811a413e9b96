//! How many exchanges each measured one represents, so that all of them represent what was counted.
//!
//! A slow exchange represents itself. A failed one represents those that failed in the same way, and an ordinary one the
//! ordinary ones, that were counted since the last measured ones. What was counted and not represented yet is pending.
//!
//! An exchange is counted before it is measured. So each look weighs what was measured first and counts afterwards: an
//! exchange that is measured by the next look is not represented by others before.

use std::collections::HashMap;

use super::ended_counts::EndedCounts;
use super::exchange_measurement::ExchangeMeasurement;
use crate::exchange_failure::ExchangeFailure;

/// Counted exchanges that no measured one represents yet, by service.
#[derive(Debug, Default)]
pub struct SampleWeights {
    pending: HashMap<u32, PendingExchanges>,
}

/// Negative: measured before they were counted.
#[derive(Debug, Default)]
struct PendingExchanges {
    ordinary: f64,
    failures: HashMap<ExchangeFailure, f64>,
}

/// What a measured exchange represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    Slow,
    Ordinary,
    Failed(ExchangeFailure),
}

impl SampleKind {
    pub fn of(facts: &ExchangeMeasurement) -> SampleKind {
        match facts.failure() {
            Some(failure) => SampleKind::Failed(failure),
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

    /// Sets the weights of exchanges that were measured among those counted.
    pub fn weigh(&mut self, measured: &mut [ExchangeMeasurement]) {
        let mut numbers: HashMap<(u32, Option<ExchangeFailure>), f64> = HashMap::new();
        for facts in measured.iter() {
            match SampleKind::of(facts) {
                SampleKind::Slow => self.pending.entry(facts.service).or_default().ordinary -= 1.0,
                SampleKind::Ordinary => *numbers.entry((facts.service, None)).or_default() += 1.0,
                SampleKind::Failed(failure) => {
                    *numbers.entry((facts.service, Some(failure))).or_default() += 1.0;
                }
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
                SampleKind::Slow => continue,
                SampleKind::Ordinary => None,
                SampleKind::Failed(failure) => Some(failure),
            };
            facts.weight = weights.get(&(facts.service, failure)).copied().unwrap_or(1.0);
        }
    }

    /// Ordinary exchanges of a service that no measured one represents yet.
    pub fn pending(&self, service: u32) -> f64 {
        self.pending.get(&service).map_or(0.0, |pending| pending.ordinary.max(0.0))
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
            assert!((sum + weights.pending(0) - (answered + refused) as f64).abs() < 1e-9, "{sum}");
            assert!(all.iter().all(|facts| facts.weight >= 1.0
                && (!facts.flags.slow || facts.weight == 1.0 || facts.cause.is_some())));
        }
    }

    #[test]
    fn what_is_measured_before_it_is_counted_is_not_counted_twice() {
        let mut weights = SampleWeights::default();
        let mut early = [measured(false, None)];
        weights.weigh(&mut early);
        weights.count(0, &EndedCounts { answered: 1, failures: Vec::new() });
        assert_eq!((early[0].weight, weights.pending(0)), (1.0, 0.0));
        weights.count(0, &EndedCounts { answered: 4, failures: Vec::new() });
        assert_eq!(weights.pending(0), 4.0);
        weights.retain(|_| false);
        assert_eq!(weights.pending(0), 0.0);
    }
}
