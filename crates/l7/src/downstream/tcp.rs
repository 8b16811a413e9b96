//! One `tcp` connection: chooses a server for the client, then relays bytes in both directions.
//!
//! Another server may be tried until the first byte was sent to a server. Bytes are relayed elsewhere.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::admission::AdmissionPhase;
use model::cause::Cause;
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::retry::{self, FailedAttempt, RetryConditions, RetryDecision};
use model::rules::ExchangeSettings;
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
use crate::downstream::proxy_protocol::{self, ConnectionAddresses, ProxiedClient};
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

/// How long the last bytes of a connection under TLS may wait to be sent.
/// Two retransmissions fit (1 + 2 s).
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves a connection to its end; `open` counts it until then.
pub async fn serve<N: NetDriver>(
    worker: Rc<Worker<N>>,
    client: ProxyStream<N>,
    addresses: ConnectionAddresses,
    accepted: MonotonicTime,
    service: Rc<LocalService<N>>,
    open: OpenConnection,
) {
    client.attach_current_task();
    open.set_task(worker.rt.current());
    let looked = worker.rt.now();
    let opened =
        proxy_protocol::read_proxy_header(&worker, client, addresses, &service, &open).await;
    let Some(ProxiedClient { stream: client, addresses }) = opened else { return };
    let ConnectionAddresses { peer, local, proxy } = addresses;
    let accepted_tls = downstream_tls::accept_tls(&worker, client, peer, &service, &open).await;
    let Some(client) = accepted_tls else { return };
    let client_peer = Rc::new(ClientPeer::new(peer, local).behind_proxy(proxy));
    let view = service.view.borrow().clone();
    let _exchange = worker.gauges.count_exchange(&view);
    view.stats.slots[worker.index].counters.requests.add(1);
    let mut record = begin_record(worker.rt.now(), &client, accepted, looked);
    // Boxed, so that a long-lived tunnel does not reserve memory for this.
    let routed = Box::pin(route(&worker, &client, peer, &service, &view, &open)).await;
    // From here on the connection also occupies a server.
    open.set_phase(AdmissionPhase::Busy, worker.rt.now());
    let RoutedConnection { pool, matched, first_bytes } = match routed {
        Ok(routed) => routed,
        Err(cause) => {
            return close_refused(&worker, &view, None, record, client, &client_peer, cause);
        }
    };
    let tcp_route = TcpRoute::new(&view, &pool, &service, matched.as_ref());
    let leased =
        Box::pin(lease_upstream(&worker, &client, &client_peer, &tcp_route, &mut record)).await;
    let lease = match leased {
        Ok(lease) => lease,
        Err(UpstreamLeaseError { cause, server }) => {
            let server = server.as_deref();
            return close_refused(&worker, &view, server, record, client, &client_peer, cause);
        }
    };
    let server = lease.slot_guard.server.clone();
    record.server = Some(server.id);
    record.request_sent = Some(worker.rt.now());
    let meter = tunnel_meter(&worker, &view, &server, matched.as_ref());
    let abort_watch = AbortWatch::new(&server.view.borrow().stats);
    let upstream = &lease.connection.stream;
    let context = tunnel::TunnelContext {
        client: &client,
        server: upstream,
        service: &service,
        abort_watch,
        early_bytes: first_bytes,
        idle: tcp_route.settings.tunnel(&service.view.borrow().config),
    };
    let begun = worker.rt.now();
    sampling::begin_attempt(&worker.sampler, &mut record.sample, &client, upstream, begun);
    let ended = tunnel::run(&worker, context, meter, &mut record.sample).await;
    sampling::end_attempt(&worker.sampler, &view, &mut record, &client, upstream, worker.rt.now());
    close_record(&worker, &view, &pool, &server, &mut record, &ended, &client_peer);
    if ended.cause.is_some() {
        // Both sides are reset, so that each one notices the failure.
        let UpstreamLease { connection, .. } = lease;
        connection.reset();
        client.reset();
    } else {
        client.finish(worker.rt.now() + CLOSE_TIMEOUT).await;
    }
}

