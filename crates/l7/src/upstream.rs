//! Connections to servers, leased for one exchange or tunnel: from the idle connection pool or newly made.
//!
//! Chooses a server, waits while every server is at its connection cap, connects, and reports failures as causes.
//! `exchange` decides with `model::retry` whether another attempt is made.

pub(crate) mod affinity;
pub(crate) mod circuit_breaker;
mod connect;
pub(crate) mod hash_key;
pub(crate) mod hedge;
mod idle;
mod lease;
pub(crate) mod mirror;
mod multiplexed;
pub(crate) mod request_cookies;
pub(crate) mod response_changes;
pub(crate) mod response_edits;
pub(crate) mod retry_attempts;
pub(crate) mod routing;
pub(crate) mod upstream_tls;

use std::rc::Rc;
use std::time::Duration;

use model::cause::Cause;
use model::circuit_breaker::breaker_clock_ms;
use model::config::{ServerHttp2Mode, UnavailableServerAction};
use model::load_balancing::{self, PickRequest, PickResult};
use model::monotonic_time::MonotonicTime;
use model::snapshot::{PoolView, ServerState};
use model::wait_queue::PriorityClass;

use crate::accounting::{ExchangeRecord, SocketSamples};
use crate::upstream::affinity::AffinityChoice;

use crate::accounting::observer::PlaneObservation;
use crate::conn::upstream_connection::ConnectFailure;
use crate::rt::NetDriver;
use crate::servers::wait_queue::{QueueContext, QueueTicket};
use crate::servers::worker_state::LocalPool;
use crate::worker::Worker;
use connect::ConnectPlan;
use idle::{connection_owner, has_dedicated, take_reusable};
pub use idle::{is_last, return_connection};
pub use lease::{ServerSlotGuard, UpstreamLease, UpstreamLeaseError, UpstreamLeaseRequest};
use multiplexed::EstablishedUpstream;

/// Poll interval of a task that waits for a server below its cap: other workers release slots without a notification.
/// A released slot is used at most this much later.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What is possible without waiting.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are lent: a box would cost each an allocation"
)]
pub enum LeaseDecision<N: NetDriver> {
    Leased(UpstreamLease<N>),
    /// A server's slot was taken; the connection must still be made.
    Chosen(ServerSlotGuard<N>),
    /// Every server is at its cap.
    AllAtCap,
    /// No server may be used.
    Refused(Cause),
}

/// Leases an idle connection, or returns the next step.
pub fn lease_now<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    pool: &Rc<LocalPool<N>>,
    want: &UpstreamLeaseRequest<'_, N>,
) -> LeaseDecision<N> {
    if !pool.queue.may_pass(&worker.rt, want.class) {
        pool.queue.wake_waiters(&worker.rt);
        return LeaseDecision::AllAtCap;
    }
    let view = pool.view.borrow().clone();
    loop {
        let index = match choose(worker, pool, &view, want) {
            PickResult::Server(index) => index,
            PickResult::None => return LeaseDecision::Refused(Cause::NoServer),
            PickResult::AllAtCap => return LeaseDecision::AllAtCap,
        };
        let Some(server) = pool.servers.borrow().get(index).cloned() else {
            return LeaseDecision::Refused(Cause::Internal);
        };
        let live = view.servers[index].stats.clone();
        let cap = view.servers[index].config.connections.unwrap_or(u32::MAX);
        if !live.in_flight.try_increment(cap) {
            continue;
        }
        let Some(permit) = circuit_breaker::admit_request(worker, &view) else {
            live.in_flight.decrement();
            return LeaseDecision::Refused(Cause::CircuitOpen);
        };
        let worker_ = worker.clone();
        let pool_ = pool.clone();
        let slot_guard =
            ServerSlotGuard { server, live, worker: worker_, pool: pool_, _permit: permit };
        if !want.fresh
            && want.retry_server.is_none()
            && let Some(connection) = take_reusable(worker, &view, &slot_guard.server, want)
        {
            return LeaseDecision::Leased(UpstreamLease { connection, reused: true, slot_guard });
        }
        return LeaseDecision::Chosen(slot_guard);
    }
}

