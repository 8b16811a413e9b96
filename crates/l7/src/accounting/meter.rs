//! Adds the bytes of one attempt or tunnel to the live counters while they are transferred.
//!
//! The meter receives totals and adds the difference, so that a long download is visible while it runs.

use std::sync::Arc;

use model::rules::RuleStats;
use model::stats::{ServerStats, ServiceStats};
use wire::http1::LenientParsing;

/// Byte totals of one attempt or tunnel so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferTotals {
    pub from_client: u64,
    pub to_client: u64,
    pub from_server: u64,
    pub to_server: u64,
    /// The part of these bytes that splice(2) moved.
    pub spliced: u64,
}

/// The counters of a service, a server and a rule.
#[derive(Debug)]
pub struct Meter {
    service: Arc<ServiceStats>,
    server: Arc<ServerStats>,
    rule: Option<Arc<RuleStats>>,
    index: usize,
    /// The totals that were added so far.
    pub moved: TransferTotals,
}

impl Meter {
    /// A meter with zero totals; `index` is the worker's slot.
    pub fn new(service: Arc<ServiceStats>, server: Arc<ServerStats>, index: usize) -> Meter {
        Meter { service, server, rule: None, index, moved: TransferTotals::default() }
    }

    /// Also counts for the rule that routed the request.
    pub fn with_rule(mut self, rule: Option<&Arc<RuleStats>>) -> Meter {
        self.rule = rule.cloned();
        self
    }

    /// Counts a response head that was repaired.
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
