//! Connections to one server that carry many requests at once, as one worker keeps them.
//!
//! Each is driven by a task of its own, which also asks a silent server for a sign of life, sizes the windows and ends
//! what is idle. Which server is asked, and what a failure leads to, is decided by whoever asks for a stream.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use h2::{Ping, PingPong};
use model::config::ServerHttp2;
use model::live::ServerLive;
use model::moment::Moment;

use super::asking::Asking;
use super::bdp::Bdp;
use super::carrier::{Carrier, Wire};
use super::link::{Link, OpenStream};
use crate::connected::{Counted, Upstream};
use crate::rt::{Net, Rt, TaskId};
use crate::stream::Stream;

/// How long a server may take to give a sign of life.
const SIGN: Duration = Duration::from_secs(20);

/// How long the last frames may take.
const PARTING: Duration = Duration::from_secs(2);

/// Bytes of one request that wait for their server.
const SEND_BUFFER: usize = 64 * 1024;

/// The library counts a field with 32 bytes beside its text (RFC 9113 §6.5.2).
const PER_FIELD: u32 = 32;

/// Connections to one server.
#[derive(Default)]
pub struct Mux {
    entries: RefCell<Vec<Rc<Entry>>>,
    /// Connections being made that others wait for.
    coming: Cell<u32>,
    waiting: RefCell<Vec<TaskId>>,
    /// The server took up HTTP/1.1 when it was last asked.
    plain: Cell<bool>,
}

/// One connection.
struct Entry {
    link: Rc<Link>,
    send: RefCell<Option<SendRequest<Bytes>>>,
    to: SocketAddr,
    secure: bool,
    most: usize,
    task: Cell<Option<TaskId>>,
}

/// What a connection is made for.
pub struct Terms<'a> {
    /// As configured.
    pub http2: &'a ServerHttp2,
    /// Bytes and fields of an answer's head.
    pub head: (u32, u16),
    /// How long it may be idle.
    pub idle: Duration,
    /// The server's counters, and the worker's slot of them.
    pub live: (Arc<ServerLive>, usize),
}

/// A connection being made for several.
pub struct Coming<'a, N: Net>(&'a Mux, &'a Rt<N>);

impl Mux {
    /// A stream on a connection that has room. `extended`: only where a WebSocket may be opened on one.
    pub fn open<N: Net>(&self, rt: &Rc<Rt<N>>, extended: bool) -> Option<Upstream<N>> {
        let entries = self.entries.borrow();
        // The fullest that has room, so that the others may become idle and end.
        let entry = entries.iter().filter(|entry| entry.takes(extended));
        let entry = entry.max_by_key(|entry| entry.link.open.get())?;
        let send = entry.send.borrow().clone()?;
        let open = OpenStream::enter(&entry.link);
        let asking = Asking::new(rt.waker(), open, send, entry.secure);
        Some(Upstream::strand(Stream::strand(rt, Box::new(asking)), entry.to))
    }

    /// Makes `upstream` one of them.
    ///
    /// # Errors
    /// What the library says of beginning; it waits for nothing of the server's.
    pub async fn add<N: Net>(
        &self,
        rt: &Rc<Rt<N>>,
        upstream: Upstream<N>,
        terms: Terms<'_>,
    ) -> Result<(), h2::Error> {
        let Upstream { stream, to, counted, .. } = upstream;
        let http2 = terms.http2;
        let bdp = Bdp::new(http2.window, http2.window_most);
        let link = Rc::new(Link::new(None, bdp, rt.now()));
        let secure = stream.is_sealed();
        let wire = Wire::new(stream, link.clone(), Vec::new());
        let (bytes, fields) = terms.head;
        let whole = link.bdp.borrow().of_connection();
        let (send, conn) = Builder::new()
            .initial_window_size(http2.window)
            .initial_connection_window_size(whole)
            .max_header_list_size(bytes * 2 + u32::from(fields) * PER_FIELD)
            .max_send_buffer_size(SEND_BUFFER)
            .enable_push(false)
            .handshake::<_, Bytes>(wire.carrier())
            .await?;
        let entry = Rc::new(Entry {
            link: link.clone(),
            send: RefCell::new(Some(send)),
            to,
            secure,
            most: http2.streams as usize,
            task: Cell::new(None),
        });
        let driver = Driver {
            rt: rt.clone(),
            wire,
            link,
            entry: entry.clone(),
            conn,
            pings: None,
            pinged: None,
            waker: Waker::noop().clone(),
            ping: http2.ping,
            idle: terms.idle,
            idle_since: rt.now(),
            gone_at: Moment::NEVER,
            over: false,
            live: terms.live,
        };
        let task = rt.spawn(drive(driver, counted));
        entry.task.set(Some(task));
        self.entries.borrow_mut().push(entry);
        Ok(())
    }

    /// Whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// Forgets connections that take no more streams, and lets them end when nothing is under way on them.
    pub fn sweep<N: Net>(&self, rt: &Rt<N>) {
        self.entries.borrow_mut().retain(|entry| {
            let closing = entry.link.closing.get();
            if closing && let Some(task) = entry.task.get() {
                rt.wake(task);
            }
            !closing
        });
    }

    /// Lets every connection end after what it is doing: they learn of it at the next sweep.
    pub fn retire(&self) {
        for entry in self.entries.borrow().iter() {
            entry.link.closing.set(true);
        }
    }

    /// The server took up this protocol.
    pub fn learned(&self, plain: bool) {
        self.plain.set(plain);
    }

    /// Whether a connection that is being made will have room for one more, so that none need be made for it.
    pub fn may_wait(&self, streams: u32) -> bool {
        let room = self.coming.get().saturating_mul(streams) as usize;
        !self.plain.get() && self.waiting.borrow().len() + 1 < room
    }

