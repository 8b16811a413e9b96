//! A client's HTTP/3 connection: drives it, accepts streams, enforces limits, and shuts down gracefully.
//!
//! Each request has its own task (`request`). Graceful shutdown takes two steps (RFC 9114 §5.2): a GOAWAY that
//! announces the end, and after a round trip a GOAWAY with the last request.

mod handshake;
mod shutdown;

use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use model::admission::AdmissionPhase;
use model::cause::Cause;
use model::monotonic_time::MonotonicTime;
use quinn_proto::{Dir, Event, StreamEvent, StreamId, Transmit};
use wire::http1::Defect;
use wire::http3::code;

use super::request::{self, Http3Request};
use super::reset_counter::{LIMIT_NAME, ResetCounter};
use super::unidirectional::UnidirectionalStreams;
use crate::accounting::gauges::GaugeGuard;
use crate::accounting::logged_request::LoggedRequest;
use crate::accounting::{DownstreamProtocol, ExchangeRecord};
use crate::conn::client_peer::ClientPeer;
use crate::conn::stream::TlsContext;
use crate::downstream::quic::connection::QuicConnection;
use crate::downstream::quic::endpoint::{AdmittedQuicConnection, QuicEndpoint};
use crate::downstream::quic::open_stream::OpenQuicStream;
use crate::downstream::quic::udp::UdpSendResult;
use crate::tls::downstream::DownstreamTls;
use crate::worker::admission::OpenConnection;

/// Most sends in one turn, so that other tasks get a turn.
/// A connection with a large window must not delay the others of its worker.
const ROUNDS: usize = 16;

/// The stages of a connection.
enum Http3Stage {
    /// The handshake is in progress, until this deadline.
    Handshaking(MonotonicTime),
    Serving,
    /// The connection was closed; the QUIC library reports when it is drained.
    Closed,
}

/// The steps of a graceful shutdown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Http3Shutdown {
    NotStarted,
    /// The first GOAWAY was sent; at this time the second one names the last request.
    GoawaySent(MonotonicTime),
    /// Streams from this id on are rejected.
    Settled(u64),
}

struct Http3ServerSession {
    endpoint: Rc<QuicEndpoint>,
    connection: Rc<QuicConnection>,
    client_peer: Rc<ClientPeer>,
    open: OpenConnection,
    waker: Waker,
    stage: Http3Stage,
    /// The ClientHello is complete, and no datagram has arrived since.
    settings_sent: bool,
    tls: Rc<Option<TlsContext>>,
    control: Option<StreamId>,
    unidirectional: UnidirectionalStreams,
    /// The id after the last accepted stream.
    next: u64,
    resets: ResetCounter,
    shutdown: Http3Shutdown,
    max_age_at: MonotonicTime,
    idle_since: MonotonicTime,
    idle: Option<GaugeGuard>,
    fresh: bool,
    pinged_at: MonotonicTime,
    /// When the connection is closed regardless of open requests.
    dead_at: MonotonicTime,
    /// When a connection without requests that accepts no more is closed.
    rest_until: MonotonicTime,
    blocked: Option<BlockedTransmit>,
    drained: bool,
}

/// Packets that wait until the socket is writable.
struct BlockedTransmit {
    transmit: Transmit,
    /// The contents of the packets, in a buffer that may be longer.
    buffer: Vec<u8>,
}

/// Serves an admitted connection in its own task.
pub fn start(endpoint: Rc<QuicEndpoint>, admitted: AdmittedQuicConnection) {
    let worker = endpoint.worker.clone();
    worker.rt.spawn(async move {
        admitted.open.set_task(endpoint.worker.rt.current());
        let mut serving = Http3ServerSession::new(endpoint, admitted);
        std::future::poll_fn(|_| serving.turn()).await;
    });
}

impl Http3ServerSession {
    fn new(endpoint: Rc<QuicEndpoint>, admitted: AdmittedQuicConnection) -> Http3ServerSession {
        let worker = &endpoint.worker;
        let view = endpoint.service.view.borrow().clone();
        let now = worker.rt.now();
        let tls = view.tls.as_ref().and_then(|material| material.downcast::<DownstreamTls>());
        let until = now + tls.map_or(Duration::ZERO, |tls| tls.handshake);
        let waker = worker.rt.waker();
        admitted.connection.set_driver(waker.clone());
        Http3ServerSession {
            connection: admitted.connection,
            client_peer: Rc::new(admitted.client_peer),
            open: admitted.open,
            waker,
            stage: Http3Stage::Handshaking(until),
            settings_sent: false,
            tls: Rc::default(),
            control: None,
            unidirectional: UnidirectionalStreams::default(),
            next: 0,
            resets: ResetCounter::new(view.config.http3.resets, now),
            shutdown: Http3Shutdown::NotStarted,
            max_age_at: MonotonicTime::NEVER,
            idle_since: now,
            idle: Some(worker.gauges.count_idle()),
            fresh: true,
            pinged_at: now,
            dead_at: MonotonicTime::NEVER,
            rest_until: MonotonicTime::NEVER,
            blocked: None,
            drained: false,
            endpoint,
        }
    }

