//! Probing servers and judging what clients' connections report: one task, one heap of moments, bounded work.
//!
//! It follows the picture: servers that stay keep their judgement, servers that come are judged from what was known
//! of them. Results go through `model::health`; what it concludes is reported to `Control`. It changes no server's
//! state itself and knows no operator's orders.

pub mod board;
pub mod check;
pub mod counts;
mod judges;
pub mod schedule;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::SystemTime;

use model::id::ServerId;
use model::moment::Moment;
use rustix::process::{Resource, getrlimit};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::control::Control;
use board::Board;
use check::{Outcome, Target, check};
use counts::{ProbeCounts, one};
use judges::{Judges, Observed};

/// Probes under way at a time, at most; more wait and are counted as late. Servers that do not answer hold theirs for
/// the whole timeout: so many keep pace with 8,000 of them at the default times.
pub const AT_ONCE: usize = 4_096;
/// Each holds a descriptor: of those that may be open, one in so many.
const SHARE: u64 = 16;
/// Probes under way at a time even when descriptors are few.
const AT_LEAST: usize = 16;
/// Reports of connections that may wait; more are dropped and counted.
const REPORTS: usize = 4_096;

/// Takes what workers see of servers. Cheap to clone, never blocks.
#[derive(Clone, Debug)]
pub struct Observer {
    to: mpsc::Sender<Observed>,
    counts: Arc<ProbeCounts>,
}

/// The prober before it runs.
#[derive(Debug)]
pub struct Prober {
    inbox: mpsc::Receiver<Observed>,
    /// Probes by result.
    pub counts: Arc<ProbeCounts>,
    /// The newest evidence.
    pub board: Arc<Board>,
}

impl Observer {
    /// A connection could not be made.
    pub fn connect_failed(&self, server: ServerId, reason: String) {
        self.report(Observed::Failed(server, reason));
    }

    /// A connection was made after one had failed.
    pub fn connect_succeeded(&self, server: ServerId) {
        self.report(Observed::Succeeded(server));
    }

    fn report(&self, observed: Observed) {
        if self.to.try_send(observed).is_err() {
            one(&self.counts.observations_dropped);
        }
    }
}

/// A prober, and the handle by which workers report to it.
pub fn prober() -> (Prober, Observer) {
    let (to, inbox) = mpsc::channel(REPORTS);
    let counts = Arc::<ProbeCounts>::default();
    let observer = Observer { to, counts: Arc::clone(&counts) };
    (Prober { inbox, counts, board: Arc::default() }, observer)
}

impl Prober {
    /// Probes until the daemon is gone.
    pub async fn run(self, control: Control) {
        let check = |target: Target| async move { check(&target).await };
        self.run_with(control, at_once(), check).await;
    }

    /// As `run`, with another bound and another way to probe.
    async fn run_with<C, F>(mut self, control: Control, at_once: usize, check: C)
    where
        C: Fn(Target) -> F,
        F: Future<Output = Outcome> + Send + 'static,
    {
        let origin = Instant::now();
        let clock = || Moment::default() + origin.elapsed();
        let mut pictures = control.watch();
        let mut judges = Judges::new(seed(), Arc::clone(&self.counts), Arc::clone(&self.board));
        let mut under_way = JoinSet::new();
        judges.adopt(&pictures.borrow_and_update().clone(), clock(), SystemTime::now());
        loop {
            while under_way.len() < at_once
                && let Some((ticket, target)) = judges.due(clock())
            {
                let answer = check(target);
                under_way.spawn(async move { (ticket, answer.await) });
            }
            let wake =
                judges.earliest().filter(|at| under_way.len() < at_once && *at != Moment::NEVER);
            let sleep = tokio::time::sleep_until(
                origin + wake.unwrap_or_default().since(Moment::default()),
            );
            let verdict = tokio::select! {
                changed = pictures.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let picture = pictures.borrow_and_update().clone();
                    judges.adopt(&picture, clock(), SystemTime::now());
                    None
                }
                Some(done) = under_way.join_next() => {
                    // A probe that panicked has no result; its server is probed again when its picture comes.
                    done.ok().and_then(|(ticket, outcome)| judges.finished(ticket, outcome, clock(), SystemTime::now()))
                }
                Some(observed) = self.inbox.recv() => judges.observed(observed, clock(), SystemTime::now()),
                () = sleep, if wake.is_some() => None,
            };
            if let Some(verdict) = verdict {
                control.verdict(verdict).await;
            }
        }
    }
}

fn at_once() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit / SHARE).unwrap_or(AT_ONCE).clamp(AT_LEAST, AT_ONCE)
}

/// Random bits without a dependency: the standard library's hash keys come from the system.
pub(crate) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
