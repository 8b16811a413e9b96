//! Stores what a response reports about its server: the keep-alive timeout and the load.

use std::time::Duration;

use crate::exchange::load_report::{self, ServerLoadReport};
use crate::rt::NetDriver;
use crate::servers::worker_state::LocalServer;
use crate::worker::Worker;

/// Stores both for later requests.
pub(super) fn learn_from_answer<N: NetDriver>(
    worker: &Worker<N>,
    server: &LocalServer<N>,
    keep_alive_seconds: Option<u32>,
    load: Option<ServerLoadReport>,
) {
    let now = worker.rt.now();
    if let Some(seconds) = keep_alive_seconds {
        server
            .idle_pool
            .borrow_mut()
            .set_keep_alive_limit(now, Duration::from_secs(u64::from(seconds)));
    }
    if let Some(report) = load {
        load_report::store_report(report, &server.view.borrow().stats, worker.index, now);
    }
}
