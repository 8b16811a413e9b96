//! A bounded sample of exchanges, to explain which ones are slow, and why. Each sampled exchange represents a known
//! number of exchanges.
//!
//! Time is divided into slices. Of each slice and service a number of slow and of ordinary exchanges is stored, chosen
//! uniformly among all (Vitter, Algorithm R, 1985). The oldest slices are removed first. It reads no clock and draws no
//! random numbers: both are passed in.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::attribution::attribute_time;
use super::breakdown::TimeBreakdown;
use super::client_prefix::{AddressPrefix, ClientPrefix};
use super::exchange_measurement::ExchangeMeasurement;
use super::failure_groups::{FailedExchangeGroup, group_failures};
use super::sample_weights::{PendingCounts, SampleKind};
use crate::slow_threshold::DEFAULT_SLOW_THRESHOLD;

/// The length of a slice, nanoseconds.
/// Ten seconds: a report of an incident of some minutes has enough of them.
pub const SLICE: u64 = 10_000_000_000;
/// Limit for slow exchanges of one service per slice: bounds the memory of a slice.
const SLOW: usize = 256;
/// Limit for ordinary exchanges of a service per slice: bounds the memory of a report.
const ORDINARY: usize = 64;
/// Limit for failed exchanges of a service per slice: bounds the memory of a slice.
const FAILED: usize = 64;
/// Limit for exchanges over all slices and services: bounds the memory of the sample.
const MAX_EXCHANGES: usize = 32_768;
/// Number of slices: one hour.
pub(super) const SLICES: usize = 360;
/// Faster exchanges are never slow: this is a hundredth of the threshold before anything is known.
const MIN_SLOW_THRESHOLD: u64 = 1_000_000;
/// A service with more slow exchanges per slice has its threshold raised.
const MANY: u64 = 500;
/// The share of all exchanges that should exceed the threshold.
const BOUND_SHARE: f64 = 0.05;
/// Limit for exchanges that a report names.
const EXAMPLES: usize = 5;

#[derive(Debug, Default)]
pub struct ExchangeReservoir {
    slices: VecDeque<SampleSlice>,
    len: usize,
}

#[derive(Debug)]
struct SampleSlice {
    number: u64,
    /// Slow, ordinary and failed exchanges of each service.
    services: HashMap<u32, [Reservoir; 3]>,
}

/// The stored exchanges of one kind.
#[derive(Debug, Default)]
struct Reservoir {
    seen: u64,
    weight: f64,
    exchanges: Vec<ExchangeMeasurement>,
}

/// The exchanges that a report covers.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowExchangeFilter {
    pub service: u32,
    /// Servers of the exchanges; `None`: all.
    pub servers: Option<Vec<u32>>,
    pub from: Option<AddressPrefix>,
    /// The share of the slowest exchanges, above 0 and at most 1.
    pub share: f64,
    /// Exchanges that ended at this time or later, nanoseconds on the workers' clock.
    pub since: u64,
}

/// The slowest exchanges of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlowExchangeReport {
    /// Estimated number of matching exchanges, fast ones included.
    pub all: f64,
    /// Matching exchanges that were measured and stored.
    pub sampled: usize,
    /// Measured failures, by kind.
    pub failures: Vec<FailedExchangeGroup>,
    /// Estimated number of the slowest among them.
    pub chosen: f64,
    /// Sampled exchanges that represent the slowest.
    pub measured: usize,
    /// The shortest duration among the slowest, nanoseconds.
    pub threshold: u64,
    pub breakdown: TimeBreakdown,
    /// By server, in descending order of time; `None`: no server was chosen.
    pub servers: Vec<BreakdownGroup<Option<u32>>>,
    /// By network of clients, in descending order of time.
    pub networks: Vec<BreakdownGroup<ClientPrefix>>,
    /// The slowest exchanges, the slowest first.
    pub examples: Vec<ExchangeMeasurement>,
}

