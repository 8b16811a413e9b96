//! Sums over the workers' slots: one service, one server, at one moment.
//!
//! Histograms are kept sparse, because a sample outlives its moment and most buckets are empty. It derives nothing.

use std::time::Duration;

use model::cause::Cause;
use model::exchange_error::ErrorTally;
use model::slo::outcome_counts::SloOutcomeCounts;
use model::snapshot::ServiceView;
use model::stats::{
    DEFECTS, ExchangePhaseHistograms, Histogram, HistogramSum, ServerCounters, ServerStats,
    ServiceCounters,
};

/// Totals of a service over all workers.
#[derive(Debug, Default)]
pub struct ServiceTotals {
    pub counters: ServiceCounters,
    /// Ends by cause, in the order of `Cause::ALL`.
    pub causes: Vec<u64>,
    pub errors: ErrorTally,
    /// Refused requests by rule of grammar, by index.
    pub defects: Vec<u64>,
    /// Times, in the order of `ExchangePhaseHistograms::NAMES`.
    pub phases: [HistogramTimes; 5],
    pub open: u32,
    /// Exchanges or `tcp` connections under way.
    pub in_flight: u32,
    /// SLO outcomes; `None`: the service has no objective.
    pub users: Option<SloOutcomeCounts>,
}

/// Totals of a server over all workers.
#[derive(Debug, Default)]
pub struct ServerTotals {
    pub counters: ServerCounters,
    /// Ends by cause, in the order of `Cause::ALL`.
    pub causes: Vec<u64>,
    pub errors: ErrorTally,
    /// Times, in the order of `ExchangePhaseHistograms::NAMES`.
    pub phases: [HistogramTimes; 5],
}

/// A histogram's bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FilledBucket {
    index: u8,
    count: u64,
}

/// A histogram without its empty buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistogramTimes {
    buckets: Box<[FilledBucket]>,
    sum_nanos: u64,
}

impl ServiceTotals {
    /// Reads every worker's slot. Counters that change meanwhile may be included in one sum and missing in another.
    pub fn read(view: &ServiceView) -> ServiceTotals {
        let live = &view.stats;
        let sums = ServiceTotals {
            users: view.slo.as_ref().map(|users| users.totals()),
            causes: by_index(live.slots.iter().map(|slot| &slot.causes[..]), Cause::COUNT),
            errors: ErrorTally::of_service(live),
            defects: by_index(live.slots.iter().map(|slot| &slot.defects[..]), DEFECTS),
            phases: times(live.slots.iter().map(|slot| &slot.phases)),
            open: live.open_connections.get(),
            in_flight: live.in_flight.get(),
            ..ServiceTotals::default()
        };
        for slot in &live.slots {
            sums.counters.add_all(&slot.counters);
        }
        sums
    }

    /// Whether nothing was counted since these totals were read.
    pub fn is_current(&self, view: &ServiceView) -> bool {
        let live = &view.stats;
        let mut now = vec![0; ServiceCounters::NAMES.len()];
        for slot in &live.slots {
            now.iter_mut().zip(slot.counters.values()).for_each(|(sum, n)| *sum += n);
        }
        now == self.counters.values()
            && self.errors == ErrorTally::of_service(live)
            && self.causes == by_index(live.slots.iter().map(|slot| &slot.causes[..]), Cause::COUNT)
            && self.defects == by_index(live.slots.iter().map(|slot| &slot.defects[..]), DEFECTS)
            && are_current(&self.phases, live.slots.iter().map(|slot| &slot.phases))
            && self.open == live.open_connections.get()
            && self.in_flight == live.in_flight.get()
            && self.users == view.slo.as_ref().map(|users| users.totals())
    }
}

impl ServerTotals {
    pub fn read(live: &ServerStats) -> ServerTotals {
        let sums = ServerTotals {
            causes: by_index(live.slots.iter().map(|slot| &slot.causes[..]), Cause::COUNT),
            errors: ErrorTally::of_server(live),
            phases: times(live.slots.iter().map(|slot| &slot.phases)),
            ..ServerTotals::default()
        };
        for slot in &live.slots {
            sums.counters.add_all(&slot.counters);
        }
        sums
    }

    /// Whether nothing was counted since these totals were read.
    pub fn is_current(&self, live: &ServerStats) -> bool {
        let mut now = vec![0; ServerCounters::NAMES.len()];
        for slot in &live.slots {
            now.iter_mut().zip(slot.counters.values()).for_each(|(sum, n)| *sum += n);
        }
        now == self.counters.values()
            && self.errors == ErrorTally::of_server(live)
            && self.causes == by_index(live.slots.iter().map(|slot| &slot.causes[..]), Cause::COUNT)
            && are_current(&self.phases, live.slots.iter().map(|slot| &slot.phases))
    }

