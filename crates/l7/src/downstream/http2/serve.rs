//! A client's HTTP/2 connection: accepts streams, enforces limits, and shuts down gracefully.
//!
//! Each request has its own task (`request`). Graceful shutdown takes two steps (RFC 9113 §6.8): a GOAWAY that
//! announces the end, and after a round trip a GOAWAY with the last stream.

mod account;
mod refusal_counters;

use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use model::admission::AdmissionPhase;
use model::cause::Cause;
use model::config::{ClientHttp2, ServiceLimits};
use model::monotonic_time::MonotonicTime;
use wire::http1::Defect;
use wire::http2::{AbuseKind, AbuseLimits, ErrorCode, Http2Machine, MachineLimits};

use crate::accounting::gauges::GaugeGuard;
use crate::conn::client_peer::ClientPeer;
use crate::conn::http2::bdp_estimator::BdpEstimator;
use crate::conn::http2::connection::{Http2Arrival, Http2Connection, OpenStream};
use crate::conn::http2::transport::Http2Transport;
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

/// Each field counts 32 bytes in addition to its text (RFC 9113 §6.5.2).
const PER_FIELD: u32 = 32;

struct Http2ServerSession<N: NetDriver> {
    worker: Rc<Worker<N>>,
    service: Rc<LocalService<N>>,
    client_peer: Rc<ClientPeer>,
    transport: Http2Transport<N>,
    connection: Rc<Http2Connection<N>>,
    open: OpenConnection,
    tls: Rc<Option<TlsContext>>,
    /// When the connection reaches its maximum age.
    max_age_at: MonotonicTime,
    /// Since when no stream is open.
    idle_since: MonotonicTime,
    idle: Option<GaugeGuard>,
    /// The client's preface was complete.
    greeted: bool,
    goaway_sent: bool,
    /// When the connection is closed regardless of open streams.
    dead_at: MonotonicTime,
    /// When a connection without streams that accepts no more is closed. Its client may still have to acknowledge
    /// frames.
    rest_until: MonotonicTime,
    /// Only output is left to be sent.
    finished: bool,
    /// A refusal that ended the connection is recorded.
    refused: bool,
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
    let mut serving = Http2ServerSession::new(worker, client, client_peer, service, early, open);
    std::future::poll_fn(|_| serving.turn()).await;
    serving.record_missing_preface();
    let Http2ServerSession { worker, transport, connection, .. } = serving;
    // Notifies the remaining streams that the connection has ended.
    connection.end();
    if let Some(client) = transport.into_stream() {
        // Unread bytes from the client must not cause a reset that discards the last frames.
        local_reply::linger(&worker, client).await;
    }
}

