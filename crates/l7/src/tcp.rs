//! One `tcp` connection: a server for a client, then bytes both ways.
//!
//! Until the first byte has been given to a server another one may be tried. It reads no bytes itself.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::admission::Phase;
use model::cause::Cause;
use model::id::ServerId;
use model::line::Class;
use model::moment::Moment;
use model::retry::{self, Facts, Verdict, Wishes};
use model::snapshot::ServiceView;

use crate::account::{self, Opening, Record};
use crate::admission::OpenConnection;
use crate::again::{self, UnderWay};
use crate::caller::Caller;
use crate::changes::Changes;
use crate::cuts::Cuts;
use crate::front;
use crate::greeting;
use crate::hash_on;
use crate::local::{LocalPool, LocalServer, LocalService};
use crate::measured;
use crate::meter::Meter;
use crate::patience::Patience;
use crate::prelude;
use crate::rt::Net;
use crate::ruled::{self, Ruled, Taken};
use crate::said::Said;
use crate::sticking::{Sticking, Told};
use crate::stream::Stream;
use crate::tunnel;
use crate::upstream::{self, Lent, NotLent, Want};
use crate::worker::Worker;

/// How long the last bytes of a connection under TLS may wait for room.
const PARTING: Duration = Duration::from_secs(5);

/// Serves a connection to its end; `open` counts it until then.
pub async fn serve<N: Net>(
    worker: Rc<Worker<N>>,
    client: Stream<N>,
    (peer, local, accepted): (SocketAddr, SocketAddr, Moment),
    service: Rc<LocalService<N>>,
    open: OpenConnection,
) {
    client.mine();
    open.belongs_to(worker.rt.current());
    let looked = worker.rt.now();
    let opened = prelude::open(&worker, client, (peer, local), &service, &open).await;
    let Some((client, (peer, local))) = opened else { return };
    let Some(client) = front::open(&worker, client, peer, &service, &open).await else { return };
    let caller = Rc::new(Caller::new(peer, local));
    let view = service.view.borrow().clone();
    let _exchange = worker.census.exchange(&view);
    let counters = &view.live.slots[worker.index].counters;
    counters.requests.add(1);
    let mut record = begun(worker.rt.now(), &client, accepted, looked);
    // Boxed so that a long-lived tunnel does not keep room for them.
    let routed = Box::pin(route(&worker, (&client, peer), &service, &view, &open)).await;
    // From here on a server has it too.
    open.set(Phase::Busy, worker.rt.now());
    let (pool, taken, first) = match routed {
        Ok(routed) => routed,
        Err(cause) => {
            record.cause = Some(cause);
            worker.close(&view, None, &mut record, &Said::tcp(peer));
            client.reset();
            return;
        }
    };
    let class = class(&view, taken.as_ref());
    let ways = Ways { view: &view, pool: &pool, service: &service, class };
    let lent = match Box::pin(lend(&worker, (&client, &caller), &ways, &mut record)).await {
        Ok(lent) => lent,
        Err(NotLent { cause, server }) => {
            record.cause = Some(cause);
            worker.close(&view, server.as_deref(), &mut record, &Said::tcp(peer));
            client.reset();
            return;
        }
    };
    let server = lent.hold.server.clone();
    (record.server, record.request_sent) = (Some(server.id), Some(worker.rt.now()));
    let meter = Meter::new(view.live.clone(), server.view.borrow().live.clone(), worker.index)
        .of_rule(taken.as_ref().and_then(Taken::live));
    let cuts = Cuts::of(&server.view.borrow().live);
    let upstream = &lent.connection.stream;
    let ends = tunnel::Ends { client: &client, server: upstream, service: &service, cuts, first };
    let sockets = (&client, upstream);
    measured::begin(&worker.lot, &mut record.measured, sockets, worker.rt.now());
    let ended = tunnel::run(&worker, ends, meter, &mut record.measured).await;
    measured::end(&worker.lot, &view, &mut record, sockets, worker.rt.now());
    record.first_byte = ended.first_byte;
    record.done = Some(worker.rt.now());
    record.add(&ended.moved);
    record.cause = ended.cause;
    worker.close(&view, Some(&server), &mut record, &Said::tcp(peer));
    let balance = pool.view.borrow().config.balance;
    account::learn(balance, &record, &server.view.borrow().live.pace, worker.rt.now());
    if ended.cause.is_some() {
        // The other side learns in the same way that it did not end well.
        let Lent { connection, .. } = lent;
        connection.reset();
        client.reset();
    } else {
        client.finish(worker.rt.now() + PARTING).await;
    }
}

/// The account of a connection that was accepted and first looked at then.
fn begun<N: Net>(now: Moment, client: &Stream<N>, accepted: Moment, looked: Moment) -> Record {
    let mut record = Record::begin(now, now);
    let tls = client.is_sealed().then(|| now.since(looked));
    record.measured.opening = Some(Opening::new(looked.since(accepted), tls, client.tls_group()));
    record
}

