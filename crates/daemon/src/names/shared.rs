//! What the threads of the name server share: the newest book, the counters, and how the sockets stand.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::moment::Moment;
use names::book::Book;
use names::counts::Counts;
use rustix::time::{ClockId, clock_gettime};

/// The end of the threads takes no longer.
pub const LAST: Duration = Duration::from_secs(2);

/// What the threads share.
#[derive(Debug, Default)]
pub struct Shared {
    book: Mutex<Option<Arc<Book>>>,
    version: AtomicU64,
    sockets: Mutex<BTreeMap<SocketAddr, Result<(), String>>>,
    /// Queries by what they came to.
    pub counts: Counts,
    /// Connections by what became of them.
    pub tcp: TcpCounts,
}

/// Connections over TCP.
#[derive(Debug, Default)]
pub struct TcpCounts {
    /// Taken.
    pub accepted: AtomicU64,
    /// Closed at once: as many as there may be were open.
    pub full: AtomicU64,
    /// Closed at once: as many as one client may have were open.
    pub crowded: AtomicU64,
    /// Closed because no whole query came, or no answer went, in time.
    pub idle: AtomicU64,
    /// Closed because a message was longer than any query is.
    pub long: AtomicU64,
    /// Open now.
    pub open: AtomicU64,
}

impl TcpCounts {
    /// All that only rise, by name.
    pub fn all(&self) -> [(&'static str, u64); 5] {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            ("accepted", read(&self.accepted)),
            ("refused-full", read(&self.full)),
            ("refused-client", read(&self.crowded)),
            ("ended-idle", read(&self.idle)),
            ("ended-long-message", read(&self.long)),
        ]
    }
}

impl Shared {
    /// Puts a book in force.
    pub fn publish(&self, book: Arc<Book>) {
        *lock(&self.book) = Some(book);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The book in force; `None`: names have never been served.
    pub fn book(&self) -> Option<Arc<Book>> {
        lock(&self.book).clone()
    }

    /// How the sockets stand: each address, or why it is not had.
    pub fn sockets(&self) -> BTreeMap<SocketAddr, Result<(), String>> {
        lock(&self.sockets).clone()
    }

    /// Says how they stand.
    pub fn show(&self, sockets: BTreeMap<SocketAddr, Result<(), String>>) {
        *lock(&self.sockets) = sockets;
    }
}

/// A thread's own hold of the newest book, which costs one load to keep fresh.
#[derive(Debug)]
pub struct Reader {
    shared: Arc<Shared>,
    version: u64,
    book: Option<Arc<Book>>,
}

impl Reader {
    /// One more reader.
    pub fn new(shared: &Arc<Shared>) -> Reader {
        Reader { shared: Arc::clone(shared), version: 0, book: None }
    }

    /// The newest book.
    #[inline]
    pub fn book(&mut self) -> Option<&Arc<Book>> {
        let version = self.shared.version.load(Ordering::Acquire);
        if version != self.version {
            (self.version, self.book) = (version, self.shared.book());
        }
        self.book.as_ref()
    }
}

/// Now, of the clock that never goes back, and for cookies.
pub fn now() -> (Moment, u32) {
    let time = clock_gettime(ClockId::Monotonic);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    let moment = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000) + nanos;
    let wall = clock_gettime(ClockId::Realtime).tv_sec;
    // Cookies count in a circle of 32 bits (RFC 9018 §4.3).
    (Moment(moment), (wall & i64::from(u32::MAX)) as u32)
}

/// A thread that panicked while it held a lock left a whole value behind: each is replaced at once.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
