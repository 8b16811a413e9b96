//! Congestion control of QUIC connections: CUBIC, except that the last packet of a connection is always sent. It also
//! counts what is in flight, which `quinn-proto` does not tell.
//!
//! A packet with only CONNECTION_CLOSE does not count as in flight (RFC 9002 §2), so no window may delay it.
//! `quinn-proto` delays it while other frames wait, and processes no acknowledgements of a closed connection. Without
//! this module, a client whose window is full would never receive the close.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use quinn_proto::congestion::{
    Controller, ControllerFactory, ControllerMetrics, Cubic, CubicConfig,
};
use quinn_proto::{Connection, RttEstimator};

/// Creates the controllers of connections.
#[derive(Default)]
pub struct ClosableControllers(Arc<CubicConfig>);

impl ControllerFactory for ClosableControllers {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let cubic = Cubic::new(self.0.clone(), now, mtu);
        Box::new(ClosableController { cubic, shared: Arc::default() })
    }
}

#[derive(Clone)]
struct ClosableController {
    cubic: Cubic,
    /// Shared with the controller's copies, one of which `quinn-proto` owns.
    shared: Arc<SharedState>,
}

#[derive(Debug, Default)]
struct SharedState {
    /// The connection is closed: its last packet is not delayed.
    closed: AtomicBool,
    in_flight: AtomicU64,
    acked: AtomicU64,
    /// Neither the window nor pacing held a packet back when the last acknowledgements came.
    unheld: AtomicBool,
}

/// What has become of the packets sent, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentBytes {
    pub acked: u64,
    /// Nothing waits for the congestion window or for pacing.
    pub is_drained: bool,
}

/// What has become of a connection's packets on its current path.
pub fn read_sent_bytes(conn: &Connection) -> SentBytes {
    let shared = find_shared_state(conn);
    shared.map_or_else(SentBytes::default, |shared| SentBytes {
        acked: shared.acked.load(Ordering::Relaxed),
        is_drained: shared.unheld.load(Ordering::Relaxed)
            || shared.in_flight.load(Ordering::Relaxed) == 0,
    })
}

fn find_shared_state(conn: &Connection) -> Option<Arc<SharedState>> {
    let copy = conn.congestion_state().clone_box().into_any();
    copy.downcast::<ClosableController>().ok().map(|controller| controller.shared)
}

/// The connection is closed: its last packet is not delayed.
pub fn release_withheld(conn: &Connection) {
    if let Some(shared) = find_shared_state(conn) {
        shared.closed.store(true, Ordering::Relaxed);
    }
}

impl Controller for ClosableController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last: u64) {
        self.shared.in_flight.fetch_add(bytes, Ordering::Relaxed);
        self.cubic.on_sent(now, bytes, last);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.shared.acked.fetch_add(bytes, Ordering::Relaxed);
        self.cubic.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        self.shared.in_flight.store(in_flight, Ordering::Relaxed);
        self.shared.unheld.store(app_limited, Ordering::Relaxed);
        self.cubic.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.cubic.on_congestion_event(now, sent, persistent, lost);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.cubic.on_mtu_update(mtu);
    }

    fn metrics(&self) -> ControllerMetrics {
        self.cubic.metrics()
    }

    fn window(&self) -> u64 {
        match self.shared.closed.load(Ordering::Relaxed) {
            // A window this large also disables pacing.
            true => u64::MAX,
            false => self.cubic.window(),
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.cubic.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