fn tunnel_meter<N: NetDriver>(
    worker: &Worker<N>,
    view: &ServiceView,
    server: &LocalServer<N>,
    matched: Option<&MatchedRule>,
) -> Meter {
    Meter::new(view.stats.clone(), server.view.borrow().stats.clone(), worker.index)
        .with_rule(matched.and_then(MatchedRule::live))
}

/// Closes the record of a connection that got no server, and resets the client.
fn close_refused<N: NetDriver>(
    worker: &Worker<N>,
    view: &ServiceView,
    server: Option<&LocalServer<N>>,
    mut record: ExchangeRecord,
    client: ProxyStream<N>,
    client_peer: &ClientPeer,
    cause: Cause,
) {
    record.cause = Some(cause);
    let request = LoggedRequest::tcp(client_peer.peer, client_peer.proxy_origin());
    worker.close(view, server, &mut record, &request);
    client.reset();
}

/// Closes the record of a connection whose tunnel has ended.
fn close_record<N: NetDriver>(
    worker: &Worker<N>,
    view: &ServiceView,
    pool: &LocalPool<N>,
    server: &LocalServer<N>,
    record: &mut ExchangeRecord,
    ended: &tunnel::TunnelOutcome,
    client_peer: &ClientPeer,
) {
    record.first_byte = ended.first_byte;
    record.ended_at = Some(worker.rt.now());
    record.add_transfer(&ended.moved);
    record.cause = ended.cause;
    let request = LoggedRequest::tcp(client_peer.peer, client_peer.proxy_origin());
    worker.close(view, Some(server), record, &request);
    let balance = pool.view.borrow().config.balance;
    accounting::record_pace(balance, record, &server.view.borrow().stats.latency, worker.rt.now());
}

/// The record of a connection that was accepted at `accepted`, and whose task started at `looked`.
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

/// Where a connection goes.
struct RoutedConnection<N: NetDriver> {
    pool: Rc<LocalPool<N>>,
    matched: Option<MatchedRule>,
    /// The client's bytes that were read for the decision.
    first_bytes: Vec<u8>,
}

/// Applies the rules to the connection.
async fn route<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    peer: SocketAddr,
    service: &LocalService<N>,
    view: &ServiceView,
    open: &OpenConnection,
) -> Result<RoutedConnection<N>, Cause> {
    let own = || service.pool.borrow().clone();
    let mut first_bytes = Vec::new();
    let Some(ruling) = &view.rules else {
        return Ok(RoutedConnection { pool: own(), matched: None, first_bytes });
    };
    let sni = match (ruling.table.wants_sni(), client.is_tls()) {
        (false, _) => None,
        (true, true) => client.server_name(),
        (true, false) => {
            client_hello::peek_server_name(worker, client, service, open, &mut first_bytes).await?
        }
    };
    match routing::route(worker, service, view, ruling, peer, sni.as_deref(), None) {
        RoutingDecision::Pool(pool, matched) => {
            Ok(RoutedConnection { pool: pool.unwrap_or_else(own), matched, first_bytes })
        }
        RoutingDecision::Refused(cause, _) => Err(cause),
        // The configuration does not allow such rules for connections.
        RoutingDecision::Answer(_) => Err(Cause::Internal),
    }
}

/// The route of a connection.
struct TcpRoute<'a, N: NetDriver> {
    view: &'a Arc<ServiceView>,
    pool: &'a Rc<LocalPool<N>>,
    service: &'a LocalService<N>,
    /// The priority class in a server's wait queue.
    class: PriorityClass,
    /// The timeouts and retries of the matched rule.
    settings: ExchangeSettings,
}

impl<'a, N: NetDriver> TcpRoute<'a, N> {
    /// The route of a connection that this rule matched.
    fn new(
        view: &'a Arc<ServiceView>,
        pool: &'a Rc<LocalPool<N>>,
        service: &'a LocalService<N>,
        matched: Option<&MatchedRule>,
    ) -> TcpRoute<'a, N> {
        let rule = matched.and_then(|matched| view.config.rules.get(matched.at));
        let class = rule.and_then(|rule| rule.priority).unwrap_or(view.config.priority.class);
        let settings = rule.map(ExchangeSettings::from_rule).unwrap_or_default();
        TcpRoute { view, pool, service, class, settings }
    }
}

