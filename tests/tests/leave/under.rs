//! Work of every kind that is under way when a balancer is told to leave, and how much of it broke.
//!
//! It does not know which balancer that is.

use std::net::SocketAddr;
use std::time::Duration;

use lab::load::{Load, Persist, Report};
use tests::e2e::download::Download;
use tests::e2e::steady::{ended, fresh, kept, load};
use tests::e2e::wait;

/// Connections with a request under way nearly all the time.
const WAITING: usize = 32;
/// Downloads under way.
const DOWNLOADS: usize = 4;
/// Bytes of each.
const BYTES: u64 = 64 << 20;

/// The work.
pub struct Under {
    kept: Load,
    fresh: Load,
    waiting: Load,
    downloads: Vec<Download>,
}

/// What became of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that were sent and not answered whole.
    pub broken: u64,
    /// Connections that were refused, which breaks nothing.
    pub refused: u64,
    /// Downloads.
    pub downloads: usize,
    /// Of those, cut.
    pub cut: usize,
    /// What was seen of all that.
    pub seen: Vec<String>,
}

impl Under {
    /// Starts it, and waits until all of it is under way.
    pub fn start(front: SocketAddr) -> Under {
        let pause = Duration::from_millis(1);
        let under = Under {
            kept: kept(front),
            fresh: fresh(front),
            waiting: load(front, "/delay/150", Persist::KeepAlive, WAITING, pause),
            downloads: (0..DOWNLOADS).map(|_| Download::start(front, BYTES)).collect(),
        };
        wait::until("all of it is under way", || {
            let enough = [(&under.kept, 200), (&under.fresh, 20), (&under.waiting, 2 * WAITING)];
            let loads = enough.iter().all(|(load, many)| load.report().answered >= *many as u64);
            loads && under.downloads.iter().all(|download| download.read() > 0)
        });
        under
    }

    /// Lets it end once nobody is accepted any more: downloads are read to their end.
    pub fn end(self) -> Outcome {
        let refused = |load: &Load| of(&load.report(), "connect-refused");
        wait::until("new connections refused", || refused(&self.fresh) > 0);
        let mut outcome = Outcome { downloads: self.downloads.len(), ..Outcome::default() };
        let broken: Vec<String> = self.downloads.into_iter().filter_map(Download::finish).collect();
        outcome.cut = broken.len();
        outcome.seen = broken;
        for load in [self.kept, self.fresh, self.waiting] {
            let report = ended(load);
            let refused = of(&report, "connect-refused");
            outcome.answered += report.answered;
            outcome.refused += refused;
            outcome.broken += report.failed - refused;
            outcome.seen.extend(report.failed_by_cause.iter().map(|(c, n)| format!("{n} × {c}")));
        }
        outcome
    }
}

fn of(report: &Report, cause: &str) -> u64 {
    report.failed_by_cause.get(cause).copied().unwrap_or(0)
}