    /// Does everything that is possible now; `Ready`: the connection has ended.
    fn turn(&mut self) -> Poll<()> {
        let now = self.endpoint.worker.rt.now();
        let instant = self.endpoint.instant(now);
        self.connection.begin_turn();
        self.follow_migration();
        self.connection.with_connection(|conn| {
            if conn.poll_timeout().is_some_and(|at| at <= instant) {
                conn.handle_timeout(instant);
            }
        });
        self.notify_endpoint();
        while let Some(event) = self.connection.with_connection(|conn| conn.poll()) {
            self.handle_event(event, now);
        }
        if matches!(self.stage, Http3Stage::Serving) {
            self.take_streams();
        }
        self.check_limits(now);
        let more = self.send();
        self.follow_migration();
        self.notify_endpoint();
        let is_blocked = self.connection.has_unsent();
        let mut times = self.connection.send_times.get();
        self.connection.with_connection(|conn| times.update(conn, is_blocked, now));
        self.connection.send_times.set(times);
        self.connection.end_turn();
        if self.drained {
            return Poll::Ready(());
        }
        let rt = &self.endpoint.worker.rt;
        if more && let Some(me) = rt.current() {
            rt.wake(me);
        }
        if let Some(at) = self.connection.with_connection(|conn| conn.poll_timeout()) {
            rt.wake_at(self.endpoint.moment(at));
        }
        Poll::Pending
    }

    fn notify_endpoint(&mut self) {
        while let Some(event) = self.connection.with_connection(|conn| conn.poll_endpoint_events())
        {
            self.drained |= event.is_drained();
            if let Some(answer) = self.endpoint.handle_endpoint_event(self.connection.handle, event)
            {
                self.connection.with_connection(|conn| conn.handle_event(answer));
            }
        }
    }

    fn handle_event(&mut self, event: Event, now: MonotonicTime) {
        match event {
            Event::Connected => self.connected(now),
            Event::HandshakeDataReady => {
                self.settings_sent = true;
                self.connection.stream_activity.take();
            }
            Event::ConnectionLost { reason } => self.connection_lost(&reason),
            // Streams are accepted before other events are handled, so that immediately reset streams are counted too.
            Event::Stream(StreamEvent::Opened { .. })
                if matches!(self.stage, Http3Stage::Serving) =>
            {
                self.take_streams();
            }
            Event::Stream(StreamEvent::Readable { id }) => self.connection.readable(id),
            Event::Stream(StreamEvent::Writable { id }) => self.connection.writable(id),
            Event::Stream(StreamEvent::Stopped { id, .. }) => self.connection.stopped(id),
            Event::Stream(
                StreamEvent::Opened { .. }
                | StreamEvent::Finished { .. }
                | StreamEvent::Available { .. },
            )
            | Event::DatagramReceived
            | Event::DatagramsUnblocked => {}
        }
    }

    fn take_streams(&mut self) {
        self.unidirectional.accept_streams(&self.connection, &self.waker);
        while let Some(id) = self.connection.accept(Dir::Bi) {
            let number = u64::from(id);
            if matches!(self.shutdown, Http3Shutdown::Settled(first) if number >= first) {
                self.connection.stop(id, code::REQUEST_REJECTED);
                self.connection.reset(id, code::REQUEST_REJECTED);
                continue;
            }
            self.next = self.next.max(number + 4);
            if self.idle.take().is_some() {
                self.open.set_phase(AdmissionPhase::Busy, self.endpoint.worker.rt.now());
            }
            self.fresh = false;
            self.connection.attach(id, Waker::noop().clone());
            let open = OpenQuicStream::enter(&self.connection);
            let asked = Http3Request {
                connection: self.connection.clone(),
                id,
                client_peer: self.client_peer.clone(),
                tls: self.tls.clone(),
            };
            let worker = self.endpoint.worker.clone();
            let service = self.endpoint.service.clone();
            self.endpoint.worker.rt.spawn(request::serve(worker, service, asked, open));
        }
    }

