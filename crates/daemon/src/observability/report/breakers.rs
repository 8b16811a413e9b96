//! Circuit breakers and queues of a pool, as `status` shows them. Pure.

use api::types::BreakerStatus;
use model::circuit_breaker::{BreakerResource, CircuitState};
use model::snapshot::PoolView;

/// One moment on two clocks: that of the workers, by which refusals are counted, and the time of day, which may be set.
#[derive(Clone, Copy, Debug)]
pub struct ReportClocks {
    pub workers: u64,
    pub unix_ms: u64,
}

impl ReportClocks {
    /// The time of day of a moment of the workers.
    pub fn to_unix(self, at: u64) -> u64 {
        self.unix_ms.saturating_sub(self.workers.saturating_sub(at))
    }
}

/// The breakers that have a limit. A breaker that never opened is closed since `started`.
pub fn breaker_statuses(
    view: &PoolView,
    clocks: ReportClocks,
    started_unix_ms: u64,
) -> Vec<BreakerStatus> {
    let one = |bound: &BreakerResource| {
        let limit = view.config.breaker.limit_of(*bound)?;
        let breaker = view.stats.breakers.get(*bound);
        let state = breaker.state(clocks.workers);
        let since = match state {
            CircuitState::Open(since) | CircuitState::Closed(Some(since)) => clocks.to_unix(since),
            CircuitState::Closed(None) => started_unix_ms,
        };
        Some(BreakerStatus {
            resource: *bound,
            open: state.is_open(),
            since_unix_ms: since,
            in_use: breaker.in_use(),
            limit,
            refused: refused_count(view, *bound),
        })
    };
    BreakerResource::ALL.iter().filter_map(one).collect()
}

/// How often a breaker refused, over all workers.
pub fn refused_count(view: &PoolView, bound: BreakerResource) -> u64 {
    view.stats.slots.iter().map(|slot| slot.counters.refusals(bound).get()).sum()
}

pub fn queued_count(view: &PoolView) -> u32 {
    view.stats.breakers.get(BreakerResource::Pending).in_use()
}

/// Since when some of them are shed, on the workers' clock; `None`: none are.
pub fn shedding_since(view: &PoolView, now: u64) -> Option<u64> {
    match view.stats.shed_streak.state(now) {
        CircuitState::Open(since) => Some(since),
        CircuitState::Closed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::report::fixture;

    const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"
[pool.web]
circuit-breaker = { requests = 2, retries = 0 }
servers = ["127.0.0.1:1001"]
"#;

    #[test]
    fn what_has_a_limit_is_shown_with_its_state_and_since_when() {
        let snapshot = fixture::state_snapshot(TEXT, 2);
        let view = snapshot.snapshot.pools.values().next().unwrap();
        let permit = view.stats.breakers.try_acquire(BreakerResource::Requests, Some(2));
        let rows = |now| -> Vec<_> {
            let one =
                |it: BreakerStatus| (it.resource, it.open, it.since_unix_ms, it.in_use, it.limit);
            breaker_statuses(view, ReportClocks { workers: now, unix_ms: now }, 1_000)
                .into_iter()
                .map(one)
                .collect()
        };
        let retries = (BreakerResource::Retries, false, 1_000, 0, 0);
        assert_eq!(rows(9_000), [(BreakerResource::Requests, false, 1_000, 1, 2), retries]);
        view.stats.record_refusal(BreakerResource::Requests, 0, 9_000);
        view.stats.record_refusal(BreakerResource::Requests, 1, 9_500);
        drop(permit);
        assert_eq!(rows(9_600), [(BreakerResource::Requests, true, 9_000, 0, 2), retries]);
        assert_eq!(rows(60_000), [(BreakerResource::Requests, false, 10_500, 0, 2), retries]);
        let set = ReportClocks { workers: 60_000, unix_ms: 1_772_283_909_000 };
        let row = &breaker_statuses(view, set, 1_000)[0];
        assert_eq!((row.refused, row.since_unix_ms), (2, 1_772_283_909_000 - 49_500));
    }

    #[test]
    fn shedding_is_reported_while_it_goes_on() {
        let snapshot = fixture::state_snapshot(TEXT, 1);
        let view = snapshot.snapshot.pools.values().next().unwrap();
        assert_eq!(shedding_since(view, 9_000), None);
        view.stats.record_shed(0, 9_000);
        assert_eq!(
            (shedding_since(view, 9_999), shedding_since(view, 10_000)),
            (Some(9_000), None)
        );
    }
}
