//! Connections to servers: lent for one exchange or tunnel, from the shelf or newly made.
//!
//! It chooses a server, waits while every server is at its cap, connects and reports failures as causes. Whether
//! another attempt is made is not decided here: `exchange` asks `model::retry`.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::id::ServerId;
use model::live::ServerLive;
use model::moment::Moment;
use model::pick::{Ask, Choice};
use model::snapshot::PoolView;

use crate::account::Record;
use crate::back;
use crate::connected::Upstream;
use crate::local::{LocalPool, LocalServer};
use crate::outside::Observation;
use crate::rt::{Connect, Expired, Net};
use crate::shelf::Swept;
use crate::stream::Stream;
use crate::unreached::{cause_of, unresolved};
use crate::worker::Worker;

/// A task that waits for a server below its cap looks again after this long: other workers give back without
/// telling.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A connection lent for one exchange or tunnel; the server counts it as in flight until it is dropped.
pub struct Lent<N: Net> {
    /// The connection.
    pub connection: Upstream<N>,
    /// It served before.
    pub reused: bool,
    /// Its server.
    pub hold: Hold<N>,
}

/// A server's slot in use.
pub struct Hold<N: Net> {
    /// The server.
    pub server: Rc<LocalServer<N>>,
    live: Arc<ServerLive>,
    worker: Rc<Worker<N>>,
    pool: Rc<LocalPool<N>>,
}

impl<N: Net> Drop for Hold<N> {
    fn drop(&mut self) {
        self.live.in_flight.down();
        self.pool.queue.call(&self.worker.rt);
    }
}

/// Why no connection could be lent.
pub struct NotLent<N: Net> {
    /// The cause.
    pub cause: Cause,
    /// The server concerned, if it came that far.
    pub server: Option<Rc<LocalServer<N>>>,
}

/// What is asked for.
pub struct Want<'a> {
    /// The client.
    pub client: IpAddr,
    /// Servers that failed already.
    pub tried: &'a [ServerId],
    /// Only this server, on a new connection: a replay.
    pub again: Option<ServerId>,
    /// The request must not be sent on a connection that may be dying: look once more before lending.
    pub careful: bool,
    /// Never from the shelf.
    pub fresh: bool,
    /// When to give up at the latest.
    pub until: Moment,
}

/// What can be done without waiting.
pub enum Now<N: Net> {
    /// A connection from the shelf.
    Lent(Lent<N>),
    /// A server's slot; its connection is still to be made.
    Chosen(Hold<N>),
    /// Every server is at its cap.
    AllAtCap,
    /// No server may be asked.
    Refused(Cause),
}

/// Lends a connection from a shelf, or says what must be waited for.
pub fn now<N: Net>(worker: &Rc<Worker<N>>, pool: &Rc<LocalPool<N>>, want: &Want<'_>) -> Now<N> {
    if !pool.queue.lets(&worker.rt) {
        pool.queue.call(&worker.rt);
        return Now::AllAtCap;
    }
    let view = pool.view.borrow().clone();
    loop {
        let index = match choose(worker, pool, &view, want) {
            Choice::Server(index) => index,
            Choice::None => return Now::Refused(Cause::NoServer),
            Choice::AllAtCap => return Now::AllAtCap,
        };
        let Some(server) = pool.servers.borrow().get(index).cloned() else {
            return Now::Refused(Cause::Internal);
        };
        let live = view.servers[index].live.clone();
        let cap = view.servers[index].config.connections.unwrap_or(u32::MAX);
        if !live.in_flight.up_within(cap) {
            continue;
        }
        let hold = Hold { server, live, worker: worker.clone(), pool: pool.clone() };
        if !want.fresh
            && want.again.is_none()
            && let Some(connection) = shelved(worker, &view, &hold.server, want.careful)
        {
            return Now::Lent(Lent { connection, reused: true, hold });
        }
        return Now::Chosen(hold);
    }
}

