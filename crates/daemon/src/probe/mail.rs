//! What reaches the thread that probes: reports, results of programs, the newest picture, and the word to stop.
//!
//! Posting never waits: a full box drops and counts.

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

/// Letters that may wait; more are dropped and counted.
pub(super) const LETTERS: usize = 4_096;

/// One message.
#[derive(Debug)]
pub(super) enum Letter {
    /// What a worker saw of a server.
    Observed(Observed),
    /// A program has ended; it began then.
    Program(Ticket, Outcome, Moment),
}

/// The box.
#[derive(Debug)]
pub(super) struct Mailbox {
    to: SyncSender<Letter>,
    bell: OwnedFd,
    picture: Mutex<Option<Arc<Picture>>>,
    closed: AtomicBool,
    counts: Arc<ProbeCounts>,
}

impl Mailbox {
    /// A box, and where its letters come out.
    pub(super) fn new(counts: Arc<ProbeCounts>) -> io::Result<(Mailbox, Receiver<Letter>)> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (to, letters) = sync_channel(LETTERS);
        let (picture, closed) = (Mutex::default(), AtomicBool::new(false));
        Ok((Mailbox { to, bell, picture, closed, counts }, letters))
    }

    /// Posts a letter.
    pub(super) fn post(&self, letter: Letter) {
        if self.to.try_send(letter).is_err() {
            one(&self.counts.observations_dropped);
        }
        self.ring();
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
