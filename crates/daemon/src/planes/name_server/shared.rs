//! What the threads of the name server share: the newest zone data, the counters, and the state of the sockets.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use names::counts::DnsCounters;
use names::zone_data::ZoneData;
use rustix::time::{ClockId, clock_gettime};

/// The end of the threads takes no longer.
/// Threads check for the end at least once a second.
pub const LAST: Duration = Duration::from_secs(2);

/// State that the threads share.
#[derive(Debug, Default)]
pub struct NameServerState {
    zone_data: Mutex<Option<Arc<ZoneData>>>,
    version: AtomicU64,
    sockets: Mutex<BTreeMap<SocketAddr, Result<(), String>>>,
    pub counts: DnsCounters,
    pub tcp: DnsTcpCounts,
}

#[derive(Debug, Default)]
pub struct DnsTcpCounts {
    pub accepted: AtomicU64,
    /// Closed at once: as many as there may be were open.
    pub full: AtomicU64,
    /// Closed at once: as many as one client may have were open.
    pub client_limit_reached: AtomicU64,
    /// Closed because no complete query arrived, or no answer could be sent, in time.
    pub idle: AtomicU64,
    /// Closed because a message was longer than any query is.
    pub long: AtomicU64,
    pub open: AtomicU64,
}

impl DnsTcpCounts {
    /// All that only rise, by name.
    pub fn totals(&self) -> [(&'static str, u64); 5] {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            ("accepted", read(&self.accepted)),
            ("refused-full", read(&self.full)),
            ("refused-client", read(&self.client_limit_reached)),
            ("ended-idle", read(&self.idle)),
            ("ended-long-message", read(&self.long)),
        ]
    }
}

impl NameServerState {
    /// Publishes new zone data.
    pub fn publish_zone_data(&self, book: Arc<ZoneData>) {
        *lock(&self.zone_data) = Some(book);
        // Counted after the data is in place. Release pairs with the Acquire load of `ZoneDataReader`.
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The active zone data; `None`: names have never been served.
    pub fn zone_data(&self) -> Option<Arc<ZoneData>> {
        lock(&self.zone_data).clone()
    }

    /// How the sockets stand: each address, or why it is not had.
    pub fn sockets(&self) -> BTreeMap<SocketAddr, Result<(), String>> {
        lock(&self.sockets).clone()
    }

    /// Publishes the state of the sockets.
    pub fn set_sockets(&self, sockets: BTreeMap<SocketAddr, Result<(), String>>) {
        *lock(&self.sockets) = sockets;
    }
}

/// A thread's reference to the newest zone data. The check for newer data costs one atomic load.
#[derive(Debug)]
pub struct ZoneDataReader {
    state: Arc<NameServerState>,
    version: u64,
    zone_data: Option<Arc<ZoneData>>,
}

impl ZoneDataReader {
    pub fn new(shared: &Arc<NameServerState>) -> ZoneDataReader {
        ZoneDataReader { state: Arc::clone(shared), version: 0, zone_data: None }
    }

    #[inline]
    pub fn zone_data(&mut self) -> Option<&Arc<ZoneData>> {
        // The version spares the lock for every query: workers lock only when the data has changed.
        let version = self.state.version.load(Ordering::Acquire);
        if version != self.version {
            (self.version, self.zone_data) = (version, self.state.zone_data());
        }
        self.zone_data.as_ref()
    }
}

/// One moment by both clocks that answers need.
#[derive(Clone, Copy, Debug)]
pub struct DnsClockReading {
    pub now: MonotonicTime,
    /// The wall clock for DNS cookies, modulo 2^32.
    pub unix_seconds: u32,
}

/// The time by the monotonic clock, and by the wall clock for DNS cookies.
pub fn clock_now() -> DnsClockReading {
    let time = clock_gettime(ClockId::Monotonic);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    let now = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000) + nanos;
    let wall = clock_gettime(ClockId::Realtime).tv_sec;
    // Cookies count in a circle of 32 bits (RFC 9018 §4.3).
    let unix_seconds = (wall & i64::from(u32::MAX)) as u32;
    DnsClockReading { now: MonotonicTime(now), unix_seconds }
}

/// A thread that panicked while it held a lock left a whole value behind: each is replaced at once.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
