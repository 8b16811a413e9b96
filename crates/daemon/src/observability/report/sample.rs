//! Samples of every counter, and the two kept ones that rates are measured against.
//!
//! A report compares the present with the older of the two samples, so that it covers between one and two steps. This
//! module does not wait: its caller calls `keep` once a step.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::id::{PoolId, ServerId, ServiceId};
use model::snapshot::WorkerSnapshot;
use model::stats::pool::{PoolCounters, PoolStats};

use super::totals::{ServerTotals, ServiceTotals};

/// A step of the sampler.
/// Two samples this far apart give steady rates.
pub const STEP: Duration = Duration::from_secs(2);
/// A step when there are more servers than `MANY`: a sample reads all of them.
pub const LONG_STEP: Duration = Duration::from_secs(10);
/// Servers from which on the long step is used.
/// The work of a sample grows with the servers; the long step divides it by five.
pub const MANY: usize = 2_000;

/// Every counter at one moment.
#[derive(Clone, Debug)]
pub struct CounterSample {
    pub at: Instant,
    /// Totals by service. Services without new exchanges share their totals with the previous sample.
    pub services: HashMap<ServiceId, Arc<ServiceTotals>>,
    /// Totals by server. Servers without new requests share their totals with the previous sample.
    pub servers: HashMap<ServerId, Arc<ServerTotals>>,
    pub pools: HashMap<PoolId, Arc<PoolCounters>>,
    /// Access log lines that the target did not take.
    pub log_dropped: u64,
}

impl CounterSample {
    /// Reads everything in `snapshot`.
    pub fn read(
        snapshot: &WorkerSnapshot,
        log_dropped: u64,
        at: Instant,
        before: Option<&CounterSample>,
    ) -> CounterSample {
        let services = snapshot.services.values().map(|view| {
            let known = before.and_then(|sample| sample.services.get(&view.id));
            let sums = match known {
                Some(sums) if sums.is_current(view) => Arc::clone(sums),
                _ => Arc::new(ServiceTotals::read(view)),
            };
            (view.id, sums)
        });
        let services = services.collect();
        let mut servers = HashMap::new();
        for view in snapshot.pools.values().flat_map(|pool| &pool.servers) {
            let known = before.and_then(|sample| sample.servers.get(&view.id));
            let sums = match known {
                Some(sums) if sums.is_current(&view.stats) => Arc::clone(sums),
                _ => Arc::new(ServerTotals::read(&view.stats)),
            };
            servers.insert(view.id, sums);
        }
        let pools = snapshot.pools.values();
        let pools = pools.map(|view| (view.id, Arc::new(counters(&view.stats)))).collect();
        CounterSample { at, services, servers, pools, log_dropped }
    }
}

fn counters(live: &PoolStats) -> PoolCounters {
    let sums = PoolCounters::default();
    live.slots.iter().for_each(|slot| sums.add_all(&slot.counters));
    sums
}

/// The last two samples.
#[derive(Debug, Default)]
pub struct SampleHistory(Mutex<RecentSamples>);

#[derive(Debug, Default)]
struct RecentSamples {
    before_last: Option<Arc<CounterSample>>,
    last: Option<Arc<CounterSample>>,
}

impl SampleHistory {
    /// Adds a sample and drops the oldest.
    pub fn push(&self, sample: Arc<CounterSample>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.before_last = kept.last.replace(sample);
    }

    /// Has the last sample be of `at` too: nothing was counted since.
    pub fn renew(&self, at: Instant) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = kept.last.take() else { return };
        let last = Arc::new(CounterSample { at, ..(*last).clone() });
        kept.before_last = Some(Arc::clone(&last));
        kept.last = Some(last);
    }

    pub fn last(&self) -> Option<Arc<CounterSample>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last.clone()
    }

    /// The one before the last, or the last while there is no other.
    pub fn older(&self) -> Option<Arc<CounterSample>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.before_last.clone().or_else(|| kept.last.clone())
    }
}

/// How long to the next sample.
pub fn next_step(snapshot: &WorkerSnapshot) -> Duration {
    let servers: usize = snapshot.pools.values().map(|pool| pool.servers.len()).sum();
    if servers > MANY { LONG_STEP } else { STEP }
}
