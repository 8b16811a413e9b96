//! A client's HTTP/3 connection: it is driven, its streams are handed out, its limits kept, and its end is told in time.
//!
//! Each request is a task of its own (`request`). Ending in order takes two steps (RFC 9114 §5.2): the client is told
//! that requests will not be taken some time soon, and after a round trip which was the last one.

mod ending;
mod opening;

use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use model::admission::Phase;
use model::cause::Cause;
use model::config::Http2Flood;
use model::moment::Moment;
use quinn_proto::{Dir, Event, StreamEvent, StreamId, Transmit};
use wire::http1::Defect;
use wire::http3::code;

use super::one_way::OneWay;
use super::request::{self, Asked};
use crate::account::{Protocol, Record};
use crate::admission::OpenConnection;
use crate::caller::Caller;
use crate::census::Up;
use crate::http2::flood::{Deed, Deeds};
use crate::quic::endpoint::{Admitted, Endpoint};
use crate::quic::link::{Link, Open};
use crate::quic::udp::Sent;
use crate::said::Said;
use crate::stream::UnderTls;
use crate::tls::server::ServerTls;

/// Sends in one turn before others get theirs.
const ROUNDS: usize = 16;

/// How far a connection is.
enum Stage {
    /// It shakes hands, being counted, until then.
    Shaking(Moment),
    /// It carries requests.
    Serving,
    /// It was closed; its machine says when that has sunk in.
    Closed,
}

/// How far its end is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaving {
    No,
    /// The client was told; at this moment it learns which was the last.
    Told(Moment),
    /// Streams from this one on are not taken.
    Settled(u64),
}

struct Serving {
    endpoint: Rc<Endpoint>,
    link: Rc<Link>,
    caller: Rc<Caller>,
    open: OpenConnection,
    waker: Waker,
    stage: Stage,
    /// Its ClientHello is whole, and nothing came since.
    said_hello: bool,
    tls: Rc<Option<UnderTls>>,
    control: Option<StreamId>,
    one_way: OneWay,
    /// The stream after the last that was taken.
    next: u64,
    deeds: Deeds,
    leaving: Leaving,
    old_at: Moment,
    idle_since: Moment,
    idle: Option<Up>,
    fresh: bool,
    pinged_at: Moment,
    /// When whatever is left is dropped.
    gone_at: Moment,
    /// When a connection that takes no more requests and has none is closed.
    rest_until: Moment,
    blocked: Option<(Transmit, Vec<u8>)>,
    drained: bool,
}

/// Serves a connection that was just admitted, in a task of its own.
pub fn start(endpoint: Rc<Endpoint>, admitted: Admitted) {
    let worker = endpoint.worker.clone();
    worker.rt.spawn(async move {
        admitted.open.belongs_to(endpoint.worker.rt.current());
        let mut serving = Serving::new(endpoint, admitted);
        std::future::poll_fn(|_| serving.turn()).await;
    });
}

impl Serving {
    fn new(endpoint: Rc<Endpoint>, admitted: Admitted) -> Serving {
        let worker = &endpoint.worker;
        let view = endpoint.service.view.borrow().clone();
        let now = worker.rt.now();
        let tls = view.tls.as_ref().and_then(|material| material.get::<ServerTls>());
        let until = now + tls.map_or(Duration::ZERO, |tls| tls.handshake);
        let waker = worker.rt.waker();
        admitted.link.driven_by(waker.clone());
        let limits = Http2Flood {
            resets: view.config.http3.resets,
            control_frames: u32::MAX,
            tiny_frames: u32::MAX,
            malformed: u32::MAX,
        };
        Serving {
            link: admitted.link,
            caller: Rc::new(admitted.caller),
            open: admitted.open,
            waker,
            stage: Stage::Shaking(until),
            said_hello: false,
            tls: Rc::default(),
            control: None,
            one_way: OneWay::default(),
            next: 0,
            deeds: Deeds::new(limits, now),
            leaving: Leaving::No,
            old_at: Moment::NEVER,
            idle_since: now,
            idle: Some(worker.census.idle()),
            fresh: true,
            pinged_at: now,
            gone_at: Moment::NEVER,
            rest_until: Moment::NEVER,
            blocked: None,
            drained: false,
            endpoint,
        }
    }

