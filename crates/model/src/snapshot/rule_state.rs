//! The state that rules read, from live counters and the snapshot of pools: for workers, and for `explain`.

use std::sync::Arc;

use super::{PoolView, ServerState, ServerView, ServiceView};
use crate::config::ActiveCountScope;
use crate::monotonic_time::MonotonicTime;
use crate::rules::{PoolLoad, ReportedLoads, RuleState, ServiceRules};
use crate::stats::{Count, ServiceCounters};

pub struct LiveRuleState<'a> {
    pub rules: &'a ServiceRules,
    pub service: &'a ServiceView,
    /// A pool of the rules by its position.
    pub pool: &'a dyn Fn(usize) -> Option<Arc<PoolView>>,
    /// The workers' clock.
    pub now: MonotonicTime,
    /// The worker; `None`: nothing is counted and no token is taken.
    pub worker: Option<usize>,
}

impl LiveRuleState<'_> {
    fn sum_counter(&self, of: fn(&ServiceCounters) -> &Count) -> u64 {
        self.service.stats.slots.iter().map(|slot| of(&slot.counters).get()).sum()
    }
}

impl RuleState for LiveRuleState<'_> {
    fn active_count(&self, rule: usize, pool: usize, counted: ActiveCountScope) -> u64 {
        match counted {
            ActiveCountScope::Rule => {
                self.rules.stats.get(rule).map_or(0, |live| u64::from(live.in_flight.get()))
            }
            ActiveCountScope::Service => u64::from(self.service.stats.in_flight.get()),
            ActiveCountScope::Pool => (self.pool)(pool).map_or(0, |pool| {
                pool.servers.iter().map(|server| u64::from(server.stats.in_flight.get())).sum()
            }),
        }
    }

    fn arrivals_per_second(&self) -> u64 {
        self.rules.gauges.arrivals.read_delta(self.now, || self.sum_counter(|c| &c.accepted))
    }

    fn rule_bits(&self, rule: usize) -> u64 {
        let Some(live) = self.rules.stats.get(rule) else { return 0 };
        live.bytes.read_delta(self.now, || live.sum(|c| &c.bytes)).saturating_mul(8)
    }

    fn service_bits(&self) -> u64 {
        let bytes =
            self.rules.gauges.bytes.read_delta(self.now, || self.sum_counter(|c| &c.client_out));
        bytes.saturating_mul(8)
    }

    fn pool_load(&self, pool: usize) -> PoolLoad {
        let Some(pool) = (self.pool)(pool) else { return PoolLoad::default() };
        let up = || {
            pool.servers
                .iter()
                .filter(|server| server.state == ServerState::Up && takes_work(server))
        };
        let count = up().count() as u64;
        let in_flight: u64 = up().map(|server| u64::from(server.stats.in_flight.get())).sum();
        let loads = || {
            let loads = up().filter_map(|server| server.stats.load.load());
            // Rules compare whole hundredths. A load above a million times the capacity is an error of the agent.
            loads.map(|load| (load.value.clamp(0.0, 1e6) * 100.0).round() as u64)
        };
        let tell = loads().count() as u64;
        let load = loads().min().zip(loads().max());
        PoolLoad {
            up: count,
            in_flight_per_server: in_flight.checked_div(count).unwrap_or(0),
            load: load.map(|(lowest, highest)| ReportedLoads {
                lowest,
                average: loads().sum::<u64>() / tell.max(1),
                highest,
            }),
        }
    }

    fn has_server(&self, pool: usize) -> bool {
        let able = |server: &ServerView| {
            matches!(server.state, ServerState::Up | ServerState::Unknown) && takes_work(server)
        };
        (self.pool)(pool).is_some_and(|pool| pool.servers.iter().any(able))
    }

    fn take_rate_token(&self, rule: usize) -> bool {
        let bucket = self.rules.stats.get(rule).and_then(|live| live.rate.as_ref());
        self.worker.is_none() || bucket.is_none_or(|bucket| bucket.try_take(self.now))
    }

    fn record_passed_over(&self, rule: usize) {
        let live = self.rules.stats.get(rule);
        if let Some(slot) = live.zip(self.worker).and_then(|(live, at)| live.workers.get(at)) {
            slot.counters.passed_over.add(1);
        }
    }
}

fn takes_work(server: &ServerView) -> bool {
    server.weight.get() > 0 && server.address.is_some()
}
