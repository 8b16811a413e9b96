//! Drives one HTTP/2 connection to a server: moves its bytes, pings a silent server, and closes the connection when it is
//! idle.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use model::stats::ServerStats;
use wire::http2::ErrorCode;

use super::connection::Http2Connection;
use super::transport::Http2Transport;
use crate::conn::stream::ProxyStream;
use crate::conn::upstream_connection::UpstreamGuard;
use crate::rt::{NetDriver, WorkerRuntime};

/// Time for a server to send anything after a PING.
/// As the default of gRPC (GRPC_ARG_KEEPALIVE_TIMEOUT_MS).
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Time for the last frames.
/// A round trip and a retransmission fit; a server that does not read loses only a GOAWAY.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The options of a driver.
pub struct Http2DriverOptions {
    /// Silence before a PING is sent; `None`: no PING.
    pub ping: Option<Duration>,
    /// How long a connection without streams is kept.
    pub idle: Duration,
    pub stats: Arc<ServerStats>,
    /// The worker's slot in the statistics.
    pub worker: usize,
}

struct Http2Driver<N: NetDriver> {
    rt: Rc<WorkerRuntime<N>>,
    transport: Http2Transport<N>,
    connection: Rc<Http2Connection<N>>,
    options: Http2DriverOptions,
    idle_since: MonotonicTime,
    dead_at: MonotonicTime,
    /// Only output is left to be sent.
    finished: bool,
}

/// Drives a connection to its end. `_guard` counts it until then.
pub async fn drive<N: NetDriver>(
    rt: Rc<WorkerRuntime<N>>,
    connection: Rc<Http2Connection<N>>,
    stream: ProxyStream<N>,
    options: Http2DriverOptions,
    _guard: Option<UpstreamGuard>,
) {
    stream.attach_current_task();
    connection.attach_driver();
    let transport = Http2Transport::new(stream, &connection, Vec::new());
    let idle_since = rt.now();
    let dead_at = MonotonicTime::NEVER;
    let mut driver =
        Http2Driver { rt, transport, connection, options, idle_since, dead_at, finished: false };
    std::future::poll_fn(|_| driver.turn()).await;
    let Http2Driver { rt, transport, connection, .. } = driver;
    // Notifies the remaining streams that the connection has ended.
    connection.end();
    transport.stream().finish(rt.now() + CLOSE_TIMEOUT).await;
}

impl<N: NetDriver> Http2Driver<N> {
    /// Does everything that is possible now; `Ready`: the connection has ended.
    fn turn(&mut self) -> Poll<()> {
        let now = self.rt.now();
        self.transport.begin_turn();
        self.receive(now);
        self.check_pings(now);
        self.check_idle(now);
        if self.connection.machine().has_output() {
            let read_sum = || self.rt.net.run_delay_ns();
            let held = self.rt.run_delay.held_until(self.rt.update_now(), read_sum);
            self.connection.flush_delay.begin_flush(held);
        }
        let flushed = self.transport.flush(&self.connection);
        // Streams whose output was taken may send more.
        self.handle_events();
        if self.connection.machine().is_failed() {
            self.finish(now);
        }
        match flushed {
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Ready(Ok(())) if self.finished => return Poll::Ready(()),
            _ => {}
        }
        if now >= self.dead_at {
            return Poll::Ready(());
        }
        if self.transport.wants_turn(&self.connection)
            && let Some(me) = self.rt.current()
        {
            self.rt.wake(me);
        }
        self.rt.wake_at(self.dead_at);
        Poll::Pending
    }

    fn receive(&mut self, now: MonotonicTime) {
        while let Some(bytes) = self.transport.read(&self.connection) {
            self.connection.receive(bytes);
            self.handle_events();
        }
        if self.transport.has_ended() && !self.finished {
            self.connection.end();
            self.finish(now);
        }
    }

    /// Passes the machine's events to the streams. A server opens none.
    fn handle_events(&self) {
        while self.connection.next_request().is_some() {}
    }

    /// Only what is queued is sent from now on.
    fn finish(&mut self, now: MonotonicTime) {
        if !std::mem::replace(&mut self.finished, true) {
            self.connection.closing.set(true);
            self.dead_at = self.dead_at.min(now + CLOSE_TIMEOUT);
        }
    }

    /// Sends PINGs, both for window sizing and to check that the server is alive.
    fn check_pings(&mut self, now: MonotonicTime) {
        let last = self.connection.last_received.get();
        let silent_at = self.options.ping.map_or(MonotonicTime::NEVER, |ping| last + ping);
        self.connection.send_ping(now >= silent_at);
        match self.connection.pinged_at() {
            Some(since) if now >= since + PING_TIMEOUT && last <= since => self.dead_at = now,
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
        let until = self.idle_since + self.options.idle;
        if now >= until && !self.connection.closing.replace(true) {
            self.options.stats.slots[self.options.worker].counters.retired.add(1);
        }
        if !self.connection.closing.get() {
            return self.rt.wake_at(until);
        }
        if !self.finished {
            self.connection.machine().abort(ErrorCode::NO_ERROR);
            self.finish(now);
        }
    }
}
