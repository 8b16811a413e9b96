//! Work of every kind in progress when a balancer shuts down, and the number of failures.
//!
//! This module does not depend on the balancer.

use std::net::SocketAddr;
use std::time::Duration;

use lab::load::{ConnectionReuse, LoadReport, LoadRun};
use tests::e2e::download::Download;
use tests::e2e::steady_traffic::{connect_each_load, keep_alive_load, load, stop_load};
use tests::e2e::wait;

/// Connections that have a request in progress nearly all the time.
const WAITING: usize = 32;
const DOWNLOADS: usize = 4;
const BYTES: u64 = 64 << 20;

pub struct LeaveWorkload {
    keep_alive: LoadRun,
    connect_each: LoadRun,
    waiting: LoadRun,
    downloads: Vec<Download>,
}

/// The result of the workload.
#[derive(Clone, Debug, Default)]
pub struct LeaveOutcome {
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that were sent and not answered completely.
    pub broken: u64,
    /// Refused connections, which do not count as failures.
    pub refused: u64,
    pub downloads: usize,
    pub cut_downloads: usize,
    /// Descriptions of the failures.
    pub observations: Vec<String>,
}

impl LeaveWorkload {
    /// Starts the workload, and waits until all of it is in progress.
    pub fn start(front: SocketAddr) -> LeaveWorkload {
        let pause = Duration::from_millis(1);
        let under = LeaveWorkload {
            keep_alive: keep_alive_load(front),
            connect_each: connect_each_load(front),
            waiting: load(front, "/delay/150", ConnectionReuse::KeepAlive, WAITING, pause),
            downloads: (0..DOWNLOADS).map(|_| Download::start(front, BYTES)).collect(),
        };
        wait::until("all of it is under way", || {
            let enough = [
                (&under.keep_alive, 200),
                (&under.connect_each, 20),
                (&under.waiting, 2 * WAITING),
            ];
            let loads = enough.iter().all(|(load, many)| load.report().answered >= *many as u64);
            loads && under.downloads.iter().all(|download| download.read() > 0)
        });
        under
    }

    /// Ends the workload once new connections are refused. Downloads are read to their end.
    pub fn end(self) -> LeaveOutcome {
        let refused = |load: &LoadRun| of(&load.report(), "connect-refused");
        wait::until("new connections refused", || refused(&self.connect_each) > 0);
        let mut outcome =
            LeaveOutcome { downloads: self.downloads.len(), ..LeaveOutcome::default() };
        let broken: Vec<String> = self.downloads.into_iter().filter_map(Download::finish).collect();
        outcome.cut_downloads = broken.len();
        outcome.observations = broken;
        for load in [self.keep_alive, self.connect_each, self.waiting] {
            let report = stop_load(load);
            let refused = of(&report, "connect-refused");
            outcome.answered += report.answered;
            outcome.refused += refused;
            outcome.broken += report.failed - refused;
            outcome
                .observations
                .extend(report.failed_by_cause.iter().map(|(c, n)| format!("{n} × {c}")));
        }
        outcome
    }
}

fn of(report: &LoadReport, cause: &str) -> u64 {
    report.failed_by_cause.get(cause).copied().unwrap_or(0)
}