/// Continues after `lease_now`: waits for a slot, and connects.
///
/// # Errors
/// The cause, and the server if one was chosen.
pub async fn lease<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    pool: &Rc<LocalPool<N>>,
    want: UpstreamLeaseRequest<'_, N>,
    mut now_: LeaseDecision<N>,
    record: &mut ExchangeRecord,
) -> Result<UpstreamLease<N>, UpstreamLeaseError<N>> {
    let refused = |cause| UpstreamLeaseError { cause, server: None };
    let mut give_up = MonotonicTime::NEVER;
    let mut ticket = None;
    let slot_guard = loop {
        match now_ {
            LeaseDecision::Leased(lease) => break Err(lease),
            LeaseDecision::Chosen(slot_guard) => break Ok(slot_guard),
            LeaseDecision::Refused(cause) => return Err(refused(cause)),
            LeaseDecision::AllAtCap => {}
        }
        if ticket.is_none() {
            let view = pool.view.borrow().clone();
            let picky = !want.tried_servers.is_empty() || want.affinity.is_some();
            let entered =
                pool.queue.enter(&worker.rt, &queue_context(worker, &view), want.class, picky);
            ticket = Some(entered.map_err(refused)?);
            record.queue_begin = Some(worker.rt.update_now());
            worker.charge_run_delay(&mut record.sample);
            give_up = want.until.min(worker.rt.now() + want.settings.queue(&view.config));
        }
        if let Some(cause) = want.deadline.expired_cause(worker.rt.now()) {
            return Err(refused(cause));
        }
        if worker.rt.now() >= give_up {
            return Err(refused(Cause::QueueTimeout));
        }
        wait_in_queue(worker, pool, want.class, want.deadline.earliest_until(give_up)).await;
        pool.queue.shed_excess(&worker.rt, &queue_context(worker, &pool.view.borrow()));
        if let Some(cause) = ticket.as_ref().and_then(QueueTicket::dismissal) {
            return Err(refused(cause));
        }
        now_ = lease_now(worker, pool, &want);
    };
    if let Some(ticket) = ticket {
        ticket.leave_served();
        pool.queue.shed_excess(&worker.rt, &queue_context(worker, &pool.view.borrow()));
    }
    if record.queue_begin.is_some() {
        record.queue_end = Some(worker.rt.now());
    }
    match slot_guard {
        Err(lease) => Ok(lease),
        Ok(slot_guard) => connect_for(worker, pool, &want, slot_guard, record).await,
    }
}

async fn connect_for<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    pool: &LocalPool<N>,
    want: &UpstreamLeaseRequest<'_, N>,
    slot_guard: ServerSlotGuard<N>,
    record: &mut ExchangeRecord,
) -> Result<UpstreamLease<N>, UpstreamLeaseError<N>> {
    let view = pool.view.borrow().clone();
    record.connect_begin = Some(worker.rt.update_now());
    worker.charge_run_delay(&mut record.sample);
    let server = slot_guard.server.clone();
    let slot = &slot_guard.live.slots[worker.index].counters;
    let way = ConnectPlan {
        pool,
        view: &view,
        server: &server,
        client_peer: want.client_peer,
        deadline: &want.deadline,
        until: want.until.min(worker.rt.now() + want.settings.connect(&view.config)),
        speak: match view.config.http2.speak {
            _ if want.fresh => ServerHttp2Mode::Off,
            // Few servers support WebSockets over HTTP/2; servers with WebSockets support them over HTTP/1.1.
            ServerHttp2Mode::Prefer if want.upgrade || want.authenticates => ServerHttp2Mode::Off,
            speak => speak,
        },
    };
    match multiplexed::connect_multiplexed(worker, way, want.retry_server.is_none()).await {
        Ok(EstablishedUpstream { mut connection, reused }) => {
            slot.connects.add(1);
            connection.owner = connection_owner(&view, want.client_peer);
            record.connect_end = Some(worker.rt.update_now());
            if server.failing.replace(false) {
                worker.observer.observe(PlaneObservation::ConnectSucceeded {
                    pool: view.id,
                    server: server.id,
                });
            }
            Ok(UpstreamLease { connection, reused, slot_guard })
        }
        // No server was contacted.
        Err(ConnectFailure { cause: Cause::CircuitOpen, .. }) => {
            Err(UpstreamLeaseError { cause: Cause::CircuitOpen, server: None })
        }
        Err(ConnectFailure { cause, reason, tls_counters }) => {
            if let Some(counters) = tls_counters {
                let server = Some(*counters);
                record.sample.sockets = Some(Box::new(SocketSamples {
                    server,
                    server_tls: true,
                    ..Default::default()
                }));
            }
            slot.connects.add(1);
            slot.connect_failed.add(1);
            if cause == Cause::NoDescriptor {
                worker.observer.observe(PlaneObservation::NoDescriptor { worker: worker.index });
            }
            if concerns_server(cause) {
                server.failing.set(true);
                worker.observer.observe(PlaneObservation::ConnectFailed {
                    pool: view.id,
                    server: server.id,
                    reason,
                });
            }
            Err(UpstreamLeaseError { cause, server: Some(server) })
        }
    }
}

