//! A client's HTTP/2 connection: its streams are handed out, its limits kept, and its end is told in time.
//!
//! Each request is a task of its own (`request`). Ending in order takes two steps (RFC 9113 §6.8): the client is told
//! that no stream will be taken some time soon, and after a round trip which was the last one.

mod account;
mod counting;

use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Ping, PingPong, Reason, RecvStream};
use model::admission::Phase;
use model::cause::Cause;
use model::config::ClientHttp2;
use model::moment::Moment;
use model::snapshot::ServiceView;
use wire::http1::Defect;

use account::refused;

use super::bdp::Bdp;
use super::carrier::{Carrier, Wire};
use super::link::{Link, OpenStream};
use super::request::{self, Asked};
use crate::admission::OpenConnection;
use crate::caller::Caller;
use crate::census::Up;
use crate::local::LocalService;
use crate::refuse;
use crate::rt::Net;
use crate::stream::{Stream, UnderTls};
use crate::worker::Worker;

/// What every client that speaks HTTP/2 sends first (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long the last frames may take.
const PARTING: Duration = Duration::from_secs(5);

/// How long the last frames of exchanges that were cut may take.
const BREATH: Duration = Duration::from_millis(200);

/// The library counts a field with 32 bytes beside its text (RFC 9113 §6.5.2).
const PER_FIELD: u32 = 32;

/// Streams that the library remembers after they were reset, until frames that were on their way have passed.
const REMEMBERED: usize = 100;

/// A connection being served.
struct Serving<N: Net> {
    worker: Rc<Worker<N>>,
    service: Rc<LocalService<N>>,
    caller: Rc<Caller>,
    wire: Rc<Wire<N>>,
    link: Rc<Link>,
    open: OpenConnection,
    conn: Connection<Carrier<N>, Bytes>,
    pings: Option<PingPong>,
    waker: Waker,
    tls: Rc<Option<UnderTls>>,
    /// When it is too old.
    old_at: Moment,
    /// Without a stream since then.
    idle_since: Moment,
    idle: Option<Up>,
    /// The client was told that no more streams are taken.
    leaving: bool,
    /// When whatever is left is dropped.
    gone_at: Moment,
    /// When a connection that takes no more streams and has none is dropped: its client may owe an acknowledgement.
    rest_until: Moment,
    /// The library has ended; only bytes are left to be sent.
    over: bool,
    /// A limit was met, and the account of it is closed.
    flooded: bool,
}

/// Serves a connection that begins with the preface; `early` was read of it already.
pub async fn serve<N: Net>(
    worker: Rc<Worker<N>>,
    client: Stream<N>,
    caller: Rc<Caller>,
    service: Rc<LocalService<N>>,
    early: Vec<u8>,
    open: OpenConnection,
) {
    let view = service.view.borrow().clone();
    let http2 = &view.config.http2;
    let now = worker.rt.now();
    let link =
        Rc::new(Link::new(Some(http2.flood), Bdp::new(http2.window, http2.window_most), now));
    let tls = Rc::new(client.under_tls());
    let wire = Wire::new(client, link.clone(), early);
    let waker = worker.rt.waker();
    open.set(Phase::Fresh, now);
    let conn = match shake(&worker, &view, (&wire, &link), &open, &waker).await {
        Ok(conn) => conn,
        Err(None) if open.is_given_up() => return,
        Err(None) => {
            view.live.slots[worker.index].counters.idle_closed.add(1);
            return;
        }
        Err(Some((cause, detail))) => return refused(&worker, &view, caller.peer, cause, detail),
    };
    view.live.slots[worker.index].counters.http2_connections.add(1);
    let mut serving = Serving {
        old_at: old_at(http2, &worker, now),
        idle_since: worker.rt.now(),
        idle: Some(worker.census.idle()),
        worker,
        service,
        caller,
        wire,
        link,
        open,
        conn,
        pings: None,
        waker,
        tls,
        leaving: false,
        gone_at: Moment::NEVER,
        rest_until: Moment::NEVER,
        over: false,
        flooded: false,
    };
    serving.pings = serving.conn.ping_pong();
    std::future::poll_fn(|_| serving.turn()).await;
    let Serving { worker, wire, conn, .. } = serving;
    // Streams that are left learn that their connection is gone.
    drop(conn);
    if let Ok(wire) = Rc::try_unwrap(wire) {
        // What the client still sends must not make our last frames vanish.
        refuse::linger(&worker, wire.stream).await;
    }
}