async fn lease_upstream<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    client: &ProxyStream<N>,
    client_peer: &Rc<ClientPeer>,
    route: &TcpRoute<'_, N>,
    record: &mut ExchangeRecord,
) -> Result<UpstreamLease<N>, UpstreamLeaseError<N>> {
    let TcpRoute { view, pool, service, class, .. } = *route;
    let input =
        AffinityInput { peer: client_peer.peer, request_head: None, session: client.tls_session() };
    let affinity = ClientAffinity::begin(worker, view, pool, &input);
    let mut failed = Vec::<ServerId>::new();
    let mut attempts = 0;
    let retry_in_flight = RetryInFlight::default();
    retry_attempts::count_request(worker, pool);
    let deadline = || opening_deadline(client, service);
    loop {
        let now = worker.rt.now();
        let choice = affinity.as_ref().and_then(|it| it.choose_server(pool, &failed, now));
        let want = UpstreamLeaseRequest {
            client: client_peer.peer.ip(),
            client_peer,
            key: hash_key::connection_hash(&pool.view.borrow().config.hash_on, client_peer.peer),
            tried_servers: &failed,
            retry_server: None,
            only_fresh_idle: false,
            fresh: true,
            affinity: choice,
            upgrade: false,
            authenticates: false,
            class,
            settings: &route.settings,
            written_servers: &[],
            until: MonotonicTime::NEVER,
            deadline: deadline(),
        };
        let now = upstream::lease_now(worker, pool, &want);
        let leased = upstream::lease(worker, pool, want, now, record).await;
        let UpstreamLeaseError { cause, server } = match leased {
            Ok(lease) => {
                remember_server(worker, pool, affinity.as_ref(), &lease, &failed);
                return Ok(lease);
            }
            Err(refused) => refused,
        };
        attempts += 1;
        let failed_now = server.as_ref().map(|server| server.id);
        let limit = retry_limit(pool, &route.settings, cause, &failed, failed_now);
        match retry::decide_retry(&retry_facts(limit, attempts, cause)) {
            RetryDecision::GiveUp(cause) => return Err(UpstreamLeaseError { cause, server }),
            RetryDecision::OtherServer | RetryDecision::ReplaySameServer => {
                let permitted = retry_attempts::take_retry(worker, pool, &retry_in_flight);
                if let Some(server) = server {
                    count_failure(worker, pool, &server, cause);
                    failed.push(server.id);
                }
                permitted.map_err(|cause| UpstreamLeaseError { cause, server: None })?;
                view.stats.slots[worker.index].counters.retried.add(1);
                let deadline = deadline();
                let waits = retry_attempts::back_off(worker, pool, &failed, attempts, &deadline);
                if let Some(cause) = waits.await {
                    return Err(UpstreamLeaseError { cause, server: None });
                }
                record.begin_retry();
            }
        }
    }
}

/// How often the pool's and the rule's settings allow another attempt after this failure.
fn retry_limit<N: NetDriver>(
    pool: &LocalPool<N>,
    settings: &ExchangeSettings,
    cause: Cause,
    failed: &[ServerId],
    failed_now: Option<ServerId>,
) -> u8 {
    retry_attempts::retry_limit(&pool.view.borrow(), settings, cause, failed, failed_now)
}

/// While a server is looked for, only the client and the order to close end the wait.
fn opening_deadline<'a, N: NetDriver>(
    client: &'a ProxyStream<N>,
    service: &'a LocalService<N>,
) -> ExchangeDeadline<'a, N> {
    ExchangeDeadline { client: Some(client), total: MonotonicTime::NEVER, cut_at: &service.cut_at }
}

/// Stores the server for the client's next connection, if the pool has affinity.
fn remember_server<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    affinity: Option<&ClientAffinity>,
    lease: &UpstreamLease<N>,
    failed: &[ServerId],
) {
    let Some(affinity) = affinity else { return };
    // A TCP connection has no response head to change.
    let unused = &mut ResponseChanges::default();
    let server = lease.slot_guard.server.id;
    affinity.record_chosen_server(pool, server, failed, worker.rt.now(), unused);
}

/// The facts about a connection attempt that failed.
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
