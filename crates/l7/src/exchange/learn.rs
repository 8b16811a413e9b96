//! What a server said of itself in an answer: how long it keeps idle connections, and its load. It reads no bytes.

use std::time::Duration;

use crate::local::LocalServer;
use crate::reported::{self, Reported};
use crate::rt::Net;
use crate::worker::Worker;

/// Keeps it for later requests.
pub(super) fn learn<N: Net>(
    worker: &Worker<N>,
    server: &LocalServer<N>,
    (keeps, reported): (Option<u32>, Option<Reported>),
) {
    let now = worker.rt.now();
    if let Some(seconds) = keeps {
        server.shelf.borrow_mut().told(now, Duration::from_secs(u64::from(seconds)));
    }
    if let Some(report) = reported {
        reported::keep(report, &server.view.borrow().live, worker.index, now);
    }
}
