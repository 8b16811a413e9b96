//! What reaches the thread that probes: reports, results of programs, the newest picture, and the word to stop.
//!
//! Posting never waits: a full box drops reports and counts them. Results of programs are never dropped: there are no
//! more than programs that may run.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use model::moment::Moment;
use rustix::event::{EventfdFlags, eventfd};

use super::counts::{ProbeCounts, one};
use super::judges::{Observed, Ticket};
use super::target::Outcome;
use crate::control::Picture;

/// Reports that may wait; more are dropped and counted.
pub(super) const LETTERS: usize = 4_096;

/// A program that has ended.
#[derive(Debug)]
pub(super) struct Ran {
    /// Whose probe it was.
    pub ticket: Ticket,
    /// What came of it.
    pub outcome: Outcome,
    /// When it began.
    pub began: Moment,
    /// What stands in the environment of everything that it started.
    pub mark: String,
}

/// The box.
#[derive(Debug)]
pub(super) struct Mailbox {
    to: SyncSender<Observed>,
    bell: OwnedFd,
    picture: Mutex<Option<Arc<Picture>>>,
    ran: Mutex<Vec<Ran>>,
    closed: AtomicBool,
    counts: Arc<ProbeCounts>,
}

impl Mailbox {
    /// A box, and where its letters come out.
    pub(super) fn new(counts: Arc<ProbeCounts>) -> io::Result<(Mailbox, Receiver<Observed>)> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (to, letters) = sync_channel(LETTERS);
        let (picture, ran, closed) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        Ok((Mailbox { to, bell, picture, ran, closed, counts }, letters))
    }

    /// Posts what a worker saw.
    pub(super) fn post(&self, letter: Observed) {
        if self.to.try_send(letter).is_err() {
            one(&self.counts.observations_dropped);
        }
        self.ring();
    }

    /// A program has ended.
    pub(super) fn ended(&self, ran: Ran) {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).push(ran);
        self.ring();
    }

    /// The programs that have ended since this was asked last.
    pub(super) fn take_ended(&self) -> Vec<Ran> {
        std::mem::take(&mut *self.ran.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the picture that is to be adopted.
    pub(super) fn show(&self, picture: Arc<Picture>) {
        *self.picture.lock().unwrap_or_else(PoisonError::into_inner) = Some(picture);
        self.ring();
    }

    /// The thread is to end.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.ring();
    }

    /// Whether it is.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// The newest picture, if it was not taken yet.
    pub(super) fn picture(&self) -> Option<Arc<Picture>> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What is readable when something has come.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// It has been heard.
    pub(super) fn quiet(&self) {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
    }

    fn ring(&self) {
        // Full means that it rings already.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}