    /// A connection is being made.
    pub fn coming<'a, N: Net>(&'a self, rt: &'a Rt<N>) -> Coming<'a, N> {
        self.coming.set(self.coming.get() + 1);
        Coming(self, rt)
    }

    /// Waits until one was made, or failed, or `until`.
    pub async fn wait<N: Net>(&self, rt: &Rt<N>, until: Moment) {
        let Some(me) = rt.current() else { return };
        self.waiting.borrow_mut().push(me);
        let mut waited = false;
        std::future::poll_fn(|_| {
            if std::mem::replace(&mut waited, true) {
                return Poll::Ready(());
            }
            rt.wake_at(until);
            Poll::Pending
        })
        .await;
        self.waiting.borrow_mut().retain(|task| *task != me);
    }
}

impl<N: Net> Drop for Coming<'_, N> {
    fn drop(&mut self) {
        self.0.coming.set(self.0.coming.get() - 1);
        for task in self.0.waiting.borrow().iter() {
            self.1.wake(*task);
        }
    }
}

impl Entry {
    fn takes(&self, extended: bool) -> bool {
        let send = self.send.borrow();
        let Some(send) = send.as_ref() else { return false };
        let most = self.most.min(send.current_max_send_streams());
        !self.link.closing.get()
            && (self.link.open.get() as usize) < most
            && (!extended || send.is_extended_connect_protocol_enabled())
    }
}

/// What drives one connection.
struct Driver<N: Net> {
    rt: Rc<Rt<N>>,
    wire: Rc<Wire<N>>,
    link: Rc<Link>,
    entry: Rc<Entry>,
    conn: Connection<Carrier<N>, Bytes>,
    pings: Option<PingPong>,
    /// When a PING went out that is not answered yet.
    pinged: Option<Moment>,
    waker: Waker,
    ping: Option<Duration>,
    idle: Duration,
    idle_since: Moment,
    gone_at: Moment,
    /// The library has ended; only bytes are left to be sent.
    over: bool,
    live: (Arc<ServerLive>, usize),
}

async fn drive<N: Net>(mut driver: Driver<N>, _counted: Option<Counted>) {
    driver.wire.stream.mine();
    driver.waker = driver.rt.waker();
    driver.pings = driver.conn.ping_pong();
    std::future::poll_fn(|_| driver.turn()).await;
    driver.link.closing.set(true);
    *driver.entry.send.borrow_mut() = None;
    let Driver { rt, wire, conn, .. } = driver;
    // Streams that are left learn that their connection is gone.
    drop(conn);
    wire.stream.finish(rt.now() + PARTING).await;
}

impl<N: Net> Driver<N> {
    /// Does what can be done now; `Ready`: it is over.
    fn turn(&mut self) -> Poll<()> {
        let now = self.rt.now();
        self.link.at(now);
        self.wire.begin();
        self.advance();
        self.signs(now);
        self.rest(now);
        // What was asked for meanwhile goes out in this turn too.
        self.advance();
        match self.wire.flush() {
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Ready(Ok(())) if self.over => return Poll::Ready(()),
            _ => {}
        }
        if now >= self.gone_at {
            return Poll::Ready(());
        }
        if self.wire.wants_turn()
            && let Some(me) = self.rt.current()
        {
            self.rt.wake(me);
        }
        self.rt.wake_at(self.gone_at);
        Poll::Pending
    }

    /// Lets the library work.
    fn advance(&mut self) {
        if !self.over
            && Pin::new(&mut self.conn).poll(&mut Context::from_waker(&self.waker)).is_ready()
        {
            self.over = true;
            self.link.closing.set(true);
            self.gone_at = self.gone_at.min(self.rt.now() + PARTING);
        }
    }

    /// Pings: for the size of windows, and for a sign of life.
    fn signs(&mut self, now: Moment) {
        let Some(pings) = &mut self.pings else { return };
        let mut bdp = self.link.bdp.borrow_mut();
        if let Poll::Ready(Ok(_)) = pings.poll_pong(&mut Context::from_waker(&self.waker)) {
            self.pinged = None;
            if let Some(window) = bdp.ponged() {
                self.conn.set_target_window_size(bdp.of_connection());
                // It fails only while an earlier change is not acknowledged; the next sample comes.
                let _ = self.conn.set_initial_window_size(window);
            }
        }
        let silent_at = self.ping.map_or(Moment::NEVER, |ping| self.link.heard.get() + ping);
        let wanted = bdp.wants_ping();
        if self.pinged.is_none()
            && (wanted || now >= silent_at)
            && pings.send_ping(Ping::opaque()).is_ok()
        {
            self.pinged = Some(now);
            if wanted {
                bdp.pinged();
            }
        }
        match self.pinged {
            Some(since) if now >= since + SIGN && self.link.heard.get() <= since => {
                self.gone_at = now
            }
            Some(since) => self.rt.wake_at(since + SIGN),
            None => self.rt.wake_at(silent_at),
        }
    }

    /// An idle connection, or one that takes no more streams, ends when nothing is under way.
    fn rest(&mut self, now: Moment) {
        if self.link.open.get() > 0 {
            self.idle_since = now;
            return;
        }
        let until = self.idle_since + self.idle;
        if now >= until && !self.link.closing.replace(true) {
            self.live.0.slots[self.live.1].counters.retired.add(1);
        }
        if self.link.closing.get() {
            // Without it and without streams the library ends the connection.
            *self.entry.send.borrow_mut() = None;
            self.gone_at = self.gone_at.min(now + PARTING);
        } else {
            self.rt.wake_at(until);
        }
    }
}
