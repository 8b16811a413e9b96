//! TLS towards a server: a new connection completes its handshake before anything is sent on it.
//!
//! The pool's configuration names the trusted authorities. The caller of `connect` handles a failure.

use std::fmt::Display;

use model::cause::Cause;
use model::config::{ServerEndpoint, ServerHttp2Mode};
use model::monotonic_time::MonotonicTime;
use model::snapshot::PoolView;

use crate::conn::deadline::ExchangeDeadline;
use crate::conn::upstream_connection::{ConnectFailure, UpstreamConnection};
use crate::rt::NetDriver;
use crate::servers::worker_state::LocalServer;
use crate::tls::handshake_cause;
use crate::tls::session::TlsSession;
use crate::tls::upstream::UpstreamTls;
use crate::worker::Worker;

/// Performs the TLS handshake, if the pool uses TLS.
pub async fn connect_tls<N: NetDriver>(
    worker: &Worker<N>,
    pool: &PoolView,
    server: &LocalServer<N>,
    connection: UpstreamConnection<N>,
    deadline: &ExchangeDeadline<'_, N>,
    until: MonotonicTime,
    speak: ServerHttp2Mode,
) -> Result<UpstreamConnection<N>, ConnectFailure> {
    if pool.config.tls.is_none() {
        return Ok(connection);
    }
    let to = connection.address.clone();
    let ours = |text: &str| ConnectFailure::new(Cause::Internal, format!("TLS with {to}: {text}"));
    let tls = pool.tls.as_ref().and_then(|material| material.downcast::<UpstreamTls>());
    let tls = tls.ok_or_else(|| ours("nothing to speak it with"))?;
    let name = tls.server_name(&server.view.borrow().config.address.host);
    let name = name.ok_or_else(|| ours("the server's name is none that can be verified"))?;
    let config = match speak == pool.config.http2.speak {
        true => server.tls.borrow_mut().get_or_insert_with(|| tls.for_server(speak)).clone(),
        // A one-time configuration: no session of the other protocol may be resumed.
        false => tls.for_server(speak),
    };
    let session = TlsSession::client(&config, name).map_err(|error| ours(&error.to_string()))?;
    connection.stream.start_tls(session, worker.tls_scratch.clone(), worker.gauges.clone());
    if connection.stream.handshake(deadline.earliest_until(until), || false).await.is_err() {
        let cause = deadline.expired_cause(worker.rt.now()).unwrap_or(Cause::ConnectTimeout);
        return Err(ConnectFailure::new(cause, format!("TLS with {to}: no answer in time")));
    }
    let resumed = connection.stream.with_session(|session| check_session(session, &to));
    let resumed = resumed.unwrap_or_else(|| Err(ours("no session"))).map_err(|failure| {
        let tls_counters = connection.stream.counter_change(true).map(Box::new);
        ConnectFailure { tls_counters, ..failure }
    })?;
    let view = server.view.borrow();
    let counters = &view.stats.slots[worker.index].counters;
    counters.tls_handshakes.add(1);
    counters.tls_resumed.add(u64::from(resumed));
    if let Some(group) = connection.stream.tls_group() {
        view.stats.slots[worker.index].key_exchange_groups.record_group(group);
    }
    drop(view);
    Ok(connection)
}

/// Whether the session was resumed, or why the handshake failed.
fn check_session(session: &TlsSession, to: &ServerEndpoint) -> Result<bool, ConnectFailure> {
    let failed = |cause, text: &dyn Display| {
        Err(ConnectFailure::new(cause, format!("TLS with {to}: {text}")))
    };
    match session.failure() {
        Some(error) => failed(handshake_cause::server_cause(error), error),
        None if session.established() => Ok(session.resumed()),
        None => failed(Cause::ServerTls, &"the server ended the handshake"),
    }
}
