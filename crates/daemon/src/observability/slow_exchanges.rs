//! Exchanges that workers have measured, stored to show which ones are slow and why.
//!
//! Workers put them into rings and never wait; here they are taken out and kept in bounded memory, with what the
//! workers counted meanwhile. What they mean is computed in `model`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::load_balancing::Rng;
use model::snapshot::WorkerSnapshot;
use model::stats::ring::SpscRing;
use model::time_attribution::ended_counts::EndedCounts;
use model::time_attribution::ended_totals::EndedTotals;
use model::time_attribution::failure_history::{CountedFailure, FailureHistory};
use model::time_attribution::sample_weights::SampleWeights;
use model::time_attribution::slow_exchanges::SLICE;
use model::time_attribution::{
    ExchangeMeasurement, ExchangeReservoir, SlowExchangeFilter, SlowExchangeReport as Slowest,
    TimeBreakdown, TimeShare, WORDS, attribute_time,
};

/// Bounds the exchanges that wait for readers of every single one.
const MAX_RECENT: usize = 4_096;

/// Measured exchanges since the start.
#[derive(Default)]
pub struct SlowExchangeStore {
    rings: Vec<Arc<SpscRing<WORDS>>>,
    /// One exchange in this many is measured; `None`: none is.
    sample: Option<u32>,
    state: Mutex<SlowState>,
}

#[derive(Default)]
struct SlowState {
    reservoir: ExchangeReservoir,
    sums: HashMap<u32, TimeBreakdown>,
    /// What was counted of each service at the last look.
    totals: HashMap<u32, EndedTotals>,
    weights: SampleWeights,
    failures: FailureHistory,
    sampler: SampleRng,
    /// The slice in which bounds were moved last.
    bounds_slice: u64,
    /// Exchanges since the last read.
    recent: Vec<ExchangeMeasurement>,
}

/// Selects the exchanges to store.
struct SampleRng(Rng);

impl Default for SampleRng {
    fn default() -> Self {
        // A fixed seed suffices: a client gains nothing by predicting the selection.
        SampleRng(Rng::new(0x510_CAFE))
    }
}

/// Time of one service's exchanges, by limit.
#[derive(Clone, Debug)]
pub struct ServiceTimeShares {
    /// The number of the service.
    pub service: u32,
    pub shares: Vec<TimeShare>,
}

/// Time of exchanges since the start, estimated from the measured ones.
#[derive(Clone, Debug, Default)]
pub struct SlowTotals {
    pub services: Vec<ServiceTimeShares>,
    /// Measured exchanges that a full ring dropped.
    pub dropped: u64,
}

impl std::fmt::Debug for SlowExchangeStore {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Slow").field("sample", &self.sample).finish_non_exhaustive()
    }
}

impl SlowExchangeStore {
    /// Reads exchanges from these rings. `sample`: the configured interval; `None`: nothing is measured.
    pub fn new(rings: Vec<Arc<SpscRing<WORDS>>>, sample: Option<u32>) -> SlowExchangeStore {
        SlowExchangeStore { rings, sample, ..SlowExchangeStore::default() }
    }

    /// Reads the rings; `now`: nanoseconds on the workers' clock.
    pub fn drain_rings(&self, snapshot: &WorkerSnapshot, now: u64) {
        let mut kept = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        let words = self.rings.iter().flat_map(|ring| std::iter::from_fn(|| ring.pop()));
        let mut measured: Vec<_> =
            words.map(|words| ExchangeMeasurement::from_words(&words)).collect();
        // A worker counts an exchange and then hands its measurement over. What was counted until the last look has been
        // handed over by now, unless the worker was interrupted in between for two looks: then one may count twice.
        kept.weights.weigh(&mut measured);
        kept.follow_counters(snapshot, now);
        for facts in measured {
            let sums = kept.sums.entry(facts.service).or_default();
            sums.add_scaled(&attribute_time(&facts), facts.weight);
            if kept.recent.len() < MAX_RECENT {
                kept.recent.push(facts.clone());
            }
            kept.reservoir.add(facts, kept.sampler.0.next());
        }
        if now / SLICE > kept.bounds_slice {
            kept.bounds_slice = now / SLICE;
            let is_known = |id| snapshot.services.keys().any(|known| known.0 == id);
            kept.sums.retain(|id, _| is_known(*id));
            kept.totals.retain(|id, _| is_known(*id));
            kept.weights.retain(is_known);
            for (id, view) in &snapshot.services {
                let bound = kept.reservoir.slow_threshold(id.0, now);
                view.stats.slow_threshold_ns.store(bound, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }

    /// Exchanges since the last read; the first ones if there were too many.
    pub fn take_recent(&self) -> Vec<ExchangeMeasurement> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).recent)
    }