/// A tenth more or less, so that connections that began together do not end together.
fn old_at<N: Net>(http2: &ClientHttp2, worker: &Worker<N>, now: Moment) -> Moment {
    let Some(age) = http2.age else { return Moment::NEVER };
    let tenth = (age.as_nanos() / 10) as u64;
    let more = worker.rng.borrow_mut().below(2 * tenth + 1);
    now + age - Duration::from_nanos(tenth) + Duration::from_nanos(more)
}

/// Why there was no preface; `None`: the client sent nothing.
type NoPreface = Option<(Cause, Option<&'static str>)>;

/// Waits for the preface.
async fn shake<N: Net>(
    worker: &Worker<N>,
    view: &ServiceView,
    (wire, link): (&Rc<Wire<N>>, &Rc<Link>),
    open: &OpenConnection,
    waker: &Waker,
) -> Result<Connection<Carrier<N>, Bytes>, NoPreface> {
    let (http2, limit) = (&view.config.http2, &view.config.limit);
    let mut builder = Builder::new();
    builder
        .initial_window_size(http2.window)
        .initial_connection_window_size(link.bdp.borrow().of_connection())
        .max_concurrent_streams(http2.streams)
        // Room for what our own limit is to refuse by name.
        .max_header_list_size(limit.header_bytes * 2 + u32::from(limit.header_count) * PER_FIELD)
        .max_send_buffer_size(http2.send_buffer as usize)
        .max_concurrent_reset_streams(REMEMBERED)
        .max_pending_accept_reset_streams(http2.flood.resets as usize)
        // Counted here, by name; one turn reads a bounded number of them.
        .max_local_error_reset_streams(None)
        .enable_connect_protocol();
    let mut handshake = pin!(builder.handshake::<_, Bytes>(wire.carrier()));
    let until = worker.rt.now() + view.config.timeout.header;
    std::future::poll_fn(|_| {
        link.at(worker.rt.now());
        wire.begin();
        let polled = handshake.as_mut().poll(&mut Context::from_waker(waker));
        let flushed = wire.flush();
        let silent = link.silent();
        if let Poll::Ready(conn) = polled {
            let defect = Defect::Http2Protocol;
            let broken = (Cause::BadRequest, Some(defect.name()));
            return Poll::Ready(conn.map_err(|_| (!silent).then_some(broken)));
        }
        if open.is_given_up() || worker.rt.now() >= until || matches!(flushed, Poll::Ready(Err(_)))
        {
            let late = (Cause::ClientHeaderTimeout, None);
            return Poll::Ready(Err((!silent).then_some(late)));
        }
        worker.rt.wake_at(until);
        Poll::Pending
    })
    .await
}

impl<N: Net> Serving<N> {
    /// Does what can be done now; `Ready`: it is over.
    fn turn(&mut self) -> Poll<()> {
        let now = self.worker.rt.now();
        self.link.at(now);
        self.wire.begin();
        self.advance();
        self.care(now);
        // What was asked for meanwhile goes out in this turn too.
        self.advance();
        self.count();
        match self.wire.flush() {
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Ready(Ok(())) if self.over => return Poll::Ready(()),
            _ => {}
        }
        let gone_at = self.gone_at.min(self.rest_until);
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

    /// Lets the library work and takes up new streams.
    fn advance(&mut self) {
        if self.over {
            return;
        }
        let waker = self.waker.clone();
        let mut cx = Context::from_waker(&waker);
        loop {
            match self.conn.poll_accept(&mut cx) {
                Poll::Ready(Some(Ok((request, respond)))) => self.begin(request, respond),
                Poll::Ready(Some(Err(_)) | None) => {
                    self.over = true;
                    self.gone_at = self.gone_at.min(self.worker.rt.now() + PARTING);
                    return;
                }
                Poll::Pending => break,
            }
        }
        self.estimate(&mut cx);
    }

    fn begin(&mut self, request: http::Request<RecvStream>, respond: SendResponse<Bytes>) {
        let asked = Asked {
            request,
            respond,
            open: OpenStream::enter(&self.link),
            caller: self.caller.clone(),
            tls: self.tls.clone(),
        };
        if self.idle.take().is_some() {
            self.open.set(Phase::Busy, self.worker.rt.now());
        }
        let (worker, service) = (self.worker.clone(), self.service.clone());
        self.worker.rt.spawn(request::serve(worker, service, asked));
    }

    /// Sizes windows to what the path holds.
    fn estimate(&mut self, cx: &mut Context<'_>) {
        let Some(pings) = &mut self.pings else { return };
        let mut bdp = self.link.bdp.borrow_mut();
        if let Poll::Ready(Ok(_)) = pings.poll_pong(cx)
            && let Some(window) = bdp.ponged()
        {
            self.conn.set_target_window_size(bdp.of_connection());
            // It fails only while an earlier change is not acknowledged; the next sample comes.
            let _ = self.conn.set_initial_window_size(window);
        }
        if bdp.wants_ping() && pings.send_ping(Ping::opaque()).is_ok() {
            bdp.pinged();
        }
    }

    /// Limits, deadlines and orders.
    fn care(&mut self, now: Moment) {
        if let Some(flood) = self.link.met()
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
        let unfinished = self.link.unfinished_since.get();
        if unfinished != Moment::NEVER && self.gone_at == Moment::NEVER {
            let until = unfinished + timeout.header;
            if now >= until {
                return self.abort(now, Reason::NO_ERROR, Cause::ClientHeaderTimeout, None);
            }
            self.worker.rt.wake_at(until);
        }
        self.leave_in_time(now);
        if self.open.is_given_up() && !self.leaving {
            self.leave();
        }
        if self.link.open.get() > 0 {
            (self.idle_since, self.rest_until) = (now, Moment::NEVER);
            return;
        }
        if self.idle.is_none() {
            self.idle = Some(self.worker.census.idle());
            self.open.set(Phase::Idle, now);
        }
        let fresh = self.link.streams.get() == 0;
        let until = self.idle_since + if fresh { timeout.header } else { timeout.idle };
        if self.leaving {
            // Somebody else has its place by now.
            let parting = if self.open.is_given_up() { Duration::ZERO } else { PARTING };
            self.rest_until = self.rest_until.min(now + parting);
        } else if now >= until {
            view.live.slots[self.worker.index].counters.idle_closed.add(1);
            self.leave();
            self.rest_until = now + PARTING;
        } else {
            self.worker.rt.wake_at(until);
        }
    }

    /// Draining, the service's end and the connection's age.
    fn leave_in_time(&mut self, now: Moment) {
        let ending = self.worker.draining.get() || self.service.gone.get();
        let cut_at = self.service.cut_at.get();
        if ending && !self.leaving {
            self.leave();
        }
        if ending {
            // Exchanges end at that moment by themselves; a breath for their last frames.
            self.gone_at = self.gone_at.min(cut_at + BREATH);
        }
        if now >= self.old_at && !self.leaving {
            let view = self.service.view.borrow().clone();
            view.live.slots[self.worker.index].counters.http2_aged.add(1);
            self.leave();
        }
        if !self.leaving {
            self.worker.rt.wake_at(self.old_at);
        }
    }

    /// Ends in order.
    fn leave(&mut self) {
        self.leaving = true;
        self.link.closing.set(true);
        self.conn.graceful_shutdown();
    }

    /// Ends at once, and closes the account of what its client did.
    fn abort(&mut self, now: Moment, reason: Reason, cause: Cause, detail: Option<&'static str>) {
        self.leaving = true;
        self.link.closing.set(true);
        self.gone_at = now + PARTING;
        self.conn.abrupt_shutdown(reason);
        self.refused(cause, detail);
    }
}
