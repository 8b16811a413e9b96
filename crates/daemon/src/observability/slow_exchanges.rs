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
        // After the rings: a worker counts an exchange before it hands its measurement over.
        kept.follow_counters(snapshot, now);
        kept.weights.weigh(&mut measured);
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

    use model::cause::Cause;
    use model::limit::TimeOwner;
    use model::stats::ServiceStats;
    use proptest::prelude::*;

    use super::*;
    use crate::observability::report::fixture::{SHOP, state_snapshot};

    const ROUNDING: f64 = 1e-6;

    /// An exchange of one worker that ends, and how many looks fall before it is counted and before it is handed over.
    #[derive(Clone, Debug)]
    struct EndingExchange {
        worker: usize,
        kind: EndingKind,
        is_measured: bool,
        looks: [u8; 2],
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum EndingKind {
        Ordinary,
        Slow,
        Refused,
        ServerError,
        Denied,
    }

    fn ending_exchange() -> impl Strategy<Value = EndingExchange> {
        use EndingKind::*;
        let kinds =
            prop::sample::select(vec![Ordinary, Ordinary, Slow, Refused, ServerError, Denied]);
        (0..2usize, kinds, any::<bool>(), [0..3u8, 0..3u8]).prop_map(
            |(worker, kind, is_measured, looks)| EndingExchange {
                worker,
                kind,
                is_measured,
                looks,
            },
        )
    }

    impl EndingExchange {
        fn count(&self, stats: &ServiceStats) {
            let slot = &stats.slots[self.worker];
            match self.kind {
                EndingKind::Ordinary | EndingKind::Slow => slot.counters.answered.add(1),
                EndingKind::ServerError => {
                    slot.counters.answered.add(1);
                    slot.counters.complete_5xx.add(1);
                }
                EndingKind::Refused => {
                    slot.counters.answered_by_us.add(1);
                    slot.causes[Cause::ServerRefused as usize].add(1);
                }
                EndingKind::Denied => {
                    slot.counters.answered_by_us.add(1);
                    slot.causes[Cause::RuleDenied as usize].add(1);
                }
            }
        }

        fn measure(&self, service: u32, id: u64) -> [u64; WORDS] {
            let mut facts = ExchangeMeasurement::from_total(IpAddr::from([192, 0, 2, 1]), 1_000);
            (facts.service, facts.id) = (service, id);
            facts.flags.slow = self.kind == EndingKind::Slow;
            facts.flags.by_us = matches!(self.kind, EndingKind::Refused | EndingKind::Denied);
            facts.status = if self.kind == EndingKind::ServerError { 502 } else { 200 };
            facts.cause = match self.kind {
                EndingKind::Refused => Some(Cause::ServerRefused as u8),
                EndingKind::Denied => Some(Cause::RuleDenied as u8),
                _ => None,
            };
            facts.to_words()
        }
    }

    proptest! {
        /// Two workers count and hand over in two steps each, and between any two steps there may be looks.
        #[test]
        fn what_a_report_says_of_all_exchanges_is_what_was_counted(
            exchanges in prop::collection::vec(ending_exchange(), 1..40),
        ) {
            let state = state_snapshot(SHOP, 2);
            let (id, view) = state.snapshot.services.iter().next().unwrap();
            let rings: [_; 2] = std::array::from_fn(|_| Arc::new(SpscRing::new(4)));
            let slow = SlowExchangeStore::new(rings.to_vec(), Some(1));
            let filter = SlowExchangeFilter { service: id.0, servers: None, from: None, share: 1.0, since: 0 };
            let mut open: [Option<(EndingExchange, u64)>; 2] = [None, None];
            // Each kind has one to represent those that were not measured.
            let mut counted = 0.0;
            for kind in [EndingKind::Ordinary, EndingKind::Refused] {
                let one = EndingExchange { worker: 0, kind, is_measured: true, looks: [0, 0] };
                one.count(&view.stats);
                counted += 1.0;
                prop_assert!(rings[0].push(&one.measure(id.0, 1_000)));
            }
            let mut denials = 0.0;
            let look = |counted: f64, denials: f64| {
                slow.drain_rings(&state.snapshot, 5);
                let found = slow.find_slowest(&filter);
                let is_exact = (found.all - counted - denials).abs() < ROUNDING;
                prop_assert!(is_exact, "{} instead of {counted} and {denials}", found.all);
                Ok(())
            };
            for (at, one) in exchanges.into_iter().enumerate() {
                // A worker ends one exchange at a time.
                let worker = one.worker;
                if let Some((before, id_before)) = open[worker].take() {
                    let was_pushed = rings[worker].push(&before.measure(id.0, id_before));
                    denials += f64::from(was_pushed && before.kind == EndingKind::Denied);
                }
                for _ in 0..one.looks[0] {
                    look(counted, denials)?;
                }
                one.count(&view.stats);
                counted += f64::from(one.kind != EndingKind::Denied);
                for _ in 0..one.looks[1] {
                    look(counted, denials)?;
                }
                open[worker] = one.is_measured.then_some((one, at as u64));
            }
        }
    }

    #[test]
    fn the_times_of_exchanges_are_summed_until_their_service_is_gone() {
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
        assert_eq!((found.sampled, found.measured, found.threshold), (3, 1, 900_000));
        slow.drain_rings(&snapshot, SLICE);
        assert!(slow.totals().services.is_empty(), "a service that is gone is forgotten");
    }
}
