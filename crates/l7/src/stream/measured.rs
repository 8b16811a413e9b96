//! What the kernel counts of a connection, and the reading that the next one is compared with.
//!
//! Strands are told of the connection that they share. It judges nothing.

use std::cell::Cell;

use model::attribute::{Change, Tcp};
use model::moment::Moment;

use super::{Stream, Under};
use crate::rt::Net;

impl<N: Net> Stream<N> {
    /// Reads the counters, for `change` to compare with.
    pub fn mark(&self) {
        if let Some(now) = self.counters() {
            self.keep(now);
        }
    }

    /// What happened since the last reading, or since the connection was opened; it is the next one's reading to compare
    /// with. `own`: the last reading, or the opening, belongs to this exchange.
    pub fn change(&self, own: bool) -> Option<Change> {
        let now = self.counters()?;
        let before = self.measured.get().map(|kept| kept.get()).unwrap_or_default();
        self.keep(now);
        Some(now.since(&before, own))
    }

    /// Since when it is the window of a strand that lets a write wait; `None`: it is not.
    #[inline]
    pub fn window_closed(&self) -> Option<Moment> {
        match &self.under {
            Under::Socket(..) => None,
            Under::Strand(strand) => strand.window_closed(),
        }
    }

    /// What the kernel counts of it, or of the connection that it shares.
    pub fn counters(&self) -> Option<Tcp> {
        match &self.under {
            Under::Socket(sock, _) => self.rt.net.counters(sock),
            Under::Strand(strand) => strand.counters(),
        }
    }

    /// Our port of it, or of the connection that it shares.
    pub fn port(&self) -> Option<u16> {
        match &self.under {
            Under::Socket(sock, _) => self.rt.net.port(sock),
            Under::Strand(strand) => strand.port(),
        }
    }

    fn keep(&self, now: Tcp) {
        self.measured.get_or_init(|| Box::new(Cell::new(now))).set(now);
    }
}
