//! TCP_INFO counters of a connection, and the baseline that the next reading is compared with.
//!
//! A stream reads those of the connection that it shares.

use std::cell::Cell;

use model::monotonic_time::MonotonicTime;
use model::time_attribution::{TcpInfoDelta, TcpInfoSample};

use super::{ProxyStream, StreamBackend};
use crate::rt::NetDriver;

impl<N: NetDriver> ProxyStream<N> {
    /// Reads the counters, for `change` to compare with.
    pub fn mark_counters(&self) {
        if let Some(now) = self.counters() {
            self.store_counters(now);
        }
    }

    /// What happened since the last reading, or since the connection was opened; it is the next one's reading to compare
    /// with. `own`: the last reading, or the opening, belongs to this exchange.
    pub fn counter_change(&self, own: bool) -> Option<TcpInfoDelta> {
        let now = self.counters()?;
        let before = self.tcp_counters.get().map(|kept| kept.get()).unwrap_or_default();
        self.store_counters(now);
        Some(now.delta_since(&before, own))
    }

    /// Since when it is the window of a stream that lets a write wait; `None`: it is not.
    #[inline]
    pub fn window_closed(&self) -> Option<MonotonicTime> {
        match &self.backend {
            StreamBackend::Socket(..) => None,
            StreamBackend::Multiplexed(stream) => stream.window_closed(),
        }
    }

    /// What the kernel counts of it, or of the connection that it shares.
    pub fn counters(&self) -> Option<TcpInfoSample> {
        match &self.backend {
            StreamBackend::Socket(sock, _) => self.rt.net.counters(sock),
            StreamBackend::Multiplexed(stream) => stream.counters(),
        }
    }

    /// Our port of it, or of the connection that it shares.
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
