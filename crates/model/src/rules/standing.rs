//! What rules may look at, read from live counters and the picture of pools: for a worker, and for whoever explains.

use std::sync::Arc;

use super::ask::{Facts, PoolFacts};
use super::ruling::Ruling;
use crate::config::Counted;
use crate::live::{Count, ServiceCounters};
use crate::moment::Moment;
use crate::snapshot::{PoolView, ServerState, ServerView, ServiceView};

/// The state now.
pub struct Standing<'a> {
    /// The rules.
    pub ruling: &'a Ruling,
    /// Their service.
    pub service: &'a ServiceView,
    /// A pool of the rules by its position.
    pub pool: &'a dyn Fn(usize) -> Option<Arc<PoolView>>,
    /// Now, on the workers' clock.
    pub now: Moment,
    /// The worker that asks; `None`: nothing is counted and nothing taken.
    pub worker: Option<usize>,
}

impl Standing<'_> {
    fn total(&self, of: fn(&ServiceCounters) -> &Count) -> u64 {
        self.service.live.slots.iter().map(|slot| of(&slot.counters).get()).sum()
    }
}

impl Facts for Standing<'_> {
    fn active(&self, rule: usize, pool: usize, counted: Counted) -> u64 {
        match counted {
            Counted::Rule => {
                self.ruling.live.get(rule).map_or(0, |live| u64::from(live.in_flight.get()))
            }
            Counted::Service => u64::from(self.service.live.in_flight.get()),
            Counted::Pool => (self.pool)(pool).map_or(0, |pool| {
                pool.servers.iter().map(|server| u64::from(server.live.in_flight.get())).sum()
            }),
        }
    }

    fn arrivals(&self) -> u64 {
        self.ruling.gauges.arrivals.read(self.now, || self.total(|c| &c.accepted))
    }

    fn rule_bits(&self, rule: usize) -> u64 {
        let Some(live) = self.ruling.live.get(rule) else { return 0 };
        live.bytes.read(self.now, || live.sum(|c| &c.bytes)).saturating_mul(8)
    }

    fn service_bits(&self) -> u64 {
        let bytes = self.ruling.gauges.bytes.read(self.now, || self.total(|c| &c.client_out));
        bytes.saturating_mul(8)
    }

    fn pool(&self, pool: usize) -> PoolFacts {
        let Some(pool) = (self.pool)(pool) else { return PoolFacts::default() };
        let up = || pool.servers.iter().filter(|it| it.state == ServerState::Up && takes_work(it));
        let count = up().count() as u64;
        let in_flight: u64 = up().map(|server| u64::from(server.live.in_flight.get())).sum();
        let loads = || {
            let told = up().filter_map(|server| server.live.load.read());
            told.map(|load| (load.value.clamp(0.0, 1e6) * 100.0).round() as u64)
        };
        let tell = loads().count() as u64;
        let load = loads().min().zip(loads().max());
        PoolFacts {
            up: count,
            busy: in_flight.checked_div(count).unwrap_or(0),
            load: load.map(|(low, high)| (low, loads().sum::<u64>() / tell.max(1), high)),
        }
    }

    fn has_server(&self, pool: usize) -> bool {
        let able = |server: &ServerView| {
            matches!(server.state, ServerState::Up | ServerState::Unknown) && takes_work(server)
        };
        (self.pool)(pool).is_some_and(|pool| pool.servers.iter().any(able))
    }

    fn take(&self, rule: usize) -> bool {
        let bucket = self.ruling.live.get(rule).and_then(|live| live.rate.as_ref());
        self.worker.is_none() || bucket.is_none_or(|bucket| bucket.take(self.now))
    }

    fn passed_over(&self, rule: usize) {
        let live = self.ruling.live.get(rule);
        if let Some(slot) = live.zip(self.worker).and_then(|(live, at)| live.slots.get(at)) {
            slot.counters.passed_over.add(1);
        }
    }
}

fn takes_work(server: &ServerView) -> bool {
    server.weight.get() > 0 && server.address.is_some()
}