/// Goes on where `now` stopped: waits for a slot, connects.
///
/// # Errors
/// The cause, and the server if one was chosen.
pub async fn lend<N: Net>(
    worker: &Rc<Worker<N>>,
    pool: &Rc<LocalPool<N>>,
    want: Want<'_>,
    mut now_: Now<N>,
    record: &mut Record,
) -> Result<Lent<N>, NotLent<N>> {
    let refused = |cause| NotLent { cause, server: None };
    let mut give_up = Moment::NEVER;
    let mut place = None;
    let hold = loop {
        match now_ {
            Now::Lent(lent) => break Err(lent),
            Now::Chosen(hold) => break Ok(hold),
            Now::Refused(cause) => return Err(refused(cause)),
            Now::AllAtCap => {}
        }
        let (queue, timeout) = {
            let view = pool.view.borrow();
            (view.config.limit.queue as usize, view.config.timeout.queue)
        };
        if place.is_none() {
            if pool.queue.len() >= queue {
                return Err(refused(Cause::QueueFull));
            }
            place = Some(pool.queue.enter(&worker.rt, !want.tried.is_empty()));
            record.queue_begin = Some(worker.rt.look());
            give_up = want.until.min(worker.rt.now() + timeout);
        }
        if worker.rt.now() >= give_up {
            let whole = worker.rt.now() >= want.until;
            return Err(refused(if whole { Cause::WholeTimeout } else { Cause::QueueTimeout }));
        }
        wait(worker, pool, give_up).await;
        now_ = now(worker, pool, &want);
    };
    drop(place);
    if record.queue_begin.is_some() {
        record.queue_end = Some(worker.rt.now());
    }
    match hold {
        Err(lent) => Ok(lent),
        Ok(hold) => connect_for(worker, pool, &want, hold, record).await,
    }
}

async fn connect_for<N: Net>(
    worker: &Rc<Worker<N>>,
    pool: &LocalPool<N>,
    want: &Want<'_>,
    hold: Hold<N>,
    record: &mut Record,
) -> Result<Lent<N>, NotLent<N>> {
    let view = pool.view.borrow().clone();
    record.connect_begin = Some(worker.rt.look());
    let until = want.until.min(worker.rt.now() + view.config.timeout.connect);
    let server = hold.server.clone();
    let slot = &hold.live.slots[worker.index].counters;
    slot.connects.add(1);
    let connected = match connect(worker, pool, &view, &server, want.client, until).await {
        Ok(connection) => back::open(worker, &view, &server, connection, until).await,
        Err(failed) => Err(failed),
    };
    match connected {
        Ok(connection) => {
            record.connect_end = Some(worker.rt.look());
            if server.failing.replace(false) {
                worker
                    .outside
                    .observe(Observation::ConnectSucceeded { pool: view.id, server: server.id });
            }
            Ok(Lent { connection, reused: false, hold })
        }
        Err((mut cause, reason)) => {
            slot.connect_failed.add(1);
            if cause == Cause::ConnectTimeout && worker.rt.now() >= want.until {
                // The exchange's time was up, which says nothing of the server.
                cause = Cause::WholeTimeout;
            }
            let ours = matches!(cause, Cause::NoSourcePort | Cause::NoDescriptor | Cause::Internal);
            if !ours && cause != Cause::WholeTimeout {
                server.failing.set(true);
                worker.outside.observe(Observation::ConnectFailed {
                    pool: view.id,
                    server: server.id,
                    reason,
                });
            }
            Err(NotLent { cause, server: Some(server) })
        }
    }
}

/// Puts a connection back on its server's shelf, or closes it.
pub fn shelve<N: Net>(worker: &Worker<N>, lent: Lent<N>) {
    let Lent { connection, hold, .. } = lent;
    let server = &hold.server;
    let moved = server.view.borrow().address != Some(connection.to);
    if moved || server.retired.get() || worker.draining.get() || !connection.stream.settle() {
        return;
    }
    let most = hold.pool.view.borrow().config.limit.idle;
    if server.shelf.borrow_mut().put(connection, worker.rt.now(), most as usize) {
        hold.live.slots[worker.index].counters.retired.add(1);
    }
}

fn choose<N: Net>(worker: &Worker<N>, pool: &LocalPool<N>, view: &PoolView, want: &Want) -> Choice {
    if let Some(id) = want.again
        && let Some(index) = view.servers.iter().position(|server| server.id == id)
    {
        let server = &view.servers[index];
        if server.config.connections.is_none_or(|cap| server.live.in_flight.get() < cap) {
            return Choice::Server(index);
        }
    }
    let ask = Ask { client: want.client, tried: want.tried };
    pool.chooser.borrow_mut().pick(view, &ask, &mut worker.rng.borrow_mut())
}

