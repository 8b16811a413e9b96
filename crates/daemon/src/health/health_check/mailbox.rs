//! The mailbox of the probing thread: observations, results of programs, the newest state snapshot, and the message to
//! stop.
//!
//! Posting never waits: a full mailbox drops observations and counts them. Results of programs are never dropped: there
//! are no more than programs that may run.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

use model::monotonic_time::MonotonicTime;
use rustix::event::{EventfdFlags, eventfd};

use super::counts::{ProbeCounts, increment};
use super::target::{ConnectObservation, ProbeOutcome, ProbeTicket};
use crate::state::StateSnapshot;

/// Reports that may wait; more are dropped and counted.
pub(super) const MAX_OBSERVATIONS: usize = 4_096;

/// A program that has ended.
#[derive(Debug)]
pub(super) struct FinishedProgram {
    /// Whose probe it was.
    pub ticket: ProbeTicket,
    pub outcome: ProbeOutcome,
    pub started_at: MonotonicTime,
    /// The marker in the environment of every process that it started.
    pub marker: String,
}

#[derive(Debug)]
pub(super) struct ProbeMailbox {
    observations: SyncSender<ConnectObservation>,
    event_fd: OwnedFd,
    state: Mutex<Option<Arc<StateSnapshot>>>,
    finished_programs: Mutex<Vec<FinishedProgram>>,
    closed: AtomicBool,
    counts: Arc<ProbeCounts>,
}

impl ProbeMailbox {
    /// A mailbox whose observations go to this sender, which has room for `MAX_OBSERVATIONS`.
    pub(super) fn new(
        observations: SyncSender<ConnectObservation>,
        counts: Arc<ProbeCounts>,
    ) -> io::Result<ProbeMailbox> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let snapshot = Mutex::default();
        let ran = Mutex::default();
        let closed = AtomicBool::new(false);
        Ok(ProbeMailbox {
            observations,
            event_fd: bell,
            state: snapshot,
            finished_programs: ran,
            closed,
            counts,
        })
    }

    pub(super) fn send_observation(&self, letter: ConnectObservation) {
        if self.observations.try_send(letter).is_err() {
            increment(&self.counts.observations_dropped);
        }
        self.signal();
    }

    /// A program has ended.
    pub(super) fn program_finished(&self, ran: FinishedProgram) {
        self.finished_programs.lock().unwrap_or_else(PoisonError::into_inner).push(ran);
        self.signal();
    }

    /// The programs that have ended since the last call.
    pub(super) fn take_finished(&self) -> Vec<FinishedProgram> {
        std::mem::take(&mut *self.finished_programs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the snapshot that is to be adopted.
    pub(super) fn set_state(&self, snapshot: Arc<StateSnapshot>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        self.signal();
    }

    /// The thread is to end.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.signal();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// The newest snapshot, if it is new since the last call.
    pub(super) fn take_state(&self) -> Option<Arc<StateSnapshot>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Readable when something has arrived.
    pub(super) fn event_fd(&self) -> BorrowedFd<'_> {
        self.event_fd.as_fd()
    }

    /// It has been heard.
    pub(super) fn drain_event_fd(&self) {
        // The descriptor does not block: a failed read means that the counter is already zero.
        let _ = rustix::io::read(&self.event_fd, &mut [0; 8]);
    }

    fn signal(&self) {
        // Full means that it rings already.
        let _ = rustix::io::write(&self.event_fd, &1u64.to_ne_bytes());
    }
}
