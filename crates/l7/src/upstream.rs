//! Connections to servers: lent for one exchange or tunnel, from the shelf or newly made.
//!
//! It chooses a server, waits while every server is at its cap, connects and reports failures as causes. Whether
//! another attempt is made is not decided here: `exchange` asks `model::retry`.

mod connect;
mod many;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::config::{Gone, Speak};
use model::id::ServerId;
use model::live::ServerLive;
use model::moment::Moment;
use model::pick::{Ask, Choice};
use model::snapshot::{PoolView, ServerState};

use crate::account::Record;
use crate::caller::{Caller, Whose};
use crate::connected::Upstream;
use crate::local::{LocalPool, LocalServer};
use crate::outside::Observation;
use crate::patience::Patience;
use crate::rt::Net;
use crate::shelf::Swept;
use crate::sticking::Stick;
use crate::worker::Worker;
use connect::Way;

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
pub struct Want<'a, N: Net> {
    /// The client.
    pub caller: &'a Rc<Caller>,
    /// The hash of what the pool's `hash-on` names, where it is not the address and the request has it.
    pub key: Option<u64>,
    /// Servers that failed already.
    pub tried: &'a [ServerId],
    /// Only this server, on a new connection: a replay.
    pub again: Option<ServerId>,
    /// The request must not be sent on a connection that may be dying: look once more before lending.
    pub careful: bool,
    /// Never from the shelf.
    pub fresh: bool,
    /// The server that keeps the client.
    pub stick: Option<Stick>,
    /// Asks for another protocol.
    pub upgrade: bool,
    /// What may end the waiting.
    pub patience: Patience<'a, N>,
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
pub fn now<N: Net>(worker: &Rc<Worker<N>>, pool: &Rc<LocalPool<N>>, want: &Want<'_, N>) -> Now<N> {
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
            && let Some(connection) = kept(worker, &view, &hold.server, want)
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
    want: Want<'_, N>,
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
            let picky = !want.tried.is_empty() || want.stick.is_some();
            place = Some(pool.queue.enter(&worker.rt, picky));
            record.queue_begin = Some(worker.rt.look());
            give_up = worker.rt.now() + timeout;
        }
        if let Some(cause) = want.patience.over(worker.rt.now()) {
            return Err(refused(cause));
        }
        if worker.rt.now() >= give_up {
            return Err(refused(Cause::QueueTimeout));
        }
        wait(worker, pool, want.patience.until(give_up)).await;
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
    want: &Want<'_, N>,
    hold: Hold<N>,
    record: &mut Record,
) -> Result<Lent<N>, NotLent<N>> {
    let view = pool.view.borrow().clone();
    record.connect_begin = Some(worker.rt.look());
    let server = hold.server.clone();
    let slot = &hold.live.slots[worker.index].counters;
    slot.connects.add(1);
    let way = Way {
        pool,
        view: &view,
        server: &server,
        caller: want.caller,
        patience: &want.patience,
        until: worker.rt.now() + view.config.timeout.connect,
        speak: match view.config.http2.speak {
            _ if want.fresh => Speak::Off,
            // Few servers take a WebSocket in HTTP/2; every one that takes it at all does in HTTP/1.1.
            Speak::Prefer if want.upgrade => Speak::Off,
            speak => speak,
        },
    };
    match many::connect(worker, way, want.again.is_none()).await {
        Ok((mut connection, reused)) => {
            connection.whose = whose(&view, want.caller);
            record.connect_end = Some(worker.rt.look());
            if server.failing.replace(false) {
                worker
                    .outside
                    .observe(Observation::ConnectSucceeded { pool: view.id, server: server.id });
            }
            Ok(Lent { connection, reused, hold })
        }
        Err((cause, reason)) => {
            slot.connect_failed.add(1);
            if cause == Cause::NoDescriptor {
                worker.outside.observe(Observation::NoDescriptor { worker: worker.index });
            }
            if concerns_server(cause) {
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

/// Whether a failed connection says something of the server: not when it ended for want of something of ours, or
/// because the exchange did.
fn concerns_server(cause: Cause) -> bool {
    !matches!(
        cause,
        Cause::NoSourcePort
            | Cause::NoDescriptor
            | Cause::Internal
            | Cause::WholeTimeout
            | Cause::DrainCut
            | Cause::ClientReset
    )
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

fn choose<N: Net>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    view: &PoolView,
    want: &Want<N>,
) -> Choice {
    if let Some(id) = want.again
        && let Some(index) = view.servers.iter().position(|server| server.id == id)
    {
        let server = &view.servers[index];
        if server.config.connections.is_none_or(|cap| server.live.in_flight.get() < cap) {
            return Choice::Server(index);
        }
    }
    match want.stick {
        Some(Stick::Refuse) => return Choice::None,
        Some(Stick::Wait) => return Choice::AllAtCap,
        Some(Stick::To { server: id, spill, gone }) => {
            let index = view.servers.iter().position(|server| server.id == id);
            if let Some(index) = index {
                let server = &view.servers[index];
                if matches!(server.state, ServerState::Down | ServerState::Disabled) {
                    // It fell while it was waited for.
                    match gone {
                        Gone::Wait => return Choice::AllAtCap,
                        Gone::Refuse => return Choice::None,
                        Gone::Choose => return any(worker, pool, view, want),
                    }
                }
                let full = |cap| server.live.in_flight.get() >= cap;
                if !server.config.connections.is_some_and(full) {
                    return Choice::Server(index);
                }
                if !spill {
                    return Choice::AllAtCap;
                }
            }
        }
        None => {}
    }
    any(worker, pool, view, want)
}

/// Whichever the pool's policy says.
fn any<N: Net>(worker: &Worker<N>, pool: &LocalPool<N>, view: &PoolView, want: &Want<N>) -> Choice {
    let client = want.caller.peer.ip();
    let ask = Ask { client, key: want.key, tried: want.tried, now: worker.rt.now() };
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

/// What is open already.
fn kept<N: Net>(
    worker: &Rc<Worker<N>>,
    view: &PoolView,
    server: &LocalServer<N>,
    want: &Want<N>,
) -> Option<Upstream<N>> {
    if view.config.http2.speak != Speak::Off
        && let Some(strand) = server.mux.open(&worker.rt, want.upgrade)
    {
        server.view.borrow().live.slots[worker.index].counters.reused.add(1);
        return Some(strand);
    }
    shelved(worker, view, server, want)
}

/// Whose a connection to this pool is that was made for this client: servers that see a client's address in it must
/// get nobody else's requests on it.
fn whose(view: &PoolView, caller: &Rc<Caller>) -> Whose {
    let named = view.config.send_proxy.is_some() || view.config.socket.transparent;
    if named { Whose::of(caller) } else { Whose::Anybodys }
}

fn shelved<N: Net>(
    worker: &Worker<N>,
    view: &PoolView,
    server: &LocalServer<N>,
    want: &Want<'_, N>,
) -> Option<Upstream<N>> {
    let (careful, whose) = (want.careful, whose(view, want.caller));
    let mut swept = Swept::default();
    let mut found = None;
    while let Some(connection) = server.shelf.borrow_mut().take(
        worker.rt.now(),
        view.config.timeout.idle,
        (careful, &whose),
        &mut swept,
    ) {
        if careful && !connection.stream.is_quiet() {
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
