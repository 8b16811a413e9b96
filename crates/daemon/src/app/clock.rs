//! A tick for the control actor, once a second. What time changes is decided there.

use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::state::ControlHandle;

/// How late a window may open or close.
/// Windows are written in minutes.
const STEP: Duration = Duration::from_secs(1);

/// Runs until the daemon stops.
pub async fn run(control: ControlHandle) {
    let mut every = tokio::time::interval(STEP);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        control.tick().await;
    }
}
