//! HTTP/2 connections of one worker to one server.
//!
//! A task for each connection drives it, pings a silent server, sizes the windows, and closes the connection when it is
//! idle. The caller chooses the server and handles failures.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use h2::{Ping, PingPong};
use model::config::{ServerEndpoint, ServerHttp2};
use model::monotonic_time::MonotonicTime;
use model::stats::ServerStats;

use super::bdp_estimator::BdpEstimator;
use super::connection::{Http2Connection, OpenStream};
use super::transport::{Http2Transport, Http2Wire};
use super::upstream_stream::Http2UpstreamStream;
use crate::conn::stream::ProxyStream;
use crate::conn::upstream_connection::{UpstreamConnection, UpstreamGuard};
use crate::rt::{NetDriver, TaskId, WorkerRuntime};

/// Time for a server to send anything after a PING.
/// As the default of gRPC (GRPC_ARG_KEEPALIVE_TIMEOUT_MS).
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Time for the last frames.
/// A round trip and a retransmission fit; a server that does not read loses only a GOAWAY.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Most bytes of one request that are buffered for the server.
/// As much of a body as one window of HTTP/2's initial size.
const SEND_BUFFER: usize = 64 * 1024;

/// The library counts 32 bytes for each field in addition to its text (RFC 9113 §6.5.2).
const PER_FIELD: u32 = 32;

/// The connections to one server.
#[derive(Default)]
pub struct Http2ConnectionPool {
    entries: RefCell<Vec<Rc<Http2PoolEntry>>>,
    /// Connections being established that requests may wait for.
    connecting: Cell<u32>,
    waiting_tasks: RefCell<Vec<TaskId>>,
    /// The server chose HTTP/1.1 at the last handshake.
    plain: Cell<bool>,
}

struct Http2PoolEntry {
    connection: Rc<Http2Connection>,
    send: RefCell<Option<SendRequest<Bytes>>>,
    to: ServerEndpoint,
    secure: bool,
    most: usize,
    task: Cell<Option<TaskId>>,
}

/// The options of a new connection.
pub struct Http2ConnectOptions<'a> {
    pub http2: &'a ServerHttp2,
    /// Most bytes of a response head.
    pub head_bytes: u32,
    /// Most fields of a response head.
    pub head_fields: u16,
    /// The idle timeout.
    pub idle: Duration,
    pub stats: Arc<ServerStats>,
    /// The worker's slot in the statistics.
    pub worker: usize,
}

/// A connection that is being established, which several requests may wait for.
pub struct PendingHttp2Connection<'a, N: NetDriver>(&'a Http2ConnectionPool, &'a WorkerRuntime<N>);

impl Http2ConnectionPool {
    /// Opens a stream on a connection with a free slot. `extended`: only on a connection that allows WebSockets.
    pub fn open<N: NetDriver>(
        &self,
        rt: &Rc<WorkerRuntime<N>>,
        extended: bool,
    ) -> Option<UpstreamConnection<N>> {
        let entries = self.entries.borrow();
        // The fullest connection with a free slot is used, so that the others may become idle and close.
        let entry = entries.iter().filter(|entry| entry.has_room(extended));
        let entry = entry.max_by_key(|entry| entry.connection.open.get())?;
        let send = entry.send.borrow().clone()?;
        let open = OpenStream::enter(&entry.connection);
        let asking = Http2UpstreamStream::new(rt.waker(), open, send, entry.secure);
        Some(UpstreamConnection::from_multiplexed(
            ProxyStream::from_multiplexed(rt, Box::new(asking)),
            entry.to.clone(),
        ))
    }

