//! The task that takes measured exchanges from the workers' rings, several times a second.
//!
//! It judges nothing and keeps nothing itself; captures, and whoever sends spans, are told of each one.

use std::sync::Arc;
use std::time::Duration;

use crate::report::vitals::Vitals;

/// Between two looks: a ring must not fill up meanwhile.
const LOOK: Duration = Duration::from_millis(100);

/// Takes until the daemon is gone.
pub async fn run(vitals: Arc<Vitals>) {
    // Nothing comes where nothing is measured; captures go by counters, too.
    let step = if vitals.slow.sample().is_some() { LOOK } else { 10 * LOOK };
    loop {
        tokio::time::sleep(step).await;
        let picture = vitals.control.picture();
        let now = (vitals.open)().now.0;
        vitals.slow.take(&picture.snapshot, now);
        let fresh = vitals.slow.fresh();
        vitals.told.offer(&picture, &fresh, now);
        if vitals.captures.wanted(&picture) {
            vitals.captures.look(&picture, &fresh, now);
        }
    }
}