    /// Does what can be done now; `Ready`: it is over.
    fn turn(&mut self) -> Poll<()> {
        let now = self.endpoint.worker.rt.now();
        let instant = self.endpoint.instant(now);
        self.link.begin_turn();
        self.follow();
        self.link.with(|conn| {
            if conn.poll_timeout().is_some_and(|at| at <= instant) {
                conn.handle_timeout(instant);
            }
        });
        self.tell_endpoint();
        while let Some(event) = self.link.with(|conn| conn.poll()) {
            self.happened(event, now);
        }
        if matches!(self.stage, Stage::Serving) {
            self.take_streams();
        }
        self.care(now);
        let more = self.send();
        self.follow();
        self.tell_endpoint();
        self.link.end_turn();
        if self.drained {
            return Poll::Ready(());
        }
        let rt = &self.endpoint.worker.rt;
        if more && let Some(me) = rt.current() {
            rt.wake(me);
        }
        if let Some(at) = self.link.with(|conn| conn.poll_timeout()) {
            rt.wake_at(self.endpoint.moment(at));
        }
        Poll::Pending
    }

    fn tell_endpoint(&mut self) {
        while let Some(event) = self.link.with(|conn| conn.poll_endpoint_events()) {
            self.drained |= event.is_drained();
            if let Some(answer) = self.endpoint.told(self.link.handle, event) {
                self.link.with(|conn| conn.handle_event(answer));
            }
        }
    }

