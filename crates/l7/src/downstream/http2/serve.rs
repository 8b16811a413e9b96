//! A client's HTTP/2 connection: accepts streams, enforces limits, and shuts down gracefully.
//!
//! Each request has its own task (`request`). Graceful shutdown takes two steps (RFC 9113 §6.8): a GOAWAY that
//! announces the end, and after a round trip a GOAWAY with the last stream.

mod account;
mod refusal_counters;

use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Ping, PingPong, Reason, RecvStream};
use model::admission::AdmissionPhase;
use model::cause::Cause;
use model::config::ClientHttp2;
use model::monotonic_time::MonotonicTime;
use model::snapshot::ServiceView;
use wire::http1::Defect;

use account::record_refused;

use crate::accounting::gauges::GaugeGuard;
use crate::conn::client_peer::ClientPeer;
use crate::conn::http2::bdp_estimator::BdpEstimator;
use crate::conn::http2::connection::{Http2Connection, OpenStream};
use crate::conn::http2::transport::{Http2Transport, Http2Wire};
use crate::conn::stream::{ProxyStream, TlsContext};
use crate::downstream::http2::request::{self, Http2Request};
use crate::exchange::local_reply;
use crate::rt::NetDriver;
use crate::servers::worker_state::LocalService;
use crate::worker::Worker;
use crate::worker::admission::OpenConnection;

/// The client connection preface (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Time for the last frames.
/// Two retransmissions fit (1 + 2 s).
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for the last frames of exchanges that the drain timeout has reset.
/// The exchanges were cut, so the client gets only the reason; a shutdown must not wait for it.
const CUT_CLOSE_TIMEOUT: Duration = Duration::from_millis(200);

/// The library counts 32 bytes for each field in addition to its text (RFC 9113 §6.5.2).
const PER_FIELD: u32 = 32;

/// Most reset streams that the library remembers, to ignore frames that were in flight.
/// As many streams as a client may have open by default.
const MAX_RESET_STREAMS: usize = 100;

struct Http2ServerSession<N: NetDriver> {
    worker: Rc<Worker<N>>,
    service: Rc<LocalService<N>>,
    client_peer: Rc<ClientPeer>,
    wire: Rc<Http2Wire<N>>,
    connection: Rc<Http2Connection>,
    open: OpenConnection,
    conn: Connection<Http2Transport<N>, Bytes>,
    pings: Option<PingPong>,
    waker: Waker,
    tls: Rc<Option<TlsContext>>,
    /// When the connection reaches its maximum age.
    max_age_at: MonotonicTime,
    /// Since when no stream is open.
    idle_since: MonotonicTime,
    idle: Option<GaugeGuard>,
    goaway_sent: bool,
    /// When the connection is closed regardless of open streams.
    dead_at: MonotonicTime,
    /// When a connection without streams that accepts no more is closed. Its client may still have to acknowledge
    /// frames.
    rest_until: MonotonicTime,
    /// The library has finished; only gathered bytes are left to be sent.
    finished: bool,
    /// A flood limit was exceeded, and this is recorded.
    flooded: bool,
}

/// Serves a connection that starts with the preface; `early` was already read from it.
pub async fn serve<N: NetDriver>(
    worker: Rc<Worker<N>>,
    client: ProxyStream<N>,
    client_peer: Rc<ClientPeer>,
    service: Rc<LocalService<N>>,
    early: Vec<u8>,
    open: OpenConnection,
) {
    let view = service.view.borrow().clone();
    let http2 = &view.config.http2;
    let now = worker.rt.now();
    let link = Rc::new(Http2Connection::new(
        Some(http2.flood),
        BdpEstimator::new(http2.window, http2.window_most),
        now,
    ));
    let tls = Rc::new(client.tls_context());
    let wire = Http2Wire::new(client, link.clone(), early);
    let waker = worker.rt.waker();
    open.set_phase(AdmissionPhase::Fresh, now);
    let conn = match read_preface(&worker, &view, &wire, &link, &open, &waker).await {
        Ok(conn) => conn,
        Err(None) if open.is_evicted() => return,
        Err(None) => {
            view.stats.slots[worker.index].counters.idle_closed.add(1);
            return;
        }
        Err(Some((cause, detail))) => {
            return record_refused(&worker, &view, client_peer.peer, cause, detail);
        }
    };
    view.stats.slots[worker.index].counters.http2_connections.add(1);
    let mut serving = Http2ServerSession {
        max_age_at: max_age_at(http2, &worker, now),
        idle_since: worker.rt.now(),
        idle: Some(worker.gauges.count_idle()),
        worker,
        service,
        client_peer,
        wire,
        connection: link,
        open,
        conn,
        pings: None,
        waker,
        tls,
        goaway_sent: false,
        dead_at: MonotonicTime::NEVER,
        rest_until: MonotonicTime::NEVER,
        finished: false,
        flooded: false,
    };
    serving.pings = serving.conn.ping_pong();
    std::future::poll_fn(|_| serving.turn()).await;
    let Http2ServerSession { worker, wire, conn, .. } = serving;
    // Notifies the remaining streams that the connection has ended.
    drop(conn);
    if let Ok(wire) = Rc::try_unwrap(wire) {
        // Unread bytes from the client must not cause a reset that discards the last frames.
        local_reply::linger(&worker, wire.stream).await;
    }
}

