//! One `tcp` connection: a server for a client, then bytes both ways.
//!
//! Until the first byte has been given to a server another one may be tried. It reads no bytes itself.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::admission::AdmissionPhase;
use model::cause::Cause;
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::retry::{self, FailedAttempt, RetryConditions, RetryDecision};
use model::snapshot::ServiceView;
use model::wait_queue::PriorityClass;

use crate::accounting::logged_request::LoggedRequest;
use crate::accounting::meter::Meter;
use crate::accounting::{self, ConnectionSetup, ExchangeRecord};
use crate::conn::client_peer::ClientPeer;
use crate::conn::deadline::ExchangeDeadline;
use crate::conn::sampling;
use crate::conn::stream::ProxyStream;
use crate::downstream::client_hello;
use crate::downstream::downstream_tls;
use crate::downstream::proxy_protocol;
use crate::exchange::abort_watch::AbortWatch;
use crate::exchange::tunnel;
use crate::rt::NetDriver;
use crate::servers::worker_state::{LocalPool, LocalServer, LocalService};
use crate::upstream::affinity::{AffinityInput, ClientAffinity};
use crate::upstream::hash_key;
use crate::upstream::response_changes::ResponseChanges;
use crate::upstream::retry_attempts::{self, RetryInFlight};
use crate::upstream::routing::{self, MatchedRule, RoutingDecision};
use crate::upstream::{self, UpstreamLease, UpstreamLeaseError, UpstreamLeaseRequest};
use crate::worker::Worker;
use crate::worker::admission::OpenConnection;

/// How long the last bytes of a connection under TLS may wait for room.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves a connection to its end; `open` counts it until then.
pub async fn serve<N: NetDriver>(
    worker: Rc<Worker<N>>,
    client: ProxyStream<N>,
    (peer, local, accepted): (SocketAddr, SocketAddr, MonotonicTime),
    service: Rc<LocalService<N>>,
    open: OpenConnection,
) {
    client.attach_current_task();
    open.set_task(worker.rt.current());
    let looked = worker.rt.now();
    let opened =
        proxy_protocol::read_proxy_header(&worker, client, (peer, local), &service, &open).await;
    let Some((client, (peer, local))) = opened else { return };
    let Some(client) = downstream_tls::accept_tls(&worker, client, peer, &service, &open).await
    else {
        return;
    };
    let caller = Rc::new(ClientPeer::new(peer, local));
    let view = service.view.borrow().clone();
    let _exchange = worker.gauges.count_exchange(&view);
    let counters = &view.stats.slots[worker.index].counters;
    counters.requests.add(1);
    let mut record = begin_record(worker.rt.now(), &client, accepted, looked);
    // Boxed so that a long-lived tunnel does not keep room for them.
    let routed = Box::pin(route(&worker, (&client, peer), &service, &view, &open)).await;
    // From here on a server has it too.
    open.set_phase(AdmissionPhase::Busy, worker.rt.now());
    let (pool, taken, first) = match routed {
        Ok(routed) => routed,
        Err(cause) => {
            record.cause = Some(cause);
            worker.close(&view, None, &mut record, &LoggedRequest::tcp(peer));
            client.reset();
            return;
        }
    };
    let class = connection_class(&view, taken.as_ref());
    let ways = TcpRoute { view: &view, pool: &pool, service: &service, class };
    let lent = match Box::pin(lease_upstream(&worker, (&client, &caller), &ways, &mut record)).await
    {
        Ok(lent) => lent,
        Err(UpstreamLeaseError { cause, server }) => {
            record.cause = Some(cause);
            worker.close(&view, server.as_deref(), &mut record, &LoggedRequest::tcp(peer));
            client.reset();
            return;
        }
    };
    let server = lent.slot_guard.server.clone();
    record.server = Some(server.id);
    record.request_sent = Some(worker.rt.now());
    let meter = Meter::new(view.stats.clone(), server.view.borrow().stats.clone(), worker.index)
        .with_rule(taken.as_ref().and_then(MatchedRule::live));
    let cuts = AbortWatch::new(&server.view.borrow().stats);
    let upstream = &lent.connection.stream;
    let ends = tunnel::TunnelContext {
        client: &client,
        server: upstream,
        service: &service,
        abort_watch: cuts,
        early_bytes: first,
    };
    let sockets = (&client, upstream);
    sampling::begin_attempt(&worker.sampler, &mut record.sample, sockets, worker.rt.now());
    let ended = tunnel::run(&worker, ends, meter, &mut record.sample).await;
    sampling::end_attempt(&worker.sampler, &view, &mut record, sockets, worker.rt.now());
    record.first_byte = ended.first_byte;
    record.ended_at = Some(worker.rt.now());
    record.add_transfer(&ended.moved);
    record.cause = ended.cause;
    worker.close(&view, Some(&server), &mut record, &LoggedRequest::tcp(peer));
    let balance = pool.view.borrow().config.balance;
    accounting::record_pace(balance, &record, &server.view.borrow().stats.latency, worker.rt.now());
    if ended.cause.is_some() {
        // The other side learns in the same way that it did not end well.
        let UpstreamLease { connection, .. } = lent;
        connection.reset();
        client.reset();
    } else {
        client.finish(worker.rt.now() + CLOSE_TIMEOUT).await;
    }
}

/// The account of a connection that was accepted and first looked at then.
fn begin_record<N: NetDriver>(
    now: MonotonicTime,
    client: &ProxyStream<N>,
    accepted: MonotonicTime,
    looked: MonotonicTime,
) -> ExchangeRecord {
    let mut record = ExchangeRecord::begin(now, now);
    let tls = client.is_tls().then(|| now.since(looked));
    record.sample.connection_setup =
        Some(ConnectionSetup::new(looked.since(accepted), tls, client.tls_group()));
    record
}