    fn happened(&mut self, event: Event, now: Moment) {
        match event {
            Event::Connected => self.connected(now),
            Event::HandshakeDataReady => {
                self.said_hello = true;
                self.link.heard.take();
            }
            Event::ConnectionLost { reason } => self.lost(&reason),
            // Before anything is told of them: what is taken back at once is counted too.
            Event::Stream(StreamEvent::Opened { .. }) if matches!(self.stage, Stage::Serving) => {
                self.take_streams();
            }
            Event::Stream(StreamEvent::Readable { id }) => self.link.readable(id),
            Event::Stream(StreamEvent::Writable { id }) => self.link.writable(id),
            Event::Stream(StreamEvent::Stopped { id, .. }) => self.link.stopped(id),
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
        self.one_way.take(&self.link, &self.waker);
        while let Some(id) = self.link.accept(Dir::Bi) {
            let number = u64::from(id);
            if matches!(self.leaving, Leaving::Settled(first) if number >= first) {
                self.link.stop(id, code::REQUEST_REJECTED);
                self.link.reset(id, code::REQUEST_REJECTED);
                continue;
            }
            self.next = self.next.max(number + 4);
            if self.idle.take().is_some() {
                self.open.set(Phase::Busy, self.endpoint.worker.rt.now());
            }
            self.fresh = false;
            self.link.attach(id, Waker::noop().clone());
            let open = Open::enter(&self.link);
            let asked = Asked {
                link: self.link.clone(),
                id,
                caller: self.caller.clone(),
                tls: self.tls.clone(),
            };
            let worker = self.endpoint.worker.clone();
            let service = self.endpoint.service.clone();
            self.endpoint.worker.rt.spawn(request::serve(worker, service, asked, open));
        }
    }

    /// Limits, deadlines and orders.
    fn care(&mut self, now: Moment) {
        match self.stage {
            Stage::Closed => return,
            _ if self.open.is_given_up() && self.link.open.get() == 0 => {
                return self.close(now, code::NO_ERROR);
            }
            Stage::Shaking(until) => {
                if self.said_hello && self.link.heard.take() {
                    self.said_hello = false;
                    self.open.set(Phase::Handshake, now);
                }
                let until = until.min(self.endpoint.service.cut_at.get());
                if now >= until {
                    let view = self.endpoint.service.view.borrow().clone();
                    view.live.slots[self.endpoint.worker.index].counters.tls_failed.add(1);
                    self.refused(Cause::TlsHandshakeTimeout, None);
                    return self.close(now, code::NO_ERROR);
                }
                return self.endpoint.worker.rt.wake_at(until);
            }
            Stage::Serving => {}
        }
        if let Some(code) = self.link.failed() {
            let view = self.endpoint.service.view.borrow().clone();
            let slot = &view.live.slots[self.endpoint.worker.index];
            slot.defects[Defect::Http3Protocol as usize].add(1);
            self.refused(Cause::BadRequest, Some(Defect::Http3Protocol.name()));
            return self.close(now, code);
        }
        for _ in 0..self.link.taken_back.take() {
            self.deeds.note(Deed::Reset, now);
        }
        if let Some(flood) = self.deeds.met() {
            let view = self.endpoint.service.view.borrow().clone();
            view.live.slots[self.endpoint.worker.index].counters.http3_resets.add(1);
            self.refused(Cause::Http3Flood, Some(flood.name()));
            return self.close(now, code::EXCESSIVE_LOAD);
        }
        self.leave_in_time(now);
        self.rest(now);
    }

    /// A client that has moved is known by its new address, once that is validated, from the next request on.
    fn follow(&mut self) {
        let peer = self.link.peer();
        if peer != self.caller.peer {
            self.endpoint.count(|counters| &counters.http3_moved);
            self.caller = Rc::new(Caller::new(peer, self.caller.local));
            let view = self.endpoint.service.view.borrow().clone();
            // At its share there the client goes on counting where it was.
            let _ = self.open.rename(&self.endpoint.worker.rt, &view, peer.ip());
        }
        for _ in 0..self.link.withheld.take() {
            self.endpoint.count(|counters| &counters.quic_withheld);
        }
    }

    /// Ends at once.
    fn close(&mut self, now: Moment, code: u64) {
        self.no_more_handshake();
        self.stage = Stage::Closed;
        self.link.close(self.endpoint.instant(now), code);
        self.link.lose();
    }

    /// The account of what never became a request.
    fn refused(&self, cause: Cause, detail: Option<&'static str>) {
        let worker = &self.endpoint.worker;
        let view = self.endpoint.service.view.borrow().clone();
        view.live.slots[worker.index].counters.requests.add(1);
        let mut record = Record::begin(worker.rt.now(), worker.rt.now());
        (record.cause, record.defect) = (Some(cause), detail);
        worker.close(&view, None, &mut record, &Said::strand(self.caller.peer, Protocol::Http3));
    }

    /// Sends what the machine has to send; whether there is more, for another turn.
    fn send(&mut self) -> bool {
        let now = self.endpoint.instant(self.endpoint.worker.rt.now());
        let mut buffer = match self.blocked.take() {
            None => Vec::new(),
            Some((transmit, buffer)) => {
                let contents = &buffer[..transmit.size];
                if self.endpoint.send(&transmit, contents, &self.waker) == Sent::Later {
                    self.blocked = Some((transmit, buffer));
                    return false;
                }
                buffer
            }
        };
        let at_once = self.endpoint.at_once();
        for _ in 0..ROUNDS {
            let next = self.link.next_packets(now, at_once, &mut buffer);
            let Some(transmit) = next else { return false };
            let contents = &buffer[..transmit.size];
            if self.endpoint.send(&transmit, contents, &self.waker) == Sent::Later {
                self.blocked = Some((transmit, buffer));
                return false;
            }
        }
        true
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.no_more_handshake();
        self.link.lose();
        if !self.drained {
            // The worker ends: one word to the client, if the socket takes it at once.
            let now = self.endpoint.worker.rt.now();
            self.link.close(self.endpoint.instant(now), code::NO_ERROR);
            self.send();
        }
        self.endpoint.forget(self.link.handle, self.drained);
    }
}