/// The configured age plus or minus up to 10 %, so that connections opened together do not close together.
fn max_age_at<N: NetDriver>(
    http2: &ClientHttp2,
    worker: &Worker<N>,
    now: MonotonicTime,
) -> MonotonicTime {
    let Some(age) = http2.age else { return MonotonicTime::NEVER };
    let tenth = (age.as_nanos() / 10) as u64;
    let more = worker.rng.borrow_mut().below(2 * tenth + 1);
    now + age - Duration::from_nanos(tenth) + Duration::from_nanos(more)
}

/// Why no preface arrived; `None`: the client sent nothing.
type PrefaceFailure = Option<(Cause, Option<&'static str>)>;

/// Waits for the client connection preface.
async fn read_preface<N: NetDriver>(
    worker: &Worker<N>,
    view: &ServiceView,
    wire: &Rc<Http2Wire<N>>,
    link: &Rc<Http2Connection>,
    open: &OpenConnection,
    waker: &Waker,
) -> Result<Connection<Http2Transport<N>, Bytes>, PrefaceFailure> {
    let http2 = &view.config.http2;
    let limit = &view.config.limit;
    let mut builder = Builder::new();
    builder
        .initial_window_size(http2.window)
        .initial_connection_window_size(link.bdp.borrow().connection_window())
        .max_concurrent_streams(http2.streams)
        // Larger than the configured limit, so that the exchange can reject such a head with the limit's name.
        .max_header_list_size(limit.header_bytes * 2 + u32::from(limit.header_count) * PER_FIELD)
        .max_send_buffer_size(http2.send_buffer as usize)
        .max_concurrent_reset_streams(MAX_RESET_STREAMS)
        .max_pending_accept_reset_streams(http2.flood.resets as usize)
        // Resets are counted here, by name; one turn reads a bounded number of them.
        .max_local_error_reset_streams(None)
        .enable_connect_protocol();
    let mut handshake = pin!(builder.handshake::<_, Bytes>(wire.transport()));
    let until = worker.rt.now() + view.config.timeout.header;
    std::future::poll_fn(|_| {
        link.set_now(worker.rt.now());
        wire.begin_turn();
        let polled = handshake.as_mut().poll(&mut Context::from_waker(waker));
        let flushed = wire.flush();
        let silent = link.is_silent();
        if let Poll::Ready(conn) = polled {
            let defect = Defect::Http2Protocol;
            let broken = (Cause::BadRequest, Some(defect.name()));
            return Poll::Ready(conn.map_err(|_| (!silent).then_some(broken)));
        }
        if open.is_evicted() || worker.rt.now() >= until || matches!(flushed, Poll::Ready(Err(_))) {
            let late = (Cause::ClientHeaderTimeout, None);
            return Poll::Ready(Err((!silent).then_some(late)));
        }
        worker.rt.wake_at(until);
        Poll::Pending
    })
    .await
}

impl<N: NetDriver> Http2ServerSession<N> {
    /// Does everything that is possible now; `Ready`: the connection has ended.
    fn turn(&mut self) -> Poll<()> {
        let now = self.worker.rt.now();
        self.connection.set_now(now);
        self.wire.begin_turn();
        self.advance();
        self.check_limits(now);
        // Sends what was queued meanwhile in this turn too.
        self.advance();
        self.count_library_refusals();
        match self.wire.flush() {
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Ready(Ok(())) if self.finished => return Poll::Ready(()),
            _ => {}
        }
        let gone_at = self.dead_at.min(self.rest_until);
        if now >= gone_at {
            return Poll::Ready(());
        }
        if self.wire.wants_turn()
            && let Some(me) = self.worker.rt.current()
        {
            self.worker.rt.wake(me);
        }
        self.worker.rt.wake_at(gone_at);
        Poll::Pending
    }

    /// Polls the library and accepts new streams.
    fn advance(&mut self) {
        if self.finished {
            return;
        }
        let waker = self.waker.clone();
        let mut cx = Context::from_waker(&waker);
        loop {
            match self.conn.poll_accept(&mut cx) {
                Poll::Ready(Some(Ok((request, respond)))) => self.begin(request, respond),
                Poll::Ready(Some(Err(_)) | None) => {
                    self.finished = true;
                    self.dead_at = self.dead_at.min(self.worker.rt.now() + CLOSE_TIMEOUT);
                    return;
                }
                Poll::Pending => break,
            }
        }
        self.update_windows(&mut cx);
    }

    fn begin(&mut self, request: http::Request<RecvStream>, respond: SendResponse<Bytes>) {
        let asked = Http2Request {
            request,
            respond,
            open: OpenStream::enter(&self.connection),
            client_peer: self.client_peer.clone(),
            tls: self.tls.clone(),
        };
        if self.idle.take().is_some() {
            self.open.set_phase(AdmissionPhase::Busy, self.worker.rt.now());
        }
        let worker = self.worker.clone();
        let service = self.service.clone();
        self.worker.rt.spawn(request::serve(worker, service, asked));
    }

    /// Adapts the window sizes to the bandwidth-delay product.
    fn update_windows(&mut self, cx: &mut Context<'_>) {
        let Some(pings) = &mut self.pings else { return };
        let mut bdp = self.connection.bdp.borrow_mut();
        if let Poll::Ready(Ok(_)) = pings.poll_pong(cx)
            && let Some(window) = bdp.pong_received()
        {
            self.conn.set_target_window_size(bdp.connection_window());
            // This fails only while an earlier change is unacknowledged; the next sample tries again.
            let _ = self.conn.set_initial_window_size(window);
        }
        if bdp.wants_ping() && pings.send_ping(Ping::opaque()).is_ok() {
            bdp.ping_sent();
        }
    }

    /// Checks limits, deadlines, shutdown and eviction.
    fn check_limits(&mut self, now: MonotonicTime) {
        if let Some(flood) = self.connection.limit_reached()
            && !std::mem::replace(&mut self.flooded, true)
        {
            self.count_flood(flood.0);
            return self.abort(
                now,
                Reason::ENHANCE_YOUR_CALM,
                Cause::Http2Flood,
                Some(flood.name()),
            );
        }
        let view = self.service.view.borrow().clone();
        let timeout = &view.config.timeout;
        let unfinished = self.connection.unfinished_since.get();
        if unfinished != MonotonicTime::NEVER && self.dead_at == MonotonicTime::NEVER {
            let until = unfinished + timeout.header;
            if now >= until {
                return self.abort(now, Reason::NO_ERROR, Cause::ClientHeaderTimeout, None);
            }
            self.worker.rt.wake_at(until);
        }
        self.check_shutdown(now);
        if self.open.is_evicted() && !self.goaway_sent {
            self.send_goaway();
        }
        if self.connection.open.get() > 0 {
            self.idle_since = now;
            self.rest_until = MonotonicTime::NEVER;
            return;
        }
        if self.idle.is_none() {
            self.idle = Some(self.worker.gauges.count_idle());
            self.open.set_phase(AdmissionPhase::Idle, now);
        }
        let fresh = self.connection.streams.get() == 0;
        let until = self.idle_since + if fresh { timeout.header } else { timeout.idle };
        if self.goaway_sent {
            // An evicted connection closes at once: another client already has its slot.
            let parting = if self.open.is_evicted() { Duration::ZERO } else { CLOSE_TIMEOUT };
            self.rest_until = self.rest_until.min(now + parting);
        } else if now >= until {
            view.stats.slots[self.worker.index].counters.idle_closed.add(1);
            self.send_goaway();
            self.rest_until = now + CLOSE_TIMEOUT;
        } else {
            self.worker.rt.wake_at(until);
        }
    }

    /// Starts the shutdown when the worker drains, the service is removed, or the connection is too old.
    fn check_shutdown(&mut self, now: MonotonicTime) {
        let ending = self.worker.draining.get() || self.service.removed.get();
        let cut_at = self.service.cut_at.get();
        if ending && !self.goaway_sent {
            self.send_goaway();
        }
        if ending {
            // Exchanges end at the drain timeout by themselves. Their last frames get a little more time.
            self.dead_at = self.dead_at.min(cut_at + CUT_CLOSE_TIMEOUT);
        }
        if now >= self.max_age_at && !self.goaway_sent {
            let view = self.service.view.borrow().clone();
            view.stats.slots[self.worker.index].counters.http2_aged.add(1);
            self.send_goaway();
        }
        if !self.goaway_sent {
            self.worker.rt.wake_at(self.max_age_at);
        }
    }

    fn send_goaway(&mut self) {
        self.goaway_sent = true;
        self.connection.closing.set(true);
        self.conn.graceful_shutdown();
    }

    /// Closes the connection at once, and records the client's violation.
    fn abort(
        &mut self,
        now: MonotonicTime,
        reason: Reason,
        cause: Cause,
        detail: Option<&'static str>,
    ) {
        self.goaway_sent = true;
        self.connection.closing.set(true);
        self.dead_at = now + CLOSE_TIMEOUT;
        self.conn.abrupt_shutdown(reason);
        self.record_refused(cause, detail);
    }
}
