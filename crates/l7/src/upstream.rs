//! Connections to servers: lent for one exchange or tunnel, from the shelf or newly made.
//!
//! It chooses a server, waits while every server is at its cap, connects and reports failures as causes. Whether
//! another attempt is made is not decided here: `exchange` asks `model::retry`.

mod connect;
mod lent;
mod many;
mod open;

use std::rc::Rc;
use std::time::Duration;

use model::breaker::clock;
use model::cause::Cause;
use model::config::{Gone, Speak};
use model::line::Class;
use model::moment::Moment;
use model::pick::{self, Ask, Choice};
use model::snapshot::{PoolView, ServerState};

use crate::account::Record;
use crate::breaking;
use crate::local::LocalPool;
use crate::outside::Observation;
use crate::queue::{Asks, Place};
use crate::rt::Net;
use crate::sticking::Stick;
use crate::worker::Worker;
use connect::Way;
pub use lent::{Hold, Lent, NotLent, Want};
pub use open::{is_last, shelve};
use open::{kept, owns, whose};

/// A task that waits for a server below its cap looks again after this long: other workers give back without
/// telling.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What can be done without waiting.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are lent: a box would cost each an allocation"
)]
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
    if !pool.queue.lets(&worker.rt, want.class) {
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
        let Some(permit) = breaking::request(worker, &view) else {
            live.in_flight.down();
            return Now::Refused(Cause::CircuitOpen);
        };
        let (worker_, pool_) = (worker.clone(), pool.clone());
        let hold = Hold { server, live, worker: worker_, pool: pool_, _permit: permit };
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
        if place.is_none() {
            let view = pool.view.borrow().clone();
            let picky = !want.tried.is_empty() || want.stick.is_some();
            let entered = pool.queue.enter(&worker.rt, &asks(worker, &view), (want.class, picky));
            place = Some(entered.map_err(refused)?);
            record.queue_begin = Some(worker.rt.look());
            give_up = want.until.min(worker.rt.now() + view.config.timeout.queue);
        }
        if let Some(cause) = want.patience.over(worker.rt.now()) {
            return Err(refused(cause));
        }
        if worker.rt.now() >= give_up {
            return Err(refused(Cause::QueueTimeout));
        }
        wait(worker, pool, want.class, want.patience.until(give_up)).await;
        pool.queue.look(&worker.rt, &asks(worker, &pool.view.borrow()));
        if let Some(cause) = place.as_ref().and_then(Place::told) {
            return Err(refused(cause));
        }
        now_ = now(worker, pool, &want);
    };
    if let Some(place) = place {
        place.served();
        pool.queue.look(&worker.rt, &asks(worker, &pool.view.borrow()));
    }
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
    let way = Way {
        pool,
        view: &view,
        server: &server,
        caller: want.caller,
        patience: &want.patience,
        until: want.until.min(worker.rt.now() + view.config.timeout.connect),
        speak: match view.config.http2.speak {
            _ if want.fresh => Speak::Off,
            // Few servers take a WebSocket in HTTP/2; every one that takes it at all does in HTTP/1.1.
            Speak::Prefer if want.upgrade || want.authenticates => Speak::Off,
            speak => speak,
        },
    };
    match many::connect(worker, way, want.again.is_none()).await {
        Ok((mut connection, reused)) => {
            slot.connects.add(1);
            connection.whose = whose(&view, want.caller);
            record.connect_end = Some(worker.rt.look());
            if server.failing.replace(false) {
                worker
                    .outside
                    .observe(Observation::ConnectSucceeded { pool: view.id, server: server.id });
            }
            Ok(Lent { connection, reused, hold })
        }
        // No server was asked.
        Err((Cause::CircuitOpen, _)) => Err(NotLent { cause: Cause::CircuitOpen, server: None }),
        Err((cause, reason)) => {
            slot.connects.add(1);
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
    if let Some(choice) = own(pool, view, want) {
        return choice;
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

/// The server to which the client has a connection of its own, while that server takes work.
fn own<N: Net>(pool: &LocalPool<N>, view: &PoolView, want: &Want<N>) -> Option<Choice> {
    if want.caller.owns_nothing() {
        return None;
    }
    let servers = pool.servers.borrow();
    let at = view.servers.iter().zip(servers.iter()).position(|(server, local)| {
        let works = matches!(server.state, ServerState::Up | ServerState::Unknown);
        works && server.id == local.id && owns(local, want)
    })?;
    let server = &view.servers[at];
    let full = server.config.connections.is_some_and(|cap| server.live.in_flight.get() >= cap);
    Some(if full { Choice::AllAtCap } else { Choice::Server(at) })
}

/// Whichever the pool's policy says.
fn any<N: Net>(worker: &Worker<N>, pool: &LocalPool<N>, view: &PoolView, want: &Want<N>) -> Choice {
    let client = want.caller.peer.ip();
    let ask = Ask { client, key: want.key, tried: want.tried, now: worker.rt.now() };
    let choice = pool.chooser.borrow_mut().pick(view, &ask, &mut worker.rng.borrow_mut());
    match choice {
        Choice::Server(at) if want.written.contains(&view.servers[at].id) => unwritten(view, want),
        choice => choice,
    }
}

/// A server that may be asked although others of the pool have the request already.
fn unwritten<N: Net>(view: &PoolView, want: &Want<N>) -> Choice {
    let mut others = pick::eligible(view)
        .into_iter()
        .map(|(at, _)| at)
        .filter(|at| !want.written.contains(&view.servers[*at].id))
        .peekable();
    if others.peek().is_none() {
        return Choice::None;
    }
    let below = |at: &usize| {
        let server = &view.servers[*at];
        server.config.connections.is_none_or(|cap| server.live.in_flight.get() < cap)
    };
    others.find(below).map_or(Choice::AllAtCap, Choice::Server)
}

fn asks<'a, N: Net>(worker: &Worker<N>, view: &'a PoolView) -> Asks<'a> {
    Asks { view, worker: worker.index, clock: clock(worker.rt.now()) }
}

/// Waits until called; whoever is first looks by itself too.
async fn wait<N: Net>(worker: &Worker<N>, pool: &LocalPool<N>, class: Class, give_up: Moment) {
    let first = pool.queue.lets(&worker.rt, class);
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
