//! Deltas of sampled connections for up to an hour: one entry for each connection and ten seconds. Bounded: entries
//! without room are counted, and the oldest slice is removed first.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};

use super::attribution::attribute_time;
use super::flow_sample::FlowSideCounters;
use super::flow_tracker::{FlowDelta, HandshakeStall};
use crate::time_attribution::client_prefix::{AddressPrefix, ClientPrefix};
use crate::time_attribution::{BreakdownGroup, TimeBreakdown};

/// The length of a slice, nanoseconds.
/// As for slow exchanges, so that reports of both agree.
const SLICE: u64 = 10_000_000_000;
/// An hour of slices.
const SLICES: u64 = 360;
/// Entries over all slices: bounds the memory of the store.
pub const MAX_SAMPLES: usize = 32_768;
/// Entries of one slice, so that a burst does not displace the whole hour.
const MAX_SLICE_SAMPLES: usize = 8_192;
/// Limit for connections that a report names.
const EXAMPLES: usize = 5;

#[derive(Debug, Default)]
pub struct FlowDeltaStore {
    slices: VecDeque<FlowSampleSlice>,
    len: usize,
    dropped: u64,
}

#[derive(Debug)]
struct FlowSampleSlice {
    number: u64,
    changes: HashMap<FlowDeltaKey, FlowDelta>,
}

/// What identifies a sampled connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct FlowDeltaKey {
    fingerprint: u64,
    /// Nanoseconds of the monotonic clock.
    first_packet_at: u64,
}

impl FlowDeltaKey {
    fn from_delta(change: &FlowDelta) -> FlowDeltaKey {
        FlowDeltaKey { fingerprint: change.fingerprint, first_packet_at: change.first_packet_at }
    }
}

/// The connections of one server or network, and their attributed time.
#[derive(Default)]
struct FlowGroupTotal {
    connections: f64,
    breakdown: TimeBreakdown,
}

/// The connections that a report covers.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowFilter {
    pub service: u32,
    /// Servers of the connections; `None`: all.
    pub servers: Option<Vec<u32>>,
    pub from: Option<AddressPrefix>,
    /// Seen at this time or later, nanoseconds.
    pub since: u64,
}

/// Durations of handshakes, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandshakeSummary {
    pub count: usize,
    pub median: u64,
    /// The 95th percentile.
    pub most: u64,
    pub longest: u64,
}

/// The results of sampled connections of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowReport {
    /// Sampled connections with packets.
    pub flows: usize,
    pub begun: usize,
    /// Connections whose start was not seen.
    pub joined_late: usize,
    /// Connections with windows of unknown scale.
    pub unscaled: usize,
    pub handshakes: usize,
    pub server_part: HandshakeSummary,
    pub client_part: HandshakeSummary,
    pub whole: HandshakeSummary,
    /// Handshakes that were not completed, by the side whose turn it was: `HandshakeStall::ALL`.
    pub stalled: [usize; 3],
    /// SYNs that the server answered with a reset.
    pub refused: usize,
    /// Counters of clients and servers.
    pub sides: [FlowSideCounters; 2],
    /// The attributed time of stalls.
    pub breakdown: TimeBreakdown,
    /// By server, in descending order of time; `None`: the server was removed.
    pub servers: Vec<BreakdownGroup<Option<u32>>>,
    /// By network of clients, in descending order of time.
    pub networks: Vec<BreakdownGroup<ClientPrefix>>,
    /// The connections that were stalled longest.
    pub examples: Vec<FlowDelta>,
}

impl FlowDeltaStore {
    /// Stores the delta of a connection.
    pub fn add(&mut self, change: FlowDelta) {
        let number = change.at / SLICE;
        if self.slices.back().is_none_or(|newest| newest.number < number) {
            self.slices.push_back(FlowSampleSlice { number, changes: HashMap::new() });
        }
        let Some(slice) = self.slices.back_mut() else { return };
        let full = slice.changes.len() >= MAX_SLICE_SAMPLES;
        match slice.changes.entry(FlowDeltaKey::from_delta(&change)) {
            Entry::Occupied(mut stored) => stored.get_mut().merge_later(&change),
            Entry::Vacant(place) if !full => {
                place.insert(change);
                self.len += 1;
            }
            Entry::Vacant(_) => self.dropped += 1,
        }
        self.evict_old(number);
    }