/// A group of the slowest exchanges.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakdownGroup<K> {
    pub key: K,
    pub exchanges: f64,
    pub breakdown: TimeBreakdown,
}

impl ExchangeReservoir {
    /// Stores an exchange, possibly instead of another; `draw` is a random number.
    pub fn add(&mut self, facts: ExchangeMeasurement, draw: u64) {
        let number = facts.ended_at / SLICE;
        let newest = self.slices.back().map(|slice| slice.number);
        // A late exchange counts for the newest slice, because workers pass exchanges several times a second.
        if newest.is_none_or(|newest| newest < number) {
            self.slices.push_back(SampleSlice { number, services: HashMap::new() });
        }
        let Some(slice) = self.slices.back_mut() else { return };
        let heaps = slice.services.entry(facts.service).or_default();
        let [slow, ordinary, failed] = heaps;
        let (heap, most) = match SampleKind::of(&facts) {
            SampleKind::Failed(_) => (failed, FAILED),
            _ if facts.flags.slow => (slow, SLOW),
            _ => (ordinary, ORDINARY),
        };
        heap.seen += 1;
        heap.weight += facts.weight;
        if heap.exchanges.len() < most {
            heap.exchanges.push(facts);
            self.len += 1;
        } else if let Some(place) = heap.exchanges.get_mut((draw % heap.seen) as usize) {
            *place = facts;
        }
        self.evict_old(number);
    }

    /// Removes slices that are too old or exceed the bound.
    fn evict_old(&mut self, newest: u64) {
        while let Some(first) = self.slices.front() {
            let old = first.number + SLICES as u64 <= newest;
            if !old && (self.len <= MAX_EXCHANGES || self.slices.len() == 1) {
                break;
            }
            let heaps = first.services.values().flatten();
            self.len -= heaps.map(|heap| heap.exchanges.len()).sum::<usize>();
            self.slices.pop_front();
        }
    }

    pub fn exchange_count(&self) -> usize {
        self.len
    }

