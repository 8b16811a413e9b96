//! Adaptive load balancing: one task that reads counters, runs the weight controller, and reports changed weights to
//! the control actor.
//!
//! It looks only while some pool has a weight controller or a server in slow start. Health checks decide about health;
//! `ejection` ejects outliers.

pub mod decisions;
pub mod ejection;
pub mod outlier_detector;
#[cfg(test)]
mod tests;
pub mod weight_controller;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::monotonic_time::MonotonicTime;
use model::snapshot::ServerView;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::health::health_check::evidence_board::EvidenceBoard;
use crate::planes::packets::view::PacketPlaneView;
use crate::state::ControlHandle;
use decisions::{BalancingDecisions, WeightDecision};
use weight_controller::{ServerLoadSample, ServerWeightCalculation, WeightController};

/// The interval between samples of requests in flight, unless the controller's own interval is shorter.
/// Four samples a second: at the usual interval of 2 s, eight make a mean.
const LOOK: Duration = Duration::from_millis(250);

/// Adjusts weights until the daemon stops.
pub async fn run(
    control: ControlHandle,
    board: Arc<EvidenceBoard>,
    weighed: Arc<BalancingDecisions>,
    packets: watch::Receiver<Arc<PacketPlaneView>>,
) {
    let began = Instant::now();
    let mut snapshots = control.watch();
    let mut controller = WeightController::default();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        let now = MonotonicTime(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let plane = Arc::clone(&packets.borrow());
        let update = controller.update(&snapshot, now, |view| sample_load(view, &board, &plane));
        let at = SystemTime::now();
        for row in update.rows {
            let ServerWeightCalculation { server, calculation, pool_change: change } = row;
            weighed.set_weight(server, WeightDecision { calculation, change, at });
        }
        weighed.retain_servers(|server| controller.controls(server));
        if !update.shares.is_empty() {
            control.set_weight_shares(update.shares).await;
        }
        let Some(wait) = controller.wait(now, LOOK) else {
            if snapshots.changed().await.is_err() {
                return;
            }
            continue;
        };
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Reads the counters of exchanges, and of connections whose packets are forwarded.
fn sample_load(
    view: &ServerView,
    board: &EvidenceBoard,
    plane: &PacketPlaneView,
) -> ServerLoadSample {
    let packets = plane.loads.get(&view.id).copied().unwrap_or_default();
    let begun = |slot: &model::stats::ServerWorkerStats| {
        // A `tcp` connection is a request when it ends, and was a connect when it began.
        slot.counters.requests.get().max(slot.counters.connects.get())
    };
    ServerLoadSample {
        active: view.stats.in_flight.get().saturating_add(packets.flows),
        begun: view.stats.slots.iter().map(begun).sum::<u64>() + packets.opened,
        latency_ms: board.probe_time(view.id).map(|time| time.as_secs_f64() * 1e3),
        load: view.stats.load.load().map(|report| report.value),
    }
}
