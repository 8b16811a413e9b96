//! The task that takes measured exchanges from the workers' rings, several times a second.
//!
//! It passes each of them to the captures and to the exporter of spans, and stores nothing itself.

use std::sync::Arc;
use std::time::Duration;

use crate::observability::report::report_sources::ReportSources;

/// Between two looks: a ring must not fill up meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Runs until the daemon stops.
pub async fn run(vitals: Arc<ReportSources>) {
    // Without measurements the collector polls rarely: only the counters that trigger captures are left.
    let step = if vitals.slow_exchanges.sample_interval().is_some() {
        POLL_INTERVAL
    } else {
        10 * POLL_INTERVAL
    };
    let mut follower = vitals.activity.follow();
    loop {
        // Rules of captures may look at more than what workers count.
        match vitals.captures.is_needed(&vitals.control.state()) {
            true => tokio::time::sleep(step).await,
            false => follower.wait_step(step).await,
        }
        let snapshot = vitals.control.state();
        let now = (vitals.read_open_counts)().now.0;
        vitals.slow_exchanges.drain_rings(&snapshot.snapshot, now);
        let fresh = vitals.slow_exchanges.take_recent();
        vitals.telemetry.push_spans(&snapshot, &fresh, now);
        if vitals.captures.is_needed(&snapshot) {
            vitals.captures.update(&snapshot, &fresh, now);
        }
    }
}