/// Waits until called; whoever is first looks by itself too.
async fn wait<N: Net>(worker: &Worker<N>, pool: &LocalPool<N>, give_up: Moment) {
    let first = pool.queue.lets(&worker.rt);
    let look = if first { give_up.min(worker.rt.now() + LOOK_AGAIN) } else { give_up };
    let mut waited = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut waited, true) {
            return std::task::Poll::Ready(());
        }
        worker.rt.wake_at(look);
        std::task::Poll::Pending
    })
    .await;
}

fn shelved<N: Net>(
    worker: &Worker<N>,
    view: &PoolView,
    server: &LocalServer<N>,
    careful: bool,
) -> Option<Upstream<N>> {
    let mut swept = Swept::default();
    let mut found = None;
    while let Some(connection) = server.shelf.borrow_mut().take(
        worker.rt.now(),
        view.config.timeout.idle,
        careful,
        &mut swept,
    ) {
        if careful && !worker.rt.net.quiet(connection.stream.sock()) {
            swept.stale += 1;
            continue;
        }
        found = Some(connection);
        break;
    }
    if swept != Swept::default() {
        let counters = &server.view.borrow().live.slots[worker.index].counters;
        counters.stale.add(swept.stale);
        counters.retired.add(swept.retired);
    }
    if found.is_some() {
        server.view.borrow().live.slots[worker.index].counters.reused.add(1);
    }
    found
}

async fn connect<N: Net>(
    worker: &Rc<Worker<N>>,
    pool: &LocalPool<N>,
    view: &PoolView,
    server: &LocalServer<N>,
    client: IpAddr,
    until: Moment,
) -> Result<Upstream<N>, (Cause, String)> {
    let (address, live) = {
        let server = server.view.borrow();
        (server.address, server.live.clone())
    };
    let Some(to) = address else {
        return Err((Cause::NoServer, unresolved(&server.view.borrow().config.address.host)));
    };
    let (sock, from) = begin(worker, pool, view, to, client)
        .map_err(|error| (cause_of(&error), format!("connect to {to}: {error}")))?;
    let port = worker.ports.lease(from, to);
    let stream = Stream::new(&worker.rt, sock, true).map_err(|error| {
        (Cause::NoDescriptor, format!("register the connection to {to}: {error}"))
    })?;
    let connection = Upstream::new(stream, to, live, port);
    let failed = |error: io::Error| (cause_of(&error), format!("connect to {to}: {error}"));
    // On a short path the handshake is over by now, well or not. Asking takes the socket's error away, so that each
    // answer counts.
    loop {
        match worker.rt.net.established(connection.stream.sock()) {
            Ok(()) => return Ok(connection),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(failed(error)),
            Err(_) if connection.stream.broken() => {
                return Err(failed(io::ErrorKind::ConnectionReset.into()));
            }
            Err(_) => connection.stream.source().clear(crate::rt::Readiness::WRITE),
        }
        if let Err(Expired) = connection.stream.writable(until).await {
            return Err((Cause::ConnectTimeout, format!("connect to {to}: no answer in time")));
        }
    }
}

/// Begins a connection from the next source address that has a port left.
fn begin<N: Net>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    view: &PoolView,
    to: SocketAddr,
    client: IpAddr,
) -> io::Result<(N::Sock, Option<IpAddr>)> {
    let options = &view.config.socket;
    if options.transparent {
        return worker
            .rt
            .net
            .connect(&Connect { to, from: Some(client), options })
            .map(|s| (s, Some(client)));
    }
    let sources = &view.config.source;
    let start = pool.next_source.get();
    pool.next_source.set(start.wrapping_add(1));
    let mut last = None;
    for step in 0..sources.len() {
        let from = sources[start.wrapping_add(step) % sources.len()];
        if from.is_ipv4() != to.is_ipv4() {
            continue;
        }
        match worker.rt.net.connect(&Connect { to, from: Some(from), options }) {
            Ok(sock) => return Ok((sock, Some(from))),
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                worker.ports.exhausted(Some(from), to);
                last = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = last {
        return Err(error);
    }
    let result = worker.rt.net.connect(&Connect { to, from: None, options });
    if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable) {
        worker.ports.exhausted(None, to);
    }
    result.map(|sock| (sock, None))
}