    /// The slowest that fit.
    pub fn find_slowest(&self, filter: &SlowExchangeFilter) -> Slowest {
        let kept = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        kept.reservoir.slowest(filter, kept.weights.pending(filter.service))
    }

    /// The failures of a service since a time, as the workers counted them.
    pub fn counted_failures(&self, service: u32, since: u64) -> Vec<CountedFailure> {
        let kept = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        kept.failures.of_service(service, since)
    }

    /// One exchange in this many is measured regardless of its duration. `None`: none is measured.
    pub fn sample_interval(&self) -> Option<u32> {
        self.sample
    }

    /// Time since the start.
    pub fn totals(&self) -> SlowTotals {
        let kept = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let services = kept
            .sums
            .iter()
            .map(|(id, bars)| ServiceTimeShares { service: *id, shares: bars.all().to_vec() });
        SlowTotals {
            services: services.collect(),
            dropped: self.rings.iter().map(|ring| ring.dropped()).sum(),
        }
    }
}

impl SlowState {
    /// Reads what workers counted since the last look.
    fn follow_counters(&mut self, snapshot: &WorkerSnapshot, now: u64) {
        for (id, view) in &snapshot.services {
            let ended = self.totals.entry(id.0).or_default().advance(&view.stats);
            if ended != EndedCounts::default() {
                self.weights.count(id.0, &ended);
                self.failures.add(id.0, &ended.failures, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use model::limit::TimeOwner;
    use proptest::prelude::*;

    use super::*;
    use crate::observability::report::fixture::{SHOP, state_snapshot};

    const ROUNDING: f64 = 1e-6;

    proptest! {
        /// A worker counts and hands over in two steps, between which another thread may look once.
        #[test]
        fn a_look_between_the_steps_counts_no_exchange_twice(looks in prop::collection::vec(any::<bool>(), 40)) {
            let state = state_snapshot(SHOP, 1);
            let (id, view) = state.snapshot.services.iter().next().unwrap();
            let ring = Arc::new(SpscRing::new(64));
            let slow = SlowExchangeStore::new(vec![ring.clone()], Some(1));
            let filter = SlowExchangeFilter { service: id.0, servers: None, from: None, share: 1.0, since: 0 };
            let mut counted = 0;
            for (at, is_look) in looks.iter().enumerate() {
                if at % 2 == 0 {
                    view.stats.slots[0].counters.answered.add(1);
                    counted += 1;
                } else {
                    let mut facts = ExchangeMeasurement::from_total(IpAddr::from([192, 0, 2, 1]), 1_000);
                    facts.service = id.0;
                    facts.id = at as u64;
                    facts.flags.slow = at % 3 == 0;
                    ring.push(&facts.to_words());
                }
                if *is_look {
                    slow.drain_rings(&state.snapshot, 5);
                    prop_assert!(slow.find_slowest(&filter).all < f64::from(counted) + ROUNDING);
                }
            }
            slow.drain_rings(&state.snapshot, 5);
            prop_assert!((slow.find_slowest(&filter).all - f64::from(counted)).abs() < ROUNDING);
        }
    }

    #[test]
    fn an_exchange_that_was_measured_and_not_counted_stands_for_itself() {
        let ring = Arc::new(SpscRing::new(4));
        let slow = SlowExchangeStore::new(vec![ring.clone()], Some(10));
        for (at, total, is_slow) in [(0, 1_000, false), (1, 900_000, true), (2, 2_000, false)] {
            let mut facts = ExchangeMeasurement::from_total(IpAddr::from([192, 0, 2, 1]), total);
            facts.ended_at = at;
            facts.id = at;
            facts.flags.slow = is_slow;
            ring.push(&facts.to_words());
        }
        let snapshot = WorkerSnapshot {
            generation: 1,
            version: 1,
            services: Default::default(),
            pools: Default::default(),
            acme_proofs: None,
            cookie_secrets: Default::default(),
            auth: None,
            auth_pools: Default::default(),
        };
        slow.drain_rings(&snapshot, 5);
        let totals = slow.totals();
        assert_eq!((totals.dropped, totals.services.len()), (0, 1));
        let bars = &totals.services[0].shares;
        assert_eq!(bars.iter().map(|bar| bar.nanos).sum::<u64>(), 903_000);
        assert!(bars.iter().all(|bar| bar.owner == Some(TimeOwner::Balancer)));
        let filter =
            SlowExchangeFilter { service: 0, servers: None, from: None, share: 0.04, since: 0 };
        let found = slow.find_slowest(&filter);
        assert_eq!((found.all, found.measured, found.threshold), (3.0, 1, 900_000));
        slow.drain_rings(&snapshot, SLICE);
        assert!(slow.totals().services.is_empty(), "a service that is gone is forgotten");
    }
}
