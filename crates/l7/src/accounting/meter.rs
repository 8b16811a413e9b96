//! Bytes of one attempt or tunnel, added to the live counters as they move.
//!
//! It gets totals and adds the difference, so that a long download shows while it lasts.

use std::sync::Arc;

use model::rules::RuleStats;
use model::stats::{ServerStats, ServiceStats};
use wire::http1::LenientParsing;

/// Totals of one attempt or tunnel so far, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferTotals {
    /// Received from the client.
    pub from_client: u64,
    /// Sent to the client.
    pub to_client: u64,
    /// Received from the server.
    pub from_server: u64,
    /// Sent to the server.
    pub to_server: u64,
    /// Of those, moved by splice(2).
    pub spliced: u64,
}

/// Where they are added.
#[derive(Debug)]
pub struct Meter {
    service: Arc<ServiceStats>,
    server: Arc<ServerStats>,
    rule: Option<Arc<RuleStats>>,
    index: usize,
    /// The totals that have been added.
    pub moved: TransferTotals,
}

impl Meter {
    /// With nothing moved; `index` is the worker's slot.
    pub fn new(service: Arc<ServiceStats>, server: Arc<ServerStats>, index: usize) -> Meter {
        Meter { service, server, rule: None, index, moved: TransferTotals::default() }
    }

    /// The same, for what a rule sent on.
    pub fn with_rule(mut self, rule: Option<&Arc<RuleStats>>) -> Meter {
        self.rule = rule.cloned();
        self
    }

    /// Counts an answer's head that was mended.
    pub fn count_repair(&self, mended: LenientParsing) {
        let counters = &self.server.slots[self.index].counters;
        counters.mended_lengths.add(u64::from(mended.repeated_length));
        counters.mended_line_ends.add(u64::from(mended.bare_lf));
        counters.mended_colons.add(u64::from(mended.space_before_colon));
    }

    /// Adds the difference to the previous totals.
    #[inline]
    pub fn set_totals(&mut self, now: TransferTotals) {
        let before = std::mem::replace(&mut self.moved, now);
        if now == before {
            return;
        }
        let service = &self.service.slots[self.index].counters;
        service.client_in.add(now.from_client - before.from_client);
        service.client_out.add(now.to_client - before.to_client);
        service.spliced.add(now.spliced - before.spliced);
        if let Some(slot) = self.rule.as_ref().and_then(|rule| rule.workers.get(self.index)) {
            slot.counters.bytes.add(now.to_client - before.to_client);
        }
        let server = &self.server.slots[self.index].counters;
        server.bytes_in.add(now.from_server - before.from_server);
        server.bytes_out.add(now.to_server - before.to_server);
    }
}