    /// Adds `upstream` to the pool.
    ///
    /// # Errors
    /// The library's error. `add` does not wait for anything from the server.
    pub async fn add<N: NetDriver>(
        &self,
        rt: &Rc<WorkerRuntime<N>>,
        upstream: UpstreamConnection<N>,
        terms: Http2ConnectOptions<'_>,
    ) -> Result<(), h2::Error> {
        let UpstreamConnection { stream, address: to, guard: counted, .. } = upstream;
        let http2 = terms.http2;
        let bdp = BdpEstimator::new(http2.window, http2.window_most);
        let link = Rc::new(Http2Connection::new(None, bdp, rt.now()));
        let secure = stream.is_tls();
        let wire = Http2Wire::new(stream, link.clone(), Vec::new());
        let whole = link.bdp.borrow().connection_window();
        let (send, conn) = Builder::new()
            .initial_window_size(http2.window)
            .initial_connection_window_size(whole)
            .max_header_list_size(terms.head_bytes * 2 + u32::from(terms.head_fields) * PER_FIELD)
            .max_send_buffer_size(SEND_BUFFER)
            .enable_push(false)
            .handshake::<_, Bytes>(wire.transport())
            .await?;
        let entry = Rc::new(Http2PoolEntry {
            connection: link.clone(),
            send: RefCell::new(Some(send)),
            to,
            secure,
            most: http2.streams as usize,
            task: Cell::new(None),
        });
        let driver = Http2Driver {
            rt: rt.clone(),
            wire,
            connection: link,
            entry: entry.clone(),
            conn,
            pings: None,
            pinged_at: None,
            waker: Waker::noop().clone(),
            ping: http2.ping,
            idle: terms.idle,
            idle_since: rt.now(),
            dead_at: MonotonicTime::NEVER,
            finished: false,
            stats: terms.stats,
            worker: terms.worker,
        };
        let task = rt.spawn(drive(driver, counted));
        entry.task.set(Some(task));
        self.entries.borrow_mut().push(entry);
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// Removes connections that accept no more streams. They end when their last stream has ended.
    pub fn sweep<N: NetDriver>(&self, rt: &WorkerRuntime<N>) {
        self.entries.borrow_mut().retain(|entry| {
            let closing = entry.connection.closing.get();
            if closing && let Some(task) = entry.task.get() {
                rt.wake(task);
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
    pub fn begin_connecting<'a, N: NetDriver>(
        &'a self,
        rt: &'a WorkerRuntime<N>,
    ) -> PendingHttp2Connection<'a, N> {
        self.connecting.set(self.connecting.get() + 1);
        PendingHttp2Connection(self, rt)
    }

    /// Waits until a connection was established or failed, or until `until`.
    pub async fn wait<N: NetDriver>(&self, rt: &WorkerRuntime<N>, until: MonotonicTime) {
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

impl Http2PoolEntry {
    fn has_room(&self, extended: bool) -> bool {
        let send = self.send.borrow();
        let Some(send) = send.as_ref() else { return false };
        let most = self.most.min(send.current_max_send_streams());
        !self.connection.closing.get()
            && (self.connection.open.get() as usize) < most
            && (!extended || send.is_extended_connect_protocol_enabled())
    }
}

struct Http2Driver<N: NetDriver> {
    rt: Rc<WorkerRuntime<N>>,
    wire: Rc<Http2Wire<N>>,
    connection: Rc<Http2Connection>,
    entry: Rc<Http2PoolEntry>,
    conn: Connection<Http2Transport<N>, Bytes>,
    pings: Option<PingPong>,
    /// When the unanswered PING was sent.
    pinged_at: Option<MonotonicTime>,
    waker: Waker,
    ping: Option<Duration>,
    idle: Duration,
    idle_since: MonotonicTime,
    dead_at: MonotonicTime,
    /// The library has finished; only gathered bytes are left to be sent.
    finished: bool,
    stats: Arc<ServerStats>,
    /// The worker's slot in the statistics.
    worker: usize,
}

async fn drive<N: NetDriver>(mut driver: Http2Driver<N>, _counted: Option<UpstreamGuard>) {
    driver.wire.stream.attach_current_task();
    driver.waker = driver.rt.waker();
    driver.pings = driver.conn.ping_pong();
    std::future::poll_fn(|_| driver.turn()).await;
    driver.connection.closing.set(true);
    *driver.entry.send.borrow_mut() = None;
    let Http2Driver { rt, wire, conn, .. } = driver;
    // Notifies the remaining streams that the connection has ended.
    drop(conn);
    wire.stream.finish(rt.now() + CLOSE_TIMEOUT).await;
}

impl<N: NetDriver> Http2Driver<N> {
    /// Does everything that is possible now; `Ready`: the connection has ended.
    fn turn(&mut self) -> Poll<()> {
        let now = self.rt.now();
        self.connection.set_now(now);
        self.wire.begin_turn();
        self.advance();
        self.send_pings(now);
        self.check_idle(now);
        // Sends the requests that were written meanwhile in this turn too.
        self.advance();
        match self.wire.flush() {
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Ready(Ok(())) if self.finished => return Poll::Ready(()),
            _ => {}
        }
        if now >= self.dead_at {
            return Poll::Ready(());
        }
        if self.wire.wants_turn()
            && let Some(me) = self.rt.current()
        {
            self.rt.wake(me);
        }
        self.rt.wake_at(self.dead_at);
        Poll::Pending
    }

    /// Polls the library.
    fn advance(&mut self) {
        if !self.finished
            && Pin::new(&mut self.conn).poll(&mut Context::from_waker(&self.waker)).is_ready()
        {
            self.finished = true;
            self.connection.closing.set(true);
            self.dead_at = self.dead_at.min(self.rt.now() + CLOSE_TIMEOUT);
        }
    }

    /// Sends PINGs, both for window sizing and to check that the server is alive.
    fn send_pings(&mut self, now: MonotonicTime) {
        let Some(pings) = &mut self.pings else { return };
        let mut bdp = self.connection.bdp.borrow_mut();
        if let Poll::Ready(Ok(_)) = pings.poll_pong(&mut Context::from_waker(&self.waker)) {
            self.pinged_at = None;
            if let Some(window) = bdp.pong_received() {
                self.conn.set_target_window_size(bdp.connection_window());
                // This fails only while an earlier change is unacknowledged; the next sample tries again.
                let _ = self.conn.set_initial_window_size(window);
            }
        }
        let silent_at = self
            .ping
            .map_or(MonotonicTime::NEVER, |ping| self.connection.last_received.get() + ping);
        let wanted = bdp.wants_ping();
        if self.pinged_at.is_none()
            && (wanted || now >= silent_at)
            && pings.send_ping(Ping::opaque()).is_ok()
        {
            self.pinged_at = Some(now);
            if wanted {
                bdp.ping_sent();
            }
        }
        match self.pinged_at {
            Some(since)
                if now >= since + PING_TIMEOUT && self.connection.last_received.get() <= since =>
            {
                self.dead_at = now
            }
            Some(since) => self.rt.wake_at(since + PING_TIMEOUT),
            None => self.rt.wake_at(silent_at),
        }
    }

    /// Closes a connection without open streams when it is idle for too long or accepts no more streams.
    fn check_idle(&mut self, now: MonotonicTime) {
        if self.connection.open.get() > 0 {
            self.idle_since = now;
            return;
        }
        let until = self.idle_since + self.idle;
        if now >= until && !self.connection.closing.replace(true) {
            self.stats.slots[self.worker].counters.retired.add(1);
        }
        if self.connection.closing.get() {
            // Without this handle and without streams, the library ends the connection.
            *self.entry.send.borrow_mut() = None;
            self.dead_at = self.dead_at.min(now + CLOSE_TIMEOUT);
        } else {
            self.rt.wake_at(until);
        }
    }
}