    fn evict_old(&mut self, newest: u64) {
        while let Some(first) = self.slices.front() {
            let old = first.number + SLICES <= newest;
            if !old && (self.len <= MAX_SAMPLES || self.slices.len() == 1) {
                break;
            }
            self.len -= first.changes.len();
            self.slices.pop_front();
        }
    }

    pub fn sample_count(&self) -> usize {
        self.len
    }

    /// Entries that were dropped because there was no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Summarizes the connections that match the filter.
    pub fn report(&self, filter: &FlowFilter) -> FlowReport {
        let fits = |change: &&FlowDelta| {
            let servers = filter.servers.as_ref();
            change.service == filter.service
                && change.at >= filter.since
                && servers.is_none_or(|these| change.server.is_some_and(|id| these.contains(&id)))
                && filter.from.is_none_or(|prefix| prefix.contains(change.client))
        };
        let slices = self.slices.iter().filter(|slice| (slice.number + 1) * SLICE > filter.since);
        let mut whole: BTreeMap<FlowDeltaKey, FlowDelta> = BTreeMap::new();
        for change in slices.flat_map(|slice| slice.changes.values()).filter(fits) {
            let key = FlowDeltaKey::from_delta(change);
            match whole.get_mut(&key) {
                Some(stored) => stored.merge_later(change),
                None => {
                    whole.insert(key, change.clone());
                }
            }
        }
        summarize_flows(whole.into_values().collect())
    }
}

fn summarize_flows(mut all: Vec<FlowDelta>) -> FlowReport {
    let mut report = FlowReport { flows: all.len(), ..FlowReport::default() };
    let mut servers = BTreeMap::new();
    let mut networks = BTreeMap::new();
    let mut times: [Vec<u64>; 3] = Default::default();
    for change in &all {
        report.begun += usize::from(change.begun);
        report.joined_late += usize::from(change.joined_late);
        report.unscaled += usize::from(!change.scaled);
        report.refused += usize::from(change.refused);
        if let Some(opened) = change.handshake {
            report.handshakes += 1;
            let parts = [opened.server, opened.client, opened.total];
            times.iter_mut().zip(parts).for_each(|(times, part)| times.extend(part));
        }
        if let Some(who) = change.stall {
            let at = HandshakeStall::ALL.iter().position(|stall| *stall == who).unwrap_or_default();
            report.stalled[at] += 1;
        }
        report.sides.iter_mut().zip(change.sides).for_each(|(sum, more)| sum.add(more));
        let bars = attribute_time(change);
        report.breakdown.add_scaled(&bars, 1.0);
        join(&mut servers, change.server, &bars);
        join(&mut networks, ClientPrefix::from_client(change.client), &bars);
    }
    report.breakdown.sort();
    [report.server_part, report.client_part, report.whole] = times.map(self::summarize_durations);
    report.servers = groups(servers);
    report.networks = groups(networks);
    all.sort_by_key(|change| {
        (
            std::cmp::Reverse(attribute_time(change).total()),
            change.first_packet_at,
            change.fingerprint,
        )
    });
    let ended = |change: &FlowDelta| {
        change.refused || change.stall.is_some() || change.sides.iter().any(|side| side.resets > 0)
    };
    all.retain(|change| attribute_time(change).total() > 0 || ended(change));
    all.truncate(EXAMPLES);
    report.examples = all;
    report
}

fn summarize_durations(mut all: Vec<u64>) -> HandshakeSummary {
    all.sort_unstable();
    let at = |share: f64| {
        let rank = (all.len() as f64 * share).ceil() as usize;
        all.get(rank.max(1) - 1).copied().unwrap_or_default()
    };
    HandshakeSummary { count: all.len(), median: at(0.5), most: at(0.95), longest: at(1.0) }
}

fn join<K: Ord>(groups: &mut BTreeMap<K, FlowGroupTotal>, key: K, bars: &TimeBreakdown) {
    let group = groups.entry(key).or_default();
    group.connections += 1.0;
    group.breakdown.add_scaled(bars, 1.0);
}

fn groups<K>(groups: BTreeMap<K, FlowGroupTotal>) -> Vec<BreakdownGroup<K>> {
    let mut all: Vec<BreakdownGroup<K>> = groups
        .into_iter()
        .map(|(key, FlowGroupTotal { connections, mut breakdown })| {
            breakdown.sort();
            BreakdownGroup { key, exchanges: connections, breakdown }
        })
        .collect();
    all.sort_by_key(|group| std::cmp::Reverse(group.breakdown.total()));
    all
}
