//! What a worker has open right now: connections, exchanges, tunnels, idle connections.
//!
//! One worker writes, the control thread reads. It keeps no totals: those are in `model::live`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use model::live::ServiceLive;
use model::snapshot::ServiceView;

/// A number with one writer.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU32);

impl Gauge {
    /// Reads.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more.
    pub fn up(&self) {
        self.0.store(self.get().wrapping_add(1), Ordering::Relaxed);
    }

    /// One fewer.
    pub fn down(&self) {
        self.0.store(self.get().wrapping_sub(1), Ordering::Relaxed);
    }
}

/// Bytes with one writer.
#[derive(Debug, Default)]
pub struct Bytes(AtomicU64);

impl Bytes {
    /// Reads.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// A part of the sum was `before` and is `after`.
    pub fn change(&self, before: usize, after: usize) {
        let sum = self.get().wrapping_add(after as u64).wrapping_sub(before as u64);
        self.0.store(sum, Ordering::Relaxed);
    }
}

/// One worker's numbers.
#[derive(Debug, Default)]
pub struct Census {
    /// Client connections.
    pub connections: Gauge,
    /// Exchanges and `tcp` connections under way.
    pub exchanges: Gauge,
    /// Of those, tunnels.
    pub tunnels: Gauge,
    /// Client connections without an exchange.
    pub idle: Gauge,
    /// Bytes kept by us for receivers that do not take them.
    pub held: Bytes,
    /// Bytes that wait in pipes of the kernel.
    pub piped: Bytes,
}

/// An exchange under way.
pub struct OpenExchange {
    census: Arc<Census>,
    live: Arc<ServiceLive>,
}

/// One of the plain gauges being up.
pub struct Up(Arc<Census>, fn(&Census) -> &Gauge);

/// A handle that the worker keeps.
#[derive(Clone, Debug, Default)]
pub struct Counting(pub Arc<Census>);

impl Counting {
    /// Counts an exchange.
    pub fn exchange(&self, view: &ServiceView) -> OpenExchange {
        self.0.exchanges.up();
        view.live.in_flight.up();
        OpenExchange { census: self.0.clone(), live: view.live.clone() }
    }

    /// Counts a tunnel.
    pub fn tunnel(&self) -> Up {
        self.0.tunnels.up();
        Up(self.0.clone(), |census| &census.tunnels)
    }

    /// Counts a connection that waits for a request.
    pub fn idle(&self) -> Up {
        self.0.idle.up();
        Up(self.0.clone(), |census| &census.idle)
    }
}

impl Drop for OpenExchange {
    fn drop(&mut self) {
        self.census.exchanges.down();
        self.live.in_flight.down();
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        (self.1)(&self.0).down();
    }
}