/// The limits of a client's connection.
fn machine_limits(http2: &ClientHttp2, limit: &ServiceLimits, window: u32) -> MachineLimits {
    MachineLimits {
        stream_window: http2.window,
        connection_window: window,
        concurrent_streams: http2.streams,
        // Larger than the configured limit, so that the exchange can reject such a head with the limit's name.
        header_list_bytes: limit.header_bytes * 2 + u32::from(limit.header_count) * PER_FIELD,
        send_buffer_bytes: http2.send_buffer as usize,
        extended_connect: true,
        abuse: AbuseLimits {
            resets: http2.flood.resets,
            control_frames: http2.flood.control_frames,
            tiny_frames: http2.flood.tiny_frames,
            malformed: http2.flood.malformed,
        },
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

impl<N: NetDriver> Http2ServerSession<N> {
    fn new(
        worker: Rc<Worker<N>>,
        client: ProxyStream<N>,
        client_peer: Rc<ClientPeer>,
        service: Rc<LocalService<N>>,
        early: Vec<u8>,
        open: OpenConnection,
    ) -> Http2ServerSession<N> {
        let view = service.view.borrow().clone();
        let http2 = &view.config.http2;
        let now = worker.rt.now();
        let bdp = BdpEstimator::new(http2.window, http2.window_most);
        let limits = machine_limits(http2, &view.config.limit, bdp.connection_window());
        let connection =
            Http2Connection::new(&worker.rt, bdp, |now| Http2Machine::server(&limits, now));
        connection.attach_driver();
        let tls = Rc::new(client.tls_context());
        let transport = Http2Transport::new(client, &connection, early);
        open.set_phase(AdmissionPhase::Fresh, now);
        Http2ServerSession {
            max_age_at: max_age_at(http2, &worker, now),
            idle_since: now,
            idle: Some(worker.gauges.count_idle()),
            worker,
            service,
            client_peer,
            transport,
            connection: Rc::new(connection),
            open,
            tls,
            greeted: false,
            goaway_sent: false,
            dead_at: MonotonicTime::NEVER,
            rest_until: MonotonicTime::NEVER,
            finished: false,
            refused: false,
        }
    }

    /// Does everything that is possible now; `Ready`: the connection has ended.
    fn turn(&mut self) -> Poll<()> {
        let now = self.worker.rt.now();
        self.transport.begin_turn();
        self.receive(now);
        self.check_limits(now);
        self.connection.send_ping(false);
        let flushed = self.transport.flush(&self.connection);
        // Streams whose output was taken may send more.
        self.accept_streams();
        self.check_end(now);
        self.count_refusals();
        match flushed {
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Ready(Ok(())) if self.finished => return Poll::Ready(()),
            _ => {}
        }
        let gone_at = self.dead_at.min(self.rest_until);
        if now >= gone_at {
            return Poll::Ready(());
        }
        if self.transport.wants_turn(&self.connection)
            && let Some(me) = self.worker.rt.current()
        {
            self.worker.rt.wake(me);
        }
        self.worker.rt.wake_at(gone_at);
        Poll::Pending
    }

    /// Reads what the client has sent, and begins its requests.
    fn receive(&mut self, now: MonotonicTime) {
        while let Some(bytes) = self.transport.read(&self.connection) {
            self.connection.receive(bytes);
            self.accept_streams();
        }
        if self.transport.has_ended() && !self.finished {
            self.connection.end();
            self.finish(now);
        }
        if self.connection.greeted.get() && !std::mem::replace(&mut self.greeted, true) {
            let view = self.service.view.borrow();
            view.stats.slots[self.worker.index].counters.http2_connections.add(1);
        }
    }

    /// Finishes a connection that the machine has ended.
    fn check_end(&mut self, now: MonotonicTime) {
        let ended = {
            let machine = self.connection.machine();
            machine.is_failed() || machine.is_drained()
        };
        if ended {
            self.finish(now);
        }
    }

    /// Only what is queued is sent from now on.
    fn finish(&mut self, now: MonotonicTime) {
        if !std::mem::replace(&mut self.finished, true) {
            self.dead_at = self.dead_at.min(now + CLOSE_TIMEOUT);
        }
    }

    fn accept_streams(&mut self) {
        while let Some(arrival) = self.connection.next_request() {
            match arrival {
                Http2Arrival::Request { stream, fields, end_stream } => {
                    let open = OpenStream::accept(&self.connection, stream);
                    self.begin(Http2Request {
                        fields,
                        end_stream,
                        open,
                        client_peer: self.client_peer.clone(),
                        tls: self.tls.clone(),
                    });
                }
                Http2Arrival::HeadTooLarge { stream } => self.refuse_head(stream),
            }
        }
    }

    fn begin(&mut self, asked: Http2Request<N>) {
        if self.idle.take().is_some() {
            self.open.set_phase(AdmissionPhase::Busy, self.worker.rt.now());
        }
        let worker = self.worker.clone();
        let service = self.service.clone();
        self.worker.rt.spawn(request::serve(worker, service, asked));
    }

    /// Answers a request whose head is larger than the machine's limit. The machine counts it.
    fn refuse_head(&self, stream: u32) {
        let mut machine = self.connection.machine();
        self.connection.with_fields(|fields| {
            fields.push(b":status", b"431");
            fields.push(b"content-length", b"0");
            // An error means that the client has reset the stream.
            let _ = machine.send_response(stream, fields, true);
        });
        machine.close_stream(stream, ErrorCode::NO_ERROR);
    }

    /// Checks limits, deadlines, shutdown and eviction.
    fn check_limits(&mut self, now: MonotonicTime) {
        let abuse = self.connection.machine().abuse();
        if let Some(abuse) = abuse {
            return self.record_abuse(now, abuse);
        }
        let view = self.service.view.borrow().clone();
        let timeout = &view.config.timeout;
        let unfinished = self.connection.unfinished_since.get();
        if unfinished != MonotonicTime::NEVER && self.dead_at == MonotonicTime::NEVER {
            let until = unfinished + timeout.header;
            if now >= until {
                self.end_at_once(now);
                self.connection.machine().abort(ErrorCode::NO_ERROR);
                return self.record_connection_refusal(Cause::ClientHeaderTimeout, None);
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
            // A client that has sent nothing acknowledges nothing.
            let silent = self.connection.machine().is_silent();
            self.rest_until = if silent { now } else { now + CLOSE_TIMEOUT };
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
        self.connection.machine().shut_down();
    }

    /// The connection is closed as soon as its output is sent.
    fn end_at_once(&mut self, now: MonotonicTime) {
        self.goaway_sent = true;
        self.connection.closing.set(true);
        self.finish(now);
    }

    /// Counts and records a limit that the client has exceeded; the machine has ended the connection.
    fn record_abuse(&mut self, now: MonotonicTime, abuse: AbuseKind) {
        self.end_at_once(now);
        if !self.refused {
            self.count_abuse(abuse);
            self.record_connection_refusal(Cause::Http2Flood, Some(abuse.name()));
        }
    }

    /// Records the refusal that ended the connection, once.
    fn record_connection_refusal(&mut self, cause: Cause, detail: Option<&'static str>) {
        if !std::mem::replace(&mut self.refused, true) {
            self.record_refused(cause, detail);
        }
    }

    /// Records a connection that ended without a complete preface.
    fn record_missing_preface(&mut self) {
        if self.greeted || self.goaway_sent || self.open.is_evicted() {
            return;
        }
        if self.connection.machine().is_silent() {
            let view = self.service.view.borrow().clone();
            return view.stats.slots[self.worker.index].counters.idle_closed.add(1);
        }
        self.record_connection_refusal(Cause::BadRequest, Some(Defect::Http2Protocol.name()));
    }
}
