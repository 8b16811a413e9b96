//! A direction that reads ahead of a receiver that takes nothing, up to a limit.
//!
//! What is kept counts against what the service may keep in all.

use super::{Flow, Step};
use crate::kept_bytes::Ahead;
use crate::rt::Net;
use crate::stream::{Stream, Wrote};
use crate::worker::Worker;

impl<N: Net> Flow<N> {
    /// From here on the sender is read although the receiver takes nothing.
    pub fn read_ahead(&mut self, ahead: Ahead) {
        self.may_splice = false;
        self.ahead = Some(Box::new(ahead));
    }

    /// Whether the sender may be read while the receiver takes nothing.
    pub(super) fn may_run_ahead(&mut self) -> bool {
        let needed = (self.pending.len() - self.at + self.most) as u64;
        let Some(ahead) = &mut self.ahead else { return false };
        if needed > ahead.most {
            return false;
        }
        let fits = ahead.kept.reach(needed, ahead.memory);
        ahead.full |= !fits;
        fits
    }

    /// Whether the sender has nothing more to give, and the receiver lacks some of what it gave.
    pub fn is_all_here(&self) -> bool {
        self.ahead.is_some() && self.framing.done() && self.coder.is_none() && self.holds()
    }

    /// Whether it could not read as far ahead as it may, for want of memory.
    pub fn was_full(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.full)
    }

    /// Gives the receiver what is kept, once there is no sender any more.
    pub fn give_rest(&mut self, worker: &Worker<N>, to: &Stream<N>) -> Step {
        let mut step = Step::Finished;
        while self.at < self.pending.len() {
            match to.try_write(&self.pending[self.at..]) {
                Wrote::Bytes(n) => {
                    self.at += n;
                    self.given += n as u64;
                }
                Wrote::Later => {
                    step = Step::Receiver;
                    break;
                }
                Wrote::Failed(_) => {
                    step = Step::ReceiverFailed;
                    break;
                }
            }
        }
        self.report(worker);
        step
    }
}
