//! Outlier ejection: one task that reads counters, runs the outlier detector, and reports to the control actor.
//!
//! It looks only while some pool that requests are proxied to ejects servers.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::id::ServerId;
use model::load_balancing::Rng;
use model::monotonic_time::MonotonicTime;
use model::outlier_detection::OutlierAction;
use tokio::time::Instant;

use super::decisions::BalancingDecisions;
use super::outlier_detector::PoolOutlierDetectors;
use crate::state::{ControlHandle, EjectionChange, ServerEjection, StateSnapshot};
use crate::util::activity::ActivityFollower;

/// The shortest time between two looks: a broken server is ejected no earlier.
const LOOK: Duration = Duration::from_millis(100);
/// Added for each server, so that checking very many servers costs a few percent of a core at most.
const LOOK_PER_SERVER: Duration = Duration::from_micros(100);
/// The longest time between two looks. With 20,000 servers, a broken server is still detected within two seconds.
const LONGEST: Duration = Duration::from_secs(2);

/// Ejects and readmits servers until the daemon stops.
pub async fn run(
    control: ControlHandle,
    weighed: Arc<BalancingDecisions>,
    mut follower: ActivityFollower,
    seed: u64,
) {
    let began = Instant::now();
    let mut rng = Rng::new(seed);
    let mut snapshots = control.watch();
    let mut dock = PoolOutlierDetectors::default();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        let now = MonotonicTime(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let ruled = dock.update(&snapshot, now, || rng.next());
        let at = SystemTime::now();
        weighed.set_ejections(ruled.sums, at);
        clear_failure_runs(&snapshot, &ruled.orders);
        let changes: Vec<_> = ruled.orders.iter().map(|order| ejection_change(order, at)).collect();
        if !changes.is_empty() {
            control.set_ejections(changes).await;
        }
        if dock.servers() == 0 {
            if snapshots.changed().await.is_err() {
                return;
            }
            continue;
        }
        let servers = u32::try_from(dock.servers()).unwrap_or(u32::MAX);
        let wait = LOOK.max(LOOK_PER_SERVER.saturating_mul(servers)).min(LONGEST);
        // Without new responses only an ejection's end or another configuration changes anything.
        if dock.has_ejected() {
            tokio::time::sleep(wait).await;
            continue;
        }
        let is_quiet = follower.is_settled();
        tokio::select! {
            () = follower.wait_step(wait) => {}
            changed = snapshots.changed(), if is_quiet => if changed.is_err() { return },
        }
    }
}

/// A readmitted server starts with empty counters.
fn clear_failure_runs(snapshot: &StateSnapshot, orders: &[OutlierAction]) {
    let back = orders.iter().filter(|order| matches!(order, OutlierAction::Readmit { .. }));
    let back: HashSet<ServerId> = back.map(OutlierAction::server).collect();
    if back.is_empty() {
        return;
    }
    let views = snapshot.snapshot.pools.values().flat_map(|pool| &pool.servers);
    for view in views.filter(|view| back.contains(&view.id)) {
        view.stats.consecutive_failures.clear();
    }
}

/// The new ejection state of a server, and its event.
fn ejection_change(order: &OutlierAction, now: SystemTime) -> EjectionChange {
    let ejection = match order {
        OutlierAction::Eject { time, sum, .. } => {
            Some(ServerEjection { reason: sum.to_string(), until: now + *time })
        }
        OutlierAction::Readmit { .. } => None,
    };
    EjectionChange { server: order.server(), ejection }
}
