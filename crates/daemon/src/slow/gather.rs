//! The task that takes measured exchanges from the workers' rings, several times a second.
//!
//! It judges nothing and keeps nothing itself.

use std::sync::Arc;
use std::time::Duration;

use crate::report::vitals::Vitals;

/// Between two looks: a ring must not fill up meanwhile.
const LOOK: Duration = Duration::from_millis(100);

/// Takes until the daemon is gone.
pub async fn run(vitals: Arc<Vitals>) {
    // Nothing comes where nothing is measured.
    if vitals.slow.sample().is_none() {
        return;
    }
    loop {
        tokio::time::sleep(LOOK).await;
        let picture = vitals.control.picture();
        vitals.slow.take(&picture.snapshot, (vitals.open)().now.0);
    }
}