    /// Checks limits, deadlines, shutdown and eviction.
    fn check_limits(&mut self, now: MonotonicTime) {
        match self.stage {
            Http3Stage::Closed => return,
            _ if self.open.is_evicted() && self.connection.open.get() == 0 => {
                return self.close(now, code::NO_ERROR);
            }
            Http3Stage::Handshaking(until) => {
                if self.settings_sent && self.connection.stream_activity.take() {
                    self.settings_sent = false;
                    self.open.set_phase(AdmissionPhase::Handshake, now);
                }
                let until = until.min(self.endpoint.service.cut_at.get());
                if now >= until {
                    let view = self.endpoint.service.view.borrow().clone();
                    view.stats.slots[self.endpoint.worker.index].counters.tls_failed.add(1);
                    self.record_refused(Cause::TlsHandshakeTimeout, None);
                    return self.close(now, code::NO_ERROR);
                }
                return self.endpoint.worker.rt.wake_at(until);
            }
            Http3Stage::Serving => {}
        }
        if let Some(code) = self.connection.close_code() {
            let view = self.endpoint.service.view.borrow().clone();
            let slot = &view.stats.slots[self.endpoint.worker.index];
            slot.defects[Defect::Http3Protocol as usize].add(1);
            self.record_refused(Cause::BadRequest, Some(Defect::Http3Protocol.name()));
            return self.close(now, code);
        }
        for _ in 0..self.connection.reset_requests.take() {
            self.resets.record(now);
        }
        if self.resets.is_exceeded() {
            let view = self.endpoint.service.view.borrow().clone();
            view.stats.slots[self.endpoint.worker.index].counters.http3_resets.add(1);
            self.record_refused(Cause::Http3Flood, Some(LIMIT_NAME));
            return self.close(now, code::EXCESSIVE_LOAD);
        }
        self.check_shutdown(now);
        self.check_idle(now);
    }

    /// Applies a validated new address of the client, from the next request on.
    fn follow_migration(&mut self) {
        let peer = self.connection.peer();
        if peer != self.client_peer.peer {
            self.endpoint.count_event(|counters| &counters.http3_moved);
            self.client_peer = Rc::new(ClientPeer::new(peer, self.client_peer.local));
            let view = self.endpoint.service.view.borrow().clone();
            // If the per-client limit is reached at the new address, the connection is still counted for the old one.
            let _ = self.open.change_client(&self.endpoint.worker.rt, &view, peer.ip());
        }
        for _ in 0..self.connection.withheld.take() {
            self.endpoint.count_event(|counters| &counters.quic_withheld);
        }
    }

    fn close(&mut self, now: MonotonicTime, code: u64) {
        self.end_handshake();
        self.stage = Http3Stage::Closed;
        self.connection.close(self.endpoint.instant(now), code);
        self.connection.mark_lost();
    }

    /// Records a rejection outside an exchange.
    fn record_refused(&self, cause: Cause, detail: Option<&'static str>) {
        let worker = &self.endpoint.worker;
        let view = self.endpoint.service.view.borrow().clone();
        view.stats.slots[worker.index].counters.requests.add(1);
        let mut record = ExchangeRecord::begin(worker.rt.now(), worker.rt.now());
        record.cause = Some(cause);
        record.defect = detail;
        worker.close(
            &view,
            None,
            &mut record,
            &LoggedRequest::multiplexed(self.client_peer.peer, DownstreamProtocol::Http3),
        );
    }

    /// Sends the library's packets; returns whether there are more for another turn.
    fn send(&mut self) -> bool {
        let now = self.endpoint.instant(self.endpoint.worker.rt.now());
        let mut buffer = match self.blocked.take() {
            None => Vec::new(),
            Some(BlockedTransmit { transmit, buffer }) => {
                let contents = &buffer[..transmit.size];
                if self.endpoint.send(&transmit, contents, &self.waker) == UdpSendResult::WouldBlock
                {
                    self.blocked = Some(BlockedTransmit { transmit, buffer });
                    return false;
                }
                buffer
            }
        };
        let at_once = self.endpoint.max_batch();
        for _ in 0..ROUNDS {
            let next = self.connection.next_packets(now, at_once, &mut buffer);
            let Some(transmit) = next else { return false };
            let contents = &buffer[..transmit.size];
            if self.endpoint.send(&transmit, contents, &self.waker) == UdpSendResult::WouldBlock {
                self.blocked = Some(BlockedTransmit { transmit, buffer });
                return false;
            }
        }
        true
    }
}

impl Drop for Http3ServerSession {
    fn drop(&mut self) {
        self.end_handshake();
        self.connection.mark_lost();
        if !self.drained {
            // The worker ends: sends one CONNECTION_CLOSE, if the socket accepts it at once.
            let now = self.endpoint.worker.rt.now();
            self.connection.close(self.endpoint.instant(now), code::NO_ERROR);
            self.send();
        }
        self.endpoint.forget(self.connection.handle, self.drained);
    }
}
