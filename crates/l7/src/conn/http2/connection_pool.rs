//! HTTP/2 connections of one worker to one server.
//!
//! A task for each connection drives it (`upstream_driver`). The caller chooses the server and handles failures.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use model::config::{ServerEndpoint, ServerHttp2};
use model::monotonic_time::MonotonicTime;
use model::stats::ServerStats;
use wire::http2::{AbuseLimits, Http2Machine, MachineLimits};

use super::bdp_estimator::BdpEstimator;
use super::connection::{Http2Connection, OpenStream};
use super::upstream_driver::{Http2DriverOptions, drive};
use super::upstream_stream::Http2UpstreamStream;
use crate::conn::stream::ProxyStream;
use crate::conn::upstream_connection::UpstreamConnection;
use crate::rt::{NetDriver, TaskId, WorkerRuntime};

/// Most bytes of one request that are buffered for the server.
/// As much of a body as one window of HTTP/2's initial size.
const SEND_BUFFER: usize = 64 * 1024;

/// Each field counts 32 bytes in addition to its text (RFC 9113 §6.5.2).
const PER_FIELD: u32 = 32;

/// The connections to one server.
pub struct Http2ConnectionPool<N: NetDriver> {
    entries: RefCell<Vec<Rc<Http2PoolEntry<N>>>>,
    /// Connections being established that requests may wait for.
    connecting: Cell<u32>,
    waiting_tasks: RefCell<Vec<TaskId>>,
    /// The server chose HTTP/1.1 at the last handshake.
    plain: Cell<bool>,
}

struct Http2PoolEntry<N: NetDriver> {
    connection: Rc<Http2Connection<N>>,
    to: ServerEndpoint,
    secure: bool,
    most: u32,
}

/// The options of a new connection.
pub struct Http2ConnectOptions<'a> {
    pub http2: &'a ServerHttp2,
    /// Most bytes of a response head.
    pub head_bytes: u32,
    /// Most fields of a response head.
    pub head_fields: u16,
    /// How long a connection without streams is kept.
    pub idle: Duration,
    pub stats: Arc<ServerStats>,
    /// The worker's slot in the statistics.
    pub worker: usize,
}

/// A connection that is being established, which several requests may wait for.
pub struct PendingHttp2Connection<'a, N: NetDriver>(
    &'a Http2ConnectionPool<N>,
    &'a WorkerRuntime<N>,
);

impl<N: NetDriver> Default for Http2ConnectionPool<N> {
    fn default() -> Self {
        Http2ConnectionPool {
            entries: RefCell::default(),
            connecting: Cell::default(),
            waiting_tasks: RefCell::default(),
            plain: Cell::default(),
        }
    }
}

impl<N: NetDriver> Http2ConnectionPool<N> {
    /// Opens a stream on a connection with a free slot. `extended`: only on a connection that allows WebSockets.
    pub fn open(&self, rt: &Rc<WorkerRuntime<N>>, extended: bool) -> Option<UpstreamConnection<N>> {
        let entries = self.entries.borrow();
        // The fullest connection with a free slot is used, so that the others may become idle and close.
        let entry = entries.iter().filter(|entry| entry.has_room(extended));
        let entry = entry.max_by_key(|entry| entry.connection.open.get())?;
        let open = OpenStream::begin(&entry.connection);
        let stream = Http2UpstreamStream::new(open, entry.secure);
        Some(UpstreamConnection::from_multiplexed(
            ProxyStream::from_multiplexed(rt, Box::new(stream)),
            entry.to.clone(),
        ))
    }

    /// Adds `upstream` to the pool.
    pub fn add(
        &self,
        rt: &Rc<WorkerRuntime<N>>,
        upstream: UpstreamConnection<N>,
        options: Http2ConnectOptions<'_>,
    ) {
        let UpstreamConnection { stream, address: to, guard, .. } = upstream;
        let http2 = options.http2;
        let bdp = BdpEstimator::new(http2.window, http2.window_most);
        let limits = MachineLimits {
            stream_window: http2.window,
            connection_window: bdp.connection_window(),
            concurrent_streams: 0,
            header_list_bytes: options.head_bytes * 2 + u32::from(options.head_fields) * PER_FIELD,
            send_buffer_bytes: SEND_BUFFER,
            extended_connect: false,
            abuse: AbuseLimits::NONE,
        };
        let connection = Http2Connection::new(rt, bdp, |now| Http2Machine::client(&limits, now));
        let connection = Rc::new(connection);
        let secure = stream.is_tls();
        let driver = Http2DriverOptions {
            ping: http2.ping,
            idle: options.idle,
            stats: options.stats,
            worker: options.worker,
        };
        rt.spawn(drive(rt.clone(), connection.clone(), stream, driver, guard));
        let entry = Http2PoolEntry { connection, to, secure, most: http2.streams };
        self.entries.borrow_mut().push(Rc::new(entry));
    }

    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// Removes connections that accept no more streams. They end when their last stream has ended.
    pub fn sweep(&self) {
        self.entries.borrow_mut().retain(|entry| {
            let closing = entry.connection.closing.get();
            if closing {
                entry.connection.wake_driver();
            }
            !closing
        });
    }

    /// Retires every connection: at the next sweep it is removed, and it ends after its streams.
    pub fn retire(&self) {
        for entry in self.entries.borrow().iter() {
            entry.connection.closing.set(true);
        }
    }

    /// Records whether the server chose HTTP/1.1.
    pub fn set_plain(&self, plain: bool) {
        self.plain.set(plain);
    }

    /// Whether a connection being established will have a slot for one more request, so that no other connection is
    /// needed.
    pub fn may_wait(&self, streams: u32) -> bool {
        let room = self.connecting.get().saturating_mul(streams) as usize;
        !self.plain.get() && self.waiting_tasks.borrow().len() + 1 < room
    }

    /// Announces a connection that is being established.
    pub fn begin_connecting<'a>(
        &'a self,
        rt: &'a WorkerRuntime<N>,
    ) -> PendingHttp2Connection<'a, N> {
        self.connecting.set(self.connecting.get() + 1);
        PendingHttp2Connection(self, rt)
    }

    /// Waits until a connection was established or failed, or until `until`.
    pub async fn wait(&self, rt: &WorkerRuntime<N>, until: MonotonicTime) {
        let Some(me) = rt.current() else { return };
        self.waiting_tasks.borrow_mut().push(me);
        let mut waited = false;
        std::future::poll_fn(|_| {
            if std::mem::replace(&mut waited, true) {
                return Poll::Ready(());
            }
            rt.wake_at(until);
            Poll::Pending
        })
        .await;
        self.waiting_tasks.borrow_mut().retain(|task| *task != me);
    }
}

impl<N: NetDriver> Drop for PendingHttp2Connection<'_, N> {
    fn drop(&mut self) {
        self.0.connecting.set(self.0.connecting.get() - 1);
        for task in self.0.waiting_tasks.borrow().iter() {
            self.1.wake(*task);
        }
    }
}

impl<N: NetDriver> Http2PoolEntry<N> {
    fn has_room(&self, extended: bool) -> bool {
        if self.connection.closing.get() {
            return false;
        }
        let machine = self.connection.machine();
        let most = self.most.min(machine.peer_concurrent_streams());
        self.connection.open.get() < most && (!extended || machine.allows_extended_connect())
    }
}
