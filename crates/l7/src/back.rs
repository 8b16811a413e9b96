//! TLS towards a server: a new connection shakes hands before anything is sent on it.
//!
//! Whom to trust is the pool's; what a failure leads to is decided by whoever asked for the connection.

use std::net::SocketAddr;

use model::cause::Cause;
use model::config::Speak;
use model::moment::Moment;
use model::snapshot::PoolView;

use crate::connected::Upstream;
use crate::local::LocalServer;
use crate::patience::Patience;
use crate::rt::Net;
use crate::tls::client::ClientTls;
use crate::tls::session::Session;
use crate::tls::trouble;
use crate::worker::Worker;

/// Shakes hands where the pool speaks TLS.
pub async fn open<N: Net>(
    worker: &Worker<N>,
    pool: &PoolView,
    server: &LocalServer<N>,
    connection: Upstream<N>,
    (patience, until): (&Patience<'_, N>, Moment),
    speak: Speak,
) -> Result<Upstream<N>, (Cause, String)> {
    if pool.config.tls.is_none() {
        return Ok(connection);
    }
    let to = connection.to;
    let ours = |text: &str| (Cause::Internal, format!("TLS with {to}: {text}"));
    let tls = pool.tls.as_ref().and_then(|material| material.get::<ClientTls>());
    let tls = tls.ok_or_else(|| ours("nothing to speak it with"))?;
    let name = tls.name_of(&server.view.borrow().config.address.host, to.ip());
    let name = name.ok_or_else(|| ours("the server's name is none that can be verified"))?;
    let config = match speak == pool.config.http2.speak {
        true => server.tls.borrow_mut().get_or_insert_with(|| tls.for_server(speak)).clone(),
        // For once: no session of the other protocol is to be resumed.
        false => tls.for_server(speak),
    };
    let session = Session::client(&config, name).map_err(|error| ours(&error.to_string()))?;
    connection.stream.seal(session, worker.sealed.clone(), worker.census.clone());
    if connection.stream.shake(patience.until(until), || false).await.is_err() {
        let cause = patience.over(worker.rt.now()).unwrap_or(Cause::ConnectTimeout);
        return Err((cause, format!("TLS with {to}: no answer in time")));
    }
    let resumed = connection.stream.with_session(|session| judge(session, to));
    let resumed = resumed.unwrap_or_else(|| Err(ours("no session")))?;
    let view = server.view.borrow();
    let counters = &view.live.slots[worker.index].counters;
    counters.tls_handshakes.add(1);
    counters.tls_resumed.add(u64::from(resumed));
    if let Some(group) = connection.stream.tls_group() {
        view.live.slots[worker.index].groups.add(group);
    }
    drop(view);
    Ok(connection)
}

/// Whether the session was resumed, or why there is none.
fn judge(session: &Session, to: SocketAddr) -> Result<bool, (Cause, String)> {
    match session.failure() {
        Some(error) => Err((trouble::of_server(error), format!("TLS with {to}: {error}"))),
        None if session.established() => Ok(session.resumed()),
        None => Err((Cause::ServerTls, format!("TLS with {to}: the server ended the handshake"))),
    }
}