    /// What its requests took until their first byte.
    pub fn cost(&self) -> RequestCost {
        let [_, _, first_byte, ..] = &self.phases;
        let requests = first_byte.buckets.iter().map(|bucket| bucket.count).sum();
        RequestCost { requests, nanos: first_byte.sum_nanos }
    }
}

/// Requests, and the time until the first byte of their responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCost {
    pub requests: u64,
    pub nanos: u64,
}

impl RequestCost {
    /// What was added after `before`.
    pub fn since(&self, before: &RequestCost) -> RequestCost {
        RequestCost {
            requests: self.requests.saturating_sub(before.requests),
            nanos: self.nanos.saturating_sub(before.nanos),
        }
    }

    /// The mean; `None`: there was no request.
    pub fn mean(&self) -> Option<Duration> {
        self.nanos.checked_div(self.requests).map(Duration::from_nanos)
    }
}

impl HistogramTimes {
    /// Without the empty buckets.
    pub fn from_histogram(sum: &HistogramSum) -> HistogramTimes {
        let filled = sum.buckets.iter().enumerate().filter(|(_, n)| **n > 0);
        // There are 140 buckets; `BUCKETS_FIT` holds that down.
        HistogramTimes {
            buckets: filled.map(|(at, n)| FilledBucket { index: at as u8, count: *n }).collect(),
            sum_nanos: sum.sum_nanos,
        }
    }

    /// The values recorded after `before`.
    pub fn since(&self, before: &HistogramTimes) -> HistogramSum {
        let mut out = HistogramSum::default();
        for FilledBucket { index, count } in &self.buckets {
            out.buckets[usize::from(*index)] = *count;
        }
        for FilledBucket { index, count } in &before.buckets {
            let bucket = &mut out.buckets[usize::from(*index)];
            *bucket = bucket.saturating_sub(*count);
        }
        out.sum_nanos = self.sum_nanos.saturating_sub(before.sum_nanos);
        out
    }
}

/// Each bucket's index fits a byte.
const BUCKETS_FIT: () = assert!(model::stats::histogram::BUCKETS <= u8::MAX as usize);

/// One phase over all slots.
pub fn merge_phase<'a>(slots: impl Iterator<Item = &'a Histogram>) -> HistogramSum {
    let mut sum = HistogramSum::default();
    slots.for_each(|one| sum.add(one));
    sum
}

fn times<'a>(
    slots: impl Iterator<Item = &'a ExchangePhaseHistograms> + Clone,
) -> [HistogramTimes; 5] {
    let () = BUCKETS_FIT;
    std::array::from_fn(|phase| {
        HistogramTimes::from_histogram(&merge_phase(
            slots.clone().map(|phases| phases.all()[phase]),
        ))
    })
}

/// Whether no time was recorded since.
fn are_current<'a>(
    known: &[HistogramTimes; 5],
    slots: impl Iterator<Item = &'a ExchangePhaseHistograms>,
) -> bool {
    let mut nanos = [0_u64; 5];
    for phases in slots {
        nanos.iter_mut().zip(phases.all()).for_each(|(sum, one)| *sum += one.sum_nanos());
    }
    known.iter().map(|times| times.sum_nanos).eq(nanos)
}

fn by_index<'a>(slots: impl Iterator<Item = &'a [model::stats::Count]>, len: usize) -> Vec<u64> {
    let mut sums = vec![0; len];
    for slot in slots {
        for (sum, count) in sums.iter_mut().zip(slot) {
            *sum += count.get();
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::report::fixture;

    #[test]
    fn totals_are_current_until_anything_is_counted() {
        let state = fixture::state_snapshot(fixture::SHOP, 2);
        let service = state.snapshot.services.values().next().unwrap();
        let server = &state.snapshot.pools.values().next().unwrap().servers[0].stats;
        let time = Duration::from_millis(3);
        let of_service: [&dyn Fn(); 4] = [
            &|| service.stats.slots[1].counters.answered.add(1),
            &|| service.stats.slots[1].causes[2].add(1),
            &|| service.stats.slots[1].defects[3].add(1),
            &|| service.stats.slots[1].phases.transfer.record(time),
        ];
        for (at, count) in of_service.iter().enumerate() {
            let totals = ServiceTotals::read(service);
            assert!(totals.is_current(service), "{at}");
            count();
            assert!(!totals.is_current(service), "{at}");
        }
        let of_server: [&dyn Fn(); 3] = [
            &|| server.slots[0].counters.answered.add(1),
            &|| server.slots[0].causes[2].add(1),
            &|| server.slots[0].phases.connect.record(time),
        ];
        for (at, count) in of_server.iter().enumerate() {
            let totals = ServerTotals::read(server);
            assert!(totals.is_current(server), "{at}");
            count();
            assert!(!totals.is_current(server), "{at}");
        }
    }
}
