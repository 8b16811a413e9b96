//! How long an exchange may wait for a server, and what ends that before the wait's own time.
//!
//! A client that has only sent its end may still read the answer (RFC 9112 §9.6), so it keeps its place; one that has
//! reset the connection can read nothing. It does not wait itself.

use std::cell::Cell;

use model::cause::Cause;
use model::monotonic_time::MonotonicTime;

use crate::conn::stream::ProxyStream;
use crate::rt::NetDriver;

/// Of one exchange or `tcp` connection.
pub struct ExchangeDeadline<'a, N: NetDriver> {
    /// The client, if its task waits for the response.
    pub client: Option<&'a ProxyStream<N>>,
    /// When the exchange must be over.
    pub total: MonotonicTime,
    /// When the service's remaining exchanges are reset; may change during the wait.
    pub cut_at: &'a Cell<MonotonicTime>,
}

impl<N: NetDriver> ExchangeDeadline<'_, N> {
    /// The end of the wait, if its own limit is `own`.
    pub fn earliest_until(&self, own: MonotonicTime) -> MonotonicTime {
        own.min(self.total).min(self.cut_at.get())
    }

    /// Whether the client has gone.
    pub fn is_client_gone(&self) -> bool {
        self.client.is_some_and(ProxyStream::is_broken)
    }

    /// The cause that has ended the exchange by now, apart from its own limit.
    pub fn expired_cause(&self, now: MonotonicTime) -> Option<Cause> {
        if self.is_client_gone() {
            Some(Cause::ClientReset)
        } else if now >= self.cut_at.get() {
            Some(Cause::DrainCut)
        } else if now >= self.total {
            Some(Cause::WholeTimeout)
        } else {
            None
        }
    }
}
