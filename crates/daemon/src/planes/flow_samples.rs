//! Samples of watched flows of the packet plane: stored for time attribution, and summed since the start.
//!
//! The plane's thread adds them; reports and metrics read them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::flow_samples::{
    FlowDelta, FlowDeltaStore, FlowFilter, FlowReport, FlowSideCounters, HandshakeStall,
    attribute_time,
};
use model::snapshot::WorkerSnapshot;
use model::stats::{Histogram, HistogramSum};
use model::time_attribution::{TimeBreakdown, TimeShare};

/// Samples since the start.
#[derive(Debug, Default)]
pub struct FlowSampleCollector {
    stored: Mutex<StoredSamples>,
}

#[derive(Debug, Default)]
struct StoredSamples {
    pile: FlowDeltaStore,
    sums: HashMap<u32, FlowAccumulator>,
}

#[derive(Debug, Default)]
struct FlowAccumulator {
    connections: u64,
    refused: u64,
    unfinished: [u64; 3],
    sides: [FlowSideCounters; 2],
    opened: Box<[Histogram; 3]>,
    bars: TimeBreakdown,
}

/// Samples of a service's connections since the start.
#[derive(Clone, Debug, Default)]
pub struct ServiceFlowTotals {
    /// The service, by number.
    pub service: u32,
    pub connections: u64,
    /// SYNs that a server answered with a reset.
    pub refused: u64,
    /// Handshakes that were not done, in the order of `HandshakeStall::ALL`.
    pub unfinished: [u64; 3],
    /// Counters of both directions: from clients and from servers.
    pub sides: [FlowSideCounters; 2],
    /// Handshakes: SYN to SYN-ACK, SYN-ACK to ACK, all of it.
    pub opened: [HistogramSum; 3],
    /// Stalled time by its cause.
    pub bars: Vec<TimeShare>,
}

/// Everything since the start.
#[derive(Clone, Debug, Default)]
pub struct FlowSampleTotals {
    /// By service; services without samples are left out.
    pub services: Vec<ServiceFlowTotals>,
    /// Samples dropped because the store was full.
    pub dropped: u64,
}

impl FlowSampleCollector {
    /// Adds new samples. Removed services are dropped.
    pub fn record_changes(&self, changes: Vec<FlowDelta>, snapshot: &WorkerSnapshot) {
        let mut kept = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            kept.sums.entry(change.service).or_default().add(&change);
            kept.pile.add(change);
        }
        kept.sums.retain(|id, _| snapshot.services.keys().any(|known| known.0 == *id));
    }

    /// The samples of connections that match.
    pub fn query(&self, filter: &FlowFilter) -> FlowReport {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).pile.report(filter)
    }

    /// Sums since the start.
    pub fn totals(&self) -> FlowSampleTotals {
        let kept = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let services = kept.sums.iter().map(|(service, sum)| sum.total(*service));
        FlowSampleTotals { services: services.collect(), dropped: kept.pile.dropped() }
    }
}

impl FlowAccumulator {
    fn add(&mut self, change: &FlowDelta) {
        self.connections += u64::from(change.begun);
        self.refused += u64::from(change.refused);
        if let Some(at) = HandshakeStall::ALL.iter().position(|one| Some(*one) == change.stall) {
            self.unfinished[at] += 1;
        }
        self.sides.iter_mut().zip(change.sides).for_each(|(sum, more)| sum.add(more));
        if let Some(opened) = change.handshake {
            let parts = [opened.server, opened.client, opened.total];
            for (histogram, part) in self.opened.iter().zip(parts) {
                part.into_iter().for_each(|nanos| histogram.record(Duration::from_nanos(nanos)));
            }
        }
        self.bars.add_scaled(&attribute_time(change), 1.0);
    }

    fn total(&self, service: u32) -> ServiceFlowTotals {
        ServiceFlowTotals {
            service,
            connections: self.connections,
            refused: self.refused,
            unfinished: self.unfinished,
            sides: self.sides,
            opened: std::array::from_fn(|at| {
                let mut sum = HistogramSum::default();
                sum.add(&self.opened[at]);
                sum
            }),
            bars: self.bars.all().to_vec(),
        }
    }
}
