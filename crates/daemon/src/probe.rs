//! Probing servers and judging what clients' connections report: one thread of its own, bounded work.
//!
//! It follows the picture: servers that stay keep their judgement, servers that come are judged from what was known
//! of them. Results go through `model::health`; what it concludes is reported to `Control`. It changes no server's
//! state itself and knows no operator's orders.

mod agents;
pub mod board;
pub mod confine;
pub mod counts;
mod engine;
mod flight;
mod flights;
mod judges;
mod mail;
mod program;
mod ready;
pub mod schedule;
mod secure;
pub mod seed;
pub mod target;
#[cfg(test)]
mod tests;
mod wires;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;

use model::id::ServerId;
use rustix::process::{Resource, getrlimit};
use tokio::sync::mpsc;

use crate::control::Control;
use agents::Agents;
use board::Board;
use counts::ProbeCounts;
use engine::{Engine, Found};
use judges::{Judges, Observed};
use mail::Mailbox;

/// Probes under way at a time, at most; more wait and are counted as late. Servers that do not answer hold theirs for
/// the whole timeout: so many keep pace with 16,000 of them at the default times.
pub const AT_ONCE: usize = 8_192;
/// Each holds a descriptor: of those that may be open, one in so many.
const SHARE: u64 = 16;
/// Probes under way at a time even when descriptors are few.
const AT_LEAST: usize = 16;
/// Verdicts on their way to `Control`.
const VERDICTS: usize = 1_024;

/// Takes what workers see of servers. Cheap to clone, never blocks.
#[derive(Clone, Debug)]
pub struct Observer {
    to: Arc<Mailbox>,
}

/// The prober before it runs.
#[derive(Debug)]
pub struct Prober {
    mailbox: Arc<Mailbox>,
    letters: Receiver<Observed>,
    /// Probes by result.
    pub counts: Arc<ProbeCounts>,
    /// The newest evidence.
    pub board: Arc<Board>,
}

impl Observer {
    /// A connection could not be made.
    pub fn connect_failed(&self, server: ServerId, reason: String) {
        self.to.post(Observed::Failed(server, reason));
    }

    /// A connection was made after one had failed.
    pub fn connect_succeeded(&self, server: ServerId) {
        self.to.post(Observed::Succeeded(server));
    }
}

/// A prober, and the handle by which workers report to it.
///
/// # Errors
/// No descriptor is left.
pub fn prober() -> io::Result<(Prober, Observer)> {
    let counts = Arc::<ProbeCounts>::default();
    let (mailbox, letters) = Mailbox::new(Arc::clone(&counts))?;
    let mailbox = Arc::new(mailbox);
    let observer = Observer { to: Arc::clone(&mailbox) };
    Ok((Prober { mailbox, letters, counts, board: Arc::default() }, observer))
}

impl Prober {
    /// Probes until the daemon is gone or this is dropped.
    pub async fn run(self, control: Control) {
        let Prober { mailbox, letters, counts, board } = self;
        let events = control.events().clone();
        let agents = Agents::new(Arc::clone(&counts));
        let judges = Judges::new(seed::seed(), counts, board);
        let (to, mut found) = mpsc::channel(VERDICTS);
        let begun = Engine::new(
            Arc::clone(&mailbox),
            letters,
            to,
            (judges, agents),
            events.clone(),
            at_once(),
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
        let _stop = Stop(Arc::clone(&mailbox));
        let mut pictures = control.watch();
        mailbox.show(pictures.borrow_and_update().clone());
        loop {
            tokio::select! {
                changed = pictures.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    mailbox.show(pictures.borrow_and_update().clone());
                }
                found = found.recv() => match found {
                    Some(Found::Verdict(verdict)) => control.verdict(verdict).await,
                    Some(Found::Agent(word)) => control.agent(word).await,
                    None => return,
                }
            }
        }
    }
}

/// Ends the thread with the task.
struct Stop(Arc<Mailbox>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn at_once() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit / SHARE).unwrap_or(AT_ONCE).clamp(AT_LEAST, AT_ONCE)
}