/// What the rules say of the connection, and what was read of it for that.
async fn route<N: NetDriver>(
    worker: &Worker<N>,
    (client, peer): (&ProxyStream<N>, SocketAddr),
    service: &LocalService<N>,
    view: &ServiceView,
    open: &OpenConnection,
) -> Result<(Rc<LocalPool<N>>, Option<MatchedRule>, Vec<u8>), Cause> {
    let own = || service.pool.borrow().clone();
    let Some(ruling) = &view.rules else { return Ok((own(), None, Vec::new())) };
    let mut first = Vec::new();
    let sni = match (ruling.table.wants_sni(), client.is_tls()) {
        (false, _) => None,
        (true, true) => client.server_name(),
        (true, false) => {
            client_hello::peek_server_name(worker, client, service, open, &mut first).await?
        }
    };
    match routing::route(worker, service, view, ruling, peer, sni.as_deref(), None) {
        RoutingDecision::Pool(pool, taken) => Ok((pool.unwrap_or_else(own), taken, first)),
        RoutingDecision::Refused(cause, _) => Err(cause),
        // The configuration gives connections no such rules.
        RoutingDecision::Answer(_) => Err(Cause::Internal),
    }
}

/// The class of a connection that this rule took.
fn connection_class(view: &ServiceView, taken: Option<&MatchedRule>) -> PriorityClass {
    let rule = taken.and_then(|taken| view.config.rules.get(taken.at));
    rule.and_then(|rule| rule.priority).unwrap_or(view.config.priority.class)
}

/// Where a connection may go.
struct TcpRoute<'a, N: NetDriver> {
    view: &'a Arc<ServiceView>,
    pool: &'a Rc<LocalPool<N>>,
    service: &'a LocalService<N>,
    /// Its class where it must wait for a server.
    class: PriorityClass,
}

async fn lease_upstream<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    (client, caller): (&ProxyStream<N>, &Rc<ClientPeer>),
    ways: &TcpRoute<'_, N>,
    record: &mut ExchangeRecord,
) -> Result<UpstreamLease<N>, UpstreamLeaseError<N>> {
    let TcpRoute { view, pool, service, class } = *ways;
    let told =
        AffinityInput { peer: caller.peer, request_head: None, session: client.tls_session() };
    let sticking = ClientAffinity::begin(worker, view, pool, &told);
    let mut failed = Vec::<ServerId>::new();
    let mut attempts = 0;
    let under_way = RetryInFlight::default();
    retry_attempts::count_request(worker, pool);
    let whole = MonotonicTime::NEVER;
    let cut_at = &service.cut_at;
    let patience = || ExchangeDeadline { client: Some(client), total: whole, cut_at };
    loop {
        let want = UpstreamLeaseRequest {
            client_peer: caller,
            key: hash_key::connection_hash(&pool.view.borrow().config.hash_on, caller.peer),
            tried_servers: &failed,
            retry_server: None,
            only_fresh_idle: false,
            fresh: true,
            affinity: sticking
                .as_ref()
                .and_then(|it| it.choose_server(pool, &failed, worker.rt.now())),
            upgrade: false,
            authenticates: false,
            class,
            written_servers: &[],
            until: MonotonicTime::NEVER,
            deadline: patience(),
        };
        let now = upstream::lease_now(worker, pool, &want);
        let UpstreamLeaseError { cause, server } =
            match upstream::lease(worker, pool, want, now, record).await {
                Ok(lent) => {
                    if let Some(sticking) = &sticking {
                        let id = lent.slot_guard.server.id;
                        let now = worker.rt.now();
                        sticking.record_chosen_server(
                            pool,
                            id,
                            &failed,
                            now,
                            &mut ResponseChanges::default(),
                        );
                    }
                    return Ok(lent);
                }
                Err(refused) => refused,
            };
        attempts += 1;
        let own = server.as_ref().map(|server| server.id);
        let limit = retry_attempts::retry_limit(&pool.view.borrow(), cause, &failed, own);
        match retry::decide_retry(&retry_facts(limit, attempts, cause)) {
            RetryDecision::GiveUp(cause) => return Err(UpstreamLeaseError { cause, server }),
            RetryDecision::OtherServer | RetryDecision::ReplaySameServer => {
                let taken = retry_attempts::take_retry(worker, pool, &under_way);
                if let Some(server) = server {
                    count_failure(worker, pool, &server, cause);
                    failed.push(server.id);
                }
                taken.map_err(|cause| UpstreamLeaseError { cause, server: None })?;
                view.stats.slots[worker.index].counters.retried.add(1);
                let patience = patience();
                let waits = retry_attempts::back_off(worker, pool, &failed, attempts, &patience);
                if let Some(cause) = waits.await {
                    return Err(UpstreamLeaseError { cause, server: None });
                }
                record.begin_retry();
            }
        }
    }
}

/// What is known of an attempt that came to no connection.
fn retry_facts(limit: u8, attempts: u32, cause: Cause) -> FailedAttempt {
    FailedAttempt {
        idempotent: false,
        response_started: false,
        body_replayable: true,
        stale_connection: false,
        provably_unreceived: true,
        attempts,
        limit,
        conditions: RetryConditions::default(),
        cause,
    }
}

/// Counts a failed attempt at a server.
fn count_failure<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    server: &LocalServer<N>,
    cause: Cause,
) {
    let live = server.view.borrow().stats.clone();
    accounting::count_failed_attempt(cause, false, &live.slots[worker.index]);
    if pool.view.borrow().config.balance.uses_latency() {
        live.latency.record_failure(worker.rt.now());
    }
}
