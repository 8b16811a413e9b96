//! Gauges of a worker's open connections, exchanges, tunnels and idle connections.
//!
//! One worker writes them, the control thread reads them. Totals are in `model::stats`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use model::snapshot::ServiceView;
use model::stats::ServiceStats;

/// A gauge with a single writer, so plain loads and stores are enough.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU32);

impl Gauge {
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    pub fn increment(&self) {
        self.0.store(self.get().wrapping_add(1), Ordering::Relaxed);
    }

    pub fn decrement(&self) {
        self.0.store(self.get().wrapping_sub(1), Ordering::Relaxed);
    }
}

/// A gauge of bytes with a single writer.
#[derive(Debug, Default)]
pub struct ByteGauge(AtomicU64);

impl ByteGauge {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Updates the sum for a part that changed from `before` to `after`.
    pub fn change(&self, before: usize, after: usize) {
        let sum = self.get().wrapping_add(after as u64).wrapping_sub(before as u64);
        self.0.store(sum, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
pub struct OpenGauges {
    pub connections: Gauge,
    /// Running exchanges and `tcp` connections.
    pub exchanges: Gauge,
    pub tunnels: Gauge,
    /// Client connections without an exchange.
    pub idle: Gauge,
    /// Bytes buffered for peers that do not read.
    pub held_bytes: ByteGauge,
    /// Bytes in kernel pipes (splice).
    pub piped_bytes: ByteGauge,
}

/// Counts a running exchange until it is dropped.
pub struct OpenExchange {
    gauges: Arc<OpenGauges>,
    live: Arc<ServiceStats>,
}

/// Holds one of the plain gauges incremented until it is dropped.
pub struct GaugeGuard(Arc<OpenGauges>, fn(&OpenGauges) -> &Gauge);

#[derive(Clone, Debug, Default)]
pub struct GaugeHandle(pub Arc<OpenGauges>);

impl GaugeHandle {
    pub fn count_exchange(&self, view: &ServiceView) -> OpenExchange {
        self.0.exchanges.increment();
        view.stats.in_flight.increment();
        OpenExchange { gauges: self.0.clone(), live: view.stats.clone() }
    }

    pub fn count_tunnel(&self) -> GaugeGuard {
        self.0.tunnels.increment();
        GaugeGuard(self.0.clone(), |gauges| &gauges.tunnels)
    }

    /// Counts a connection that waits for a request.
    pub fn count_idle(&self) -> GaugeGuard {
        self.0.idle.increment();
        GaugeGuard(self.0.clone(), |gauges| &gauges.idle)
    }
}

impl Drop for OpenExchange {
    fn drop(&mut self) {
        self.gauges.exchanges.decrement();
        self.live.in_flight.decrement();
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        (self.1)(&self.0).decrement();
    }
}