    /// The services with stored exchanges since a time.
    pub fn services(&self, since: u64) -> Vec<u32> {
        let slices = self.slices.iter().filter(|slice| (slice.number + 1) * SLICE > since);
        let mut all: Vec<u32> = slices.flat_map(|slice| slice.services.keys().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Each stored exchange of a service since a time, with the number of exchanges that it represents. The newest
    /// ordinary and failed ones represent the pending ones too.
    fn sampled_of_service(
        &self,
        service: u32,
        since: u64,
        pending: PendingCounts,
    ) -> Vec<(&ExchangeMeasurement, f64)> {
        let slices = self.slices.iter().filter(|slice| (slice.number + 1) * SLICE > since);
        let mut rest = [0.0, pending.ordinary, pending.failed];
        let mut all = Vec::new();
        for heaps in slices.rev().filter_map(|slice| slice.services.get(&service)) {
            for (heap, rest) in
                heaps.iter().zip(&mut rest).filter(|(it, _)| !it.exchanges.is_empty())
            {
                let weight = heap.weight + *rest;
                *rest = weight.min(0.0);
                let each = weight.max(0.0) / heap.exchanges.len() as f64;
                let fits = heap.exchanges.iter().filter(|facts| facts.ended_at >= since);
                all.extend(fits.map(|facts| (facts, each)));
            }
        }
        all
    }

    /// The threshold of slow exchanges of this service, nanoseconds, by the last minute before `now`.
    pub fn slow_threshold(&self, service: u32, now: u64) -> u64 {
        let since = now.saturating_sub(6 * SLICE);
        let mut all: Vec<(&ExchangeMeasurement, f64)> =
            self.sampled_of_service(service, since, PendingCounts::default());
        if all.is_empty() {
            return DEFAULT_SLOW_THRESHOLD;
        }
        let (chosen, _) = select_slowest(&mut all, BOUND_SHARE);
        let threshold = all
            .get(chosen.saturating_sub(1))
            .map_or(DEFAULT_SLOW_THRESHOLD, |(facts, _)| facts.slowness());
        let slices = self.slices.iter().filter(|slice| (slice.number + 1) * SLICE > since);
        let slow = slices
            .filter_map(|slice| slice.services.get(&service))
            .map(|reservoirs| reservoirs[0].seen);
        let many = slow.max().unwrap_or(0) > MANY;
        if many {
            threshold.max(MIN_SLOW_THRESHOLD)
        } else {
            threshold.clamp(MIN_SLOW_THRESHOLD, DEFAULT_SLOW_THRESHOLD)
        }
    }

    /// The slowest exchanges of a service, and the attribution of their time. `pending`: counted exchanges that were not
    /// represented yet.
    pub fn slowest(
        &self,
        filter: &SlowExchangeFilter,
        pending: PendingCounts,
    ) -> SlowExchangeReport {
        let fits = |facts: &ExchangeMeasurement| {
            let servers = filter.servers.as_ref();
            servers.is_none_or(|these| facts.server.is_some_and(|id| these.contains(&id)))
                && filter.from.is_none_or(|prefix| prefix.contains(facts.client))
        };
        let mut all = self.sampled_of_service(filter.service, filter.since, pending);
        all.retain(|(facts, _)| fits(facts));
        let (chosen, sum) = select_slowest(&mut all, filter.share);
        let mut slow = SlowExchangeReport {
            all: all.iter().map(|(_, weight)| weight).sum(),
            sampled: all.len(),
            failures: group_failures(&all),
            ..SlowExchangeReport::default()
        };
        all.truncate(chosen);
        slow.chosen = sum;
        slow.measured = chosen;
        slow.threshold = all.last().map_or(0, |(facts, _)| facts.slowness());
        let mut servers = BTreeMap::new();
        let mut networks = BTreeMap::new();
        for (facts, weight) in &all {
            let bars = attribute_time(facts);
            slow.breakdown.add_scaled(&bars, *weight);
            join(&mut servers, facts.server, *weight, &bars);
            join(&mut networks, ClientPrefix::from_client(facts.client), *weight, &bars);
        }
        slow.breakdown.sort();
        slow.servers = groups(servers);
        slow.networks = groups(networks);
        slow.examples = all.iter().take(EXAMPLES).map(|(facts, _)| (*facts).clone()).collect();
        slow
    }
}

/// Sorts, the slowest first; returns how many sampled exchanges represent the slowest `share`, at least one, and how
/// many exchanges they represent.
fn select_slowest(all: &mut [(&ExchangeMeasurement, f64)], share: f64) -> (usize, f64) {
    all.sort_by_key(|(facts, _)| (std::cmp::Reverse(facts.slowness()), facts.id));
    let wanted = all.iter().map(|(_, weight)| weight).sum::<f64>() * share;
    let mut count = 0;
    let mut sum = 0.0;
    for (_, weight) in all.iter() {
        if count > 0 && sum + weight > wanted * (1.0 + f64::EPSILON) {
            break;
        }
        count += 1;
        sum += weight;
    }
    (count, sum)
}

fn join<K: Ord>(
    groups: &mut BTreeMap<K, (f64, TimeBreakdown)>,
    key: K,
    weight: f64,
    bars: &TimeBreakdown,
) {
    let group = groups.entry(key).or_default();
    group.0 += weight;
    group.1.add_scaled(bars, weight);
}

fn groups<K>(groups: BTreeMap<K, (f64, TimeBreakdown)>) -> Vec<BreakdownGroup<K>> {
    let mut all: Vec<BreakdownGroup<K>> = groups
        .into_iter()
        .map(|(key, (exchanges, mut bars))| {
            bars.sort();
            BreakdownGroup { key, exchanges, breakdown: bars }
        })
        .collect();
    all.sort_by_key(|group| std::cmp::Reverse(group.breakdown.total()));
    all
}

#[cfg(test)]
mod tests;
