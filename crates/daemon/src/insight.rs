//! What watched connections of the packet plane showed: kept for the question whose time it is, and summed since the start.
//!
//! The plane's thread puts it in; reports and metrics take it out. What it means is judged by `model::insight`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::attribute::{Bar, Bars};
use model::insight::{Change, Filter, Found, Pile, Told, Unfinished, judge};
use model::live::{Histogram, HistogramSum};
use model::snapshot::Snapshot;

/// What was seen since the start.
#[derive(Debug, Default)]
pub struct Insight {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    pile: Pile,
    sums: HashMap<u32, Sum>,
}

#[derive(Debug, Default)]
struct Sum {
    connections: u64,
    refused: u64,
    unfinished: [u64; 3],
    sides: [Told; 2],
    opened: Box<[Histogram; 3]>,
    bars: Bars,
}

/// What watched connections of a service showed since the start.
#[derive(Clone, Debug, Default)]
pub struct Total {
    /// The service, by number.
    pub service: u32,
    /// Connections.
    pub connections: u64,
    /// SYNs that a server answered with a reset.
    pub refused: u64,
    /// Handshakes that were not done, in the order of `Unfinished::ALL`.
    pub unfinished: [u64; 3],
    /// What clients and servers sent.
    pub sides: [Told; 2],
    /// Handshakes: SYN to SYN-ACK, SYN-ACK to ACK, all of it.
    pub opened: [HistogramSum; 3],
    /// Whose time it is that they stood still.
    pub bars: Vec<Bar>,
}

/// Everything since the start.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// By service; those of which nothing was seen are left out.
    pub services: Vec<Total>,
    /// What was seen and found no room to be asked for.
    pub dropped: u64,
}

impl Insight {
    /// Takes what is new. Services that are gone are forgotten.
    pub fn take(&self, changes: Vec<Change>, snapshot: &Snapshot) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            kept.sums.entry(change.service).or_default().add(&change);
            kept.pile.add(change);
        }
        kept.sums.retain(|id, _| snapshot.services.keys().any(|known| known.0 == *id));
    }

    /// What the connections that fit showed.
    pub fn found(&self, filter: &Filter) -> Found {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pile.found(filter)
    }

    /// Sums since the start.
    pub fn totals(&self) -> Totals {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let services = kept.sums.iter().map(|(service, sum)| sum.total(*service));
        Totals { services: services.collect(), dropped: kept.pile.dropped() }
    }
}

impl Sum {
    fn add(&mut self, change: &Change) {
        self.connections += u64::from(change.begun);
        self.refused += u64::from(change.refused);
        if let Some(at) = Unfinished::ALL.iter().position(|one| Some(*one) == change.unfinished) {
            self.unfinished[at] += 1;
        }
        self.sides.iter_mut().zip(change.sides).for_each(|(sum, more)| sum.add(more));
        if let Some(opened) = change.opened {
            let parts = [opened.server, opened.client, opened.whole];
            for (histogram, part) in self.opened.iter().zip(parts) {
                part.into_iter().for_each(|nanos| histogram.record(Duration::from_nanos(nanos)));
            }
        }
        self.bars.join(&judge(change), 1.0);
    }

    fn total(&self, service: u32) -> Total {
        Total {
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
