//! Computes how long an exchange may wait for a server, and which cause ends the wait early.
//!
//! A client that has only half-closed its connection can still read the response (RFC 9112 §9.6), so the exchange
//! continues. A client that has reset the connection cannot read anything. This module does not wait itself.

use std::cell::Cell;

use model::cause::Cause;
use model::monotonic_time::MonotonicTime;

use crate::conn::stream::ProxyStream;
use crate::rt::NetDriver;

/// The deadlines of one exchange or `tcp` connection.
pub struct ExchangeDeadline<'a, N: NetDriver> {
    /// The client, if its task waits for the response.
    pub client: Option<&'a ProxyStream<N>>,
    /// The deadline of the whole exchange.
    pub total: MonotonicTime,
    /// When the service's remaining exchanges are reset; may change during the wait.
    pub cut_at: &'a Cell<MonotonicTime>,
}

impl<N: NetDriver> ExchangeDeadline<'_, N> {
    /// When a wait with the limit `own` ends at the latest.
    pub fn earliest_until(&self, own: MonotonicTime) -> MonotonicTime {
        own.min(self.total).min(self.cut_at.get())
    }

    /// Whether the client's connection is broken.
    pub fn is_client_gone(&self) -> bool {
        self.client.is_some_and(ProxyStream::is_broken)
    }

    /// The cause that has ended the exchange by now, regardless of the wait's own limit.
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
