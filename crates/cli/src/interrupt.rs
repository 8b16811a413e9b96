//! Ctrl-C and SIGTERM as a flag, for commands that have something to show when they are ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use crate::outcome::CommandError;

/// A flag that Ctrl-C and SIGTERM set, so that finished measurements are not lost.
pub fn stop_on_interrupt() -> Result<Arc<AtomicBool>, CommandError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let unusable =
        |error: std::io::Error| CommandError::Unusable(format!("cannot wait for signals: {error}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(unusable)?;
    let entered = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unusable)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(unusable)?;
    drop(entered);
    let wait = move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        flag.store(true, Ordering::Relaxed);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(unusable)?;
    Ok(stop)
}