/// Whether a failed connection indicates a problem of the server. A lack of local resources, or the end of the
/// exchange, does not.
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

fn choose<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    view: &PoolView,
    want: &UpstreamLeaseRequest<N>,
) -> PickResult {
    if let Some(id) = want.retry_server
        && let Some(index) = view.servers.iter().position(|server| server.id == id)
    {
        let server = &view.servers[index];
        if server.config.connections.is_none_or(|cap| server.stats.in_flight.get() < cap) {
            return PickResult::Server(index);
        }
    }
    if let Some(choice) = dedicated_server(pool, view, want) {
        return choice;
    }
    match want.affinity {
        Some(AffinityChoice::Refuse) => return PickResult::None,
        Some(AffinityChoice::Wait) => return PickResult::AllAtCap,
        Some(AffinityChoice::To { server: id, spill, when_down }) => {
            let index = view.servers.iter().position(|server| server.id == id);
            if let Some(index) = index {
                let server = &view.servers[index];
                if matches!(server.state, ServerState::Down | ServerState::Disabled) {
                    // Health checks marked the server as down during the wait.
                    match when_down {
                        UnavailableServerAction::Wait => return PickResult::AllAtCap,
                        UnavailableServerAction::Refuse => return PickResult::None,
                        UnavailableServerAction::Choose => {
                            return choose_by_policy(worker, pool, view, want);
                        }
                    }
                }
                let full = |cap| server.stats.in_flight.get() >= cap;
                if !server.config.connections.is_some_and(full) {
                    return PickResult::Server(index);
                }
                if !spill {
                    return PickResult::AllAtCap;
                }
            }
        }
        None => {}
    }
    choose_by_policy(worker, pool, view, want)
}

/// The server to which the client has a dedicated connection, while that server takes work.
fn dedicated_server<N: NetDriver>(
    pool: &LocalPool<N>,
    view: &PoolView,
    want: &UpstreamLeaseRequest<N>,
) -> Option<PickResult> {
    if want.client_peer.has_no_dedicated() {
        return None;
    }
    let servers = pool.servers.borrow();
    let at = view.servers.iter().zip(servers.iter()).position(|(server, local)| {
        let works = matches!(server.state, ServerState::Up | ServerState::Unknown);
        works && server.id == local.id && has_dedicated(local, want)
    })?;
    let server = &view.servers[at];
    let full = server.config.connections.is_some_and(|cap| server.stats.in_flight.get() >= cap);
    Some(if full { PickResult::AllAtCap } else { PickResult::Server(at) })
}

/// Chooses a server by the pool's policy.
fn choose_by_policy<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    view: &PoolView,
    want: &UpstreamLeaseRequest<N>,
) -> PickResult {
    let client = want.client;
    let ask =
        PickRequest { client, hash_key: want.key, tried: want.tried_servers, now: worker.rt.now() };
    let choice = pool.chooser.borrow_mut().pick(view, &ask, &mut worker.rng.borrow_mut());
    match choice {
        PickResult::Server(at) if want.written_servers.contains(&view.servers[at].id) => {
            choose_unwritten(view, want)
        }
        choice => choice,
    }
}

/// Chooses a server that has not received the request yet.
fn choose_unwritten<N: NetDriver>(view: &PoolView, want: &UpstreamLeaseRequest<N>) -> PickResult {
    let mut others = load_balancing::eligible_servers(view)
        .into_iter()
        .map(|(at, _)| at)
        .filter(|at| !want.written_servers.contains(&view.servers[*at].id))
        .peekable();
    if others.peek().is_none() {
        return PickResult::None;
    }
    let below = |at: &usize| {
        let server = &view.servers[*at];
        server.config.connections.is_none_or(|cap| server.stats.in_flight.get() < cap)
    };
    others.find(below).map_or(PickResult::AllAtCap, PickResult::Server)
}

fn queue_context<'a, N: NetDriver>(worker: &Worker<N>, view: &'a PoolView) -> QueueContext<'a> {
    QueueContext { view, worker: worker.index, clock: breaker_clock_ms(worker.rt.now()) }
}

/// Waits until woken; the first task also polls.
async fn wait_in_queue<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    class: PriorityClass,
    give_up: MonotonicTime,
) {
    let first = pool.queue.may_pass(&worker.rt, class);
    let look = if first { give_up.min(worker.rt.now() + POLL_INTERVAL) } else { give_up };
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
