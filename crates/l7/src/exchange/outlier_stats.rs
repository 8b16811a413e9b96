//! Counts a server's responses and failures for outlier detection.

use model::cause::Cause;
use model::outlier_detection::{OutlierFailure, classify_failure};
use model::snapshot::PoolView;
use model::stats::ServerStats;

/// Counts a complete response with this status.
#[inline]
pub fn record_answer(pool: &PoolView, live: &ServerStats, worker: usize, status: u16) {
    let Some(eject) = &pool.config.eject else { return };
    let counters = &live.slots[worker].counters;
    if eject.on.contains(status) {
        counters.judged_bad.add(1);
        live.consecutive_failures.increment();
    } else {
        counters.judged_good.add(1);
        live.consecutive_failures.clear();
    }
}

/// Counts a failed attempt.
pub fn record_failure(pool: &PoolView, live: &ServerStats, worker: usize, cause: Cause) {
    let (Some(_), Some(fault)) = (&pool.config.eject, classify_failure(cause)) else { return };
    let counters = &live.slots[worker].counters;
    counters.judged_bad.add(1);
    counters.judged_cut.add(u64::from(fault == OutlierFailure::Truncated));
    live.consecutive_failures.increment();
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use model::config::OutlierDetectionConfig;
    use model::id::PoolId;

    use super::*;
    use crate::simulation::fixture;

    #[test]
    fn answers_and_failures_count_once_and_only_where_servers_are_put_out() {
        for ejects in [true, false] {
            let mut snapshot = fixture::snapshot(&[SocketAddr::from(([10, 0, 0, 1], 1))]);
            let pool = snapshot.pools.get_mut(&PoolId(0)).and_then(Arc::get_mut).unwrap();
            Arc::make_mut(&mut pool.config).eject = ejects.then(OutlierDetectionConfig::default);
            let live = &pool.servers[0].stats;
            let seen = || {
                let c = &live.slots[0].counters;
                let counts = [&c.judged_good, &c.judged_bad, &c.judged_cut].map(|c| c.get());
                (counts, live.consecutive_failures.get())
            };
            record_answer(pool, live, 0, 503);
            record_failure(pool, live, 0, Cause::ServerCut);
            record_failure(pool, live, 0, Cause::FirstByteTimeout);
            record_failure(pool, live, 0, Cause::ClientReset);
            record_failure(pool, live, 0, Cause::ServerMarkedDown);
            assert_eq!(seen(), if ejects { ([0, 3, 1], 3) } else { ([0; 3], 0) });
            record_answer(pool, live, 0, 500);
            assert_eq!(seen(), if ejects { ([1, 3, 1], 0) } else { ([0; 3], 0) });
        }
    }
}