/// What the rules say of the connection, and what was read of it for that.
async fn route<N: Net>(
    worker: &Worker<N>,
    (client, peer): (&Stream<N>, SocketAddr),
    service: &LocalService<N>,
    view: &ServiceView,
    open: &OpenConnection,
) -> Result<(Rc<LocalPool<N>>, Option<Taken>, Vec<u8>), Cause> {
    let own = || service.pool.borrow().clone();
    let Some(ruling) = &view.rules else { return Ok((own(), None, Vec::new())) };
    let mut first = Vec::new();
    let sni = match (ruling.table.wants_sni(), client.is_sealed()) {
        (false, _) => None,
        (true, true) => client.server_name(),
        (true, false) => greeting::name(worker, client, service, open, &mut first).await?,
    };
    match ruled::ask(worker, service, view, ruling, peer, sni.as_deref(), None) {
        Ruled::Pool(pool, taken) => Ok((pool.unwrap_or_else(own), taken, first)),
        Ruled::Refused(cause, _) => Err(cause),
        // The configuration gives connections no such rules.
        Ruled::Answer(_) => Err(Cause::Internal),
    }
}

/// The class of a connection that this rule took.
fn class(view: &ServiceView, taken: Option<&Taken>) -> Class {
    let rule = taken.and_then(|taken| view.config.rules.get(taken.at));
    rule.and_then(|rule| rule.priority).unwrap_or(view.config.priority.class)
}

/// Where a connection may go.
struct Ways<'a, N: Net> {
    view: &'a Arc<ServiceView>,
    pool: &'a Rc<LocalPool<N>>,
    service: &'a LocalService<N>,
    /// Its class where it must wait for a server.
    class: Class,
}

async fn lend<N: Net>(
    worker: &Rc<Worker<N>>,
    (client, caller): (&Stream<N>, &Rc<Caller>),
    ways: &Ways<'_, N>,
    record: &mut Record,
) -> Result<Lent<N>, NotLent<N>> {
    let Ways { view, pool, service, class } = *ways;
    let told = Told { peer: caller.peer, head: None, session: client.tls_session() };
    let sticking = Sticking::begin(worker, view, pool, &told);
    let (mut failed, mut attempts, under_way) = (Vec::<ServerId>::new(), 0, UnderWay::default());
    again::first(worker, pool);
    let (whole, cut_at) = (Moment::NEVER, &service.cut_at);
    let patience = || Patience { client: Some(client), whole, cut_at };
    loop {
        let want = Want {
            caller,
            key: hash_on::of_connection(&pool.view.borrow().config.hash_on, caller.peer),
            tried: &failed,
            again: None,
            careful: false,
            fresh: true,
            stick: sticking.as_ref().and_then(|it| it.wanted(pool, &failed, worker.rt.now())),
            upgrade: false,
            authenticates: false,
            class,
            written: &[],
            until: Moment::NEVER,
            patience: patience(),
        };
        let now = upstream::now(worker, pool, &want);
        let NotLent { cause, server } = match upstream::lend(worker, pool, want, now, record).await
        {
            Ok(lent) => {
                if let Some(sticking) = &sticking {
                    let (id, now) = (lent.hold.server.id, worker.rt.now());
                    sticking.took(pool, id, &failed, now, &mut Changes::default());
                }
                return Ok(lent);
            }
            Err(refused) => refused,
        };
        attempts += 1;
        let own = server.as_ref().map(|server| server.id);
        let limit = again::limit(&pool.view.borrow(), cause, &failed, own);
        match retry::judge(&facts(limit, attempts, cause)) {
            Verdict::GiveUp(cause) => return Err(NotLent { cause, server }),
            Verdict::Another | Verdict::Replay => {
                let taken = again::take(worker, pool, &under_way);
                if let Some(server) = server {
                    count(worker, pool, &server, cause);
                    failed.push(server.id);
                }
                taken.map_err(|cause| NotLent { cause, server: None })?;
                view.live.slots[worker.index].counters.retried.add(1);
                let patience = patience();
                let waits = again::back_off(worker, pool, &failed, attempts, &patience);
                if let Some(cause) = waits.await {
                    return Err(NotLent { cause, server: None });
                }
                record.again();
            }
        }
    }
}

/// What is known of an attempt that came to no connection.
fn facts(limit: u8, attempts: u32, cause: Cause) -> Facts {
    Facts {
        idempotent: false,
        answer_begun: false,
        body_replayable: true,
        stale_connection: false,
        provably_unreceived: true,
        attempts,
        limit,
        wishes: Wishes::default(),
        cause,
    }
}

/// Counts a failed attempt at a server.
fn count<N: Net>(worker: &Worker<N>, pool: &LocalPool<N>, server: &LocalServer<N>, cause: Cause) {
    let live = server.view.borrow().live.clone();
    account::attempt_failed(cause, false, &live.slots[worker.index]);
    if pool.view.borrow().config.balance.wants_times() {
        live.pace.failed(worker.rt.now());
    }
}
