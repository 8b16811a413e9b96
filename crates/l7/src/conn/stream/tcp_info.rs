//! TCP_INFO counters of a connection, and the baseline for the next reading.
//!
//! A multiplexed stream reads the counters of its shared connection.

use std::cell::Cell;

use model::monotonic_time::MonotonicTime;
use model::time_attribution::{TcpInfoDelta, TcpInfoSample};

use super::{ProxyStream, StreamBackend};
use crate::rt::NetDriver;
use crate::rt::run_delay::HeldInterval;

impl<N: NetDriver> ProxyStream<N> {
    /// Stores the counters as the baseline for `counter_change`.
    pub fn mark_counters(&self) {
        if let Some(now) = self.counters() {
            self.store_counters(now);
        }
    }

    /// The change since the last reading or the opening of the connection; this reading is the next baseline. `own`:
    /// the baseline was taken in this exchange.
    pub fn counter_change(&self, own: bool) -> Option<TcpInfoDelta> {
        let now = self.counters()?;
        let before = self.tcp_counters.get().map(|kept| kept.get()).unwrap_or_default();
        self.store_counters(now);
        Some(now.delta_since(&before, own))
    }

    /// Since when a stream's window blocks writes; `None`: it does not.
    #[inline]
    pub fn window_closed(&self) -> Option<MonotonicTime> {
        match &self.backend {
            StreamBackend::Socket(..) => None,
            StreamBackend::Multiplexed(stream) => stream.window_closed(),
        }
    }

    /// The time for which the thread was held between the last write to a stream and the sending of what was written.
    #[inline]
    pub fn held_write(&self) -> Option<HeldInterval> {
        match &self.backend {
            StreamBackend::Socket(..) => None,
            StreamBackend::Multiplexed(stream) => stream.held_write(),
        }
    }

    /// The kernel's TCP_INFO counters of this connection, or of the shared connection.
    pub fn counters(&self) -> Option<TcpInfoSample> {
        match &self.backend {
            StreamBackend::Socket(sock, _) => self.rt.net.counters(sock),
            StreamBackend::Multiplexed(stream) => stream.counters(),
        }
    }

    /// The balancer's port of this connection, or of the shared connection.
    pub fn local_port(&self) -> Option<u16> {
        match &self.backend {
            StreamBackend::Socket(sock, _) => self.rt.net.local_port(sock),
            StreamBackend::Multiplexed(stream) => stream.local_port(),
        }
    }

    fn store_counters(&self, now: TcpInfoSample) {
        self.tcp_counters.get_or_init(|| Box::new(Cell::new(now))).set(now);
    }
}
