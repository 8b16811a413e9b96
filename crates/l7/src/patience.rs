//! How long an exchange may wait for a server, and what ends that before the wait's own time.
//!
//! A client that has only sent its end may still read the answer (RFC 9112 §9.6), so it keeps its place; one that has
//! reset the connection can read nothing. It does not wait itself.

use std::cell::Cell;

use model::cause::Cause;
use model::moment::Moment;

use crate::rt::Net;
use crate::stream::Stream;

/// Of one exchange or `tcp` connection.
pub struct Patience<'a, N: Net> {
    /// The client, which belongs to the task that waits; `None`: nobody waits for the answer.
    pub client: Option<&'a Stream<N>>,
    /// When the exchange must be over.
    pub whole: Moment,
    /// When what is left of the service is cut; moves while somebody waits.
    pub cut_at: &'a Cell<Moment>,
}

impl<N: Net> Patience<'_, N> {
    /// When waiting ends at the latest, if its own time ends at `own`.
    pub fn until(&self, own: Moment) -> Moment {
        own.min(self.whole).min(self.cut_at.get())
    }

    /// Whether nobody is left to answer.
    pub fn is_alone(&self) -> bool {
        self.client.is_some_and(Stream::broken)
    }

    /// What has ended it by now, its own time aside.
    pub fn over(&self, now: Moment) -> Option<Cause> {
        if self.is_alone() {
            Some(Cause::ClientReset)
        } else if now >= self.cut_at.get() {
            Some(Cause::DrainCut)
        } else if now >= self.whole {
            Some(Cause::WholeTimeout)
        } else {
            None
        }
    }
}
