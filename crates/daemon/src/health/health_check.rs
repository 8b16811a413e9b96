//! Health checks, active and by what clients' connections report: one thread of its own, bounded work.
//!
//! It follows the state snapshot: servers that stay keep their health, servers that come begin with what was known of
//! them. Verdicts are reported to the control actor. It changes no server's state itself and knows no operator's
//! commands.

mod agents;
pub mod counts;
mod engine;
pub mod evidence_board;
mod health_checkers;
mod mailbox;
mod prepared_probe;
mod probe_socket;
mod prober_report;
pub mod program_limits;
mod program_probe;
mod running_probe;
mod running_probes;
pub mod schedule;
pub mod target;
#[cfg(test)]
mod tests;
mod tls_settings;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use model::id::ServerId;
use rustix::process::{Resource, getrlimit};
use tokio::sync::mpsc;

use crate::state::ControlHandle;
use agents::AgentPoller;
use counts::ProbeCounts;
use engine::ProbeEngine;
use evidence_board::EvidenceBoard;
use health_checkers::HealthCheckers;
use mailbox::{MAX_OBSERVATIONS, ProbeMailbox};
use prober_report::ProberReport;
use target::ConnectObservation;

/// The limit of concurrent health checks; further checks wait and are counted as late. A server without an answer
/// occupies a check for the whole timeout. At the default times, this limit suffices for 16,000 such servers.
pub const MAX_CONCURRENT: usize = 8_192;
/// A probe needs a descriptor: one in this many of the process's limit.
/// Clients and servers need the other fifteen.
const SHARE: u64 = 16;
/// Probes under way at a time even when descriptors are few.
/// Fewer would delay probes of even a small pool when a few servers hang.
const AT_LEAST: usize = 16;
/// Verdicts queued for the control actor.
/// When the queue is full, the engine retries later.
const REPORT_QUEUE: usize = 1_024;

/// Receives the workers' observations about servers. Cheap to clone, never blocks.
#[derive(Clone, Debug)]
pub struct ConnectObserver {
    mailbox: Arc<ProbeMailbox>,
}

/// The prober before it runs.
#[derive(Debug)]
pub struct Prober {
    mailbox: Arc<ProbeMailbox>,
    observations: Receiver<ConnectObservation>,
    pub counts: Arc<ProbeCounts>,
    pub evidence: Arc<EvidenceBoard>,
}

impl ConnectObserver {
    /// A connection could not be made.
    pub fn connect_failed(&self, server: ServerId, reason: String) {
        self.mailbox.send_observation(ConnectObservation::Failed(server, reason));
    }

    /// A connection was made after one had failed.
    pub fn connect_succeeded(&self, server: ServerId) {
        self.mailbox.send_observation(ConnectObservation::Succeeded(server));
    }
}

/// A prober that does not run yet.
pub struct ProberParts {
    pub prober: Prober,
    /// The handle by which workers report to it.
    pub observer: ConnectObserver,
}

/// Opens a prober.
///
/// # Errors
/// No descriptor is left.
pub fn new_prober() -> io::Result<ProberParts> {
    let counts = Arc::<ProbeCounts>::default();
    let (sender, observations) = sync_channel(MAX_OBSERVATIONS);
    let mailbox = Arc::new(ProbeMailbox::new(sender, Arc::clone(&counts))?);
    let observer = ConnectObserver { mailbox: Arc::clone(&mailbox) };
    let prober = Prober { mailbox, observations, counts, evidence: Arc::default() };
    Ok(ProberParts { prober, observer })
}

impl Prober {
    /// Runs health checks until the daemon stops or this value is dropped.
    pub async fn run(self, control: ControlHandle) {
        let Prober { mailbox, observations, counts, evidence: board } = self;
        let events = control.events().clone();
        let agents = AgentPoller::new(Arc::clone(&counts));
        let judges = HealthCheckers::new(crate::util::random_seed::random_seed(), counts, board);
        let (to, mut reports) = mpsc::channel(REPORT_QUEUE);
        let begun = ProbeEngine::new(
            Arc::clone(&mailbox),
            observations,
            to,
            judges,
            agents,
            events.clone(),
            max_concurrent_probes(),
        );
        let begun = begun.and_then(|engine| {
            let events = events.clone();
            let run = move || {
                if let Err(error) = engine.run() {
                    events.error(
                        "probes-failed",
                        format!("servers are not probed any more: {error}"),
                    );
                }
            };
            thread::Builder::new().name("probe".to_owned()).spawn(run)
        });
        if let Err(error) = begun {
            events.error("probes-failed", format!("servers cannot be probed: {error}"));
            return;
        }
        let _stop = StopOnDrop(Arc::clone(&mailbox));
        let mut snapshots = control.watch();
        mailbox.set_state(snapshots.borrow_and_update().clone());
        loop {
            tokio::select! {
                changed = snapshots.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    mailbox.set_state(snapshots.borrow_and_update().clone());
                }
                reports = reports.recv() => match reports {
                    Some(ProberReport::Health(verdict)) => control.report_health(verdict).await,
                    Some(ProberReport::Agent(agent_report)) => control.report_agent(agent_report).await,
                    None => return,
                }
            }
        }
    }
}

/// Ends the thread with the task.
struct StopOnDrop(Arc<ProbeMailbox>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn max_concurrent_probes() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit / SHARE).unwrap_or(MAX_CONCURRENT).clamp(AT_LEAST, MAX_CONCURRENT)
}
