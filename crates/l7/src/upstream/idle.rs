//! Reuse of open connections: taken from the idle connection pool, joined as a stream, and returned.
//!
//! No connection is opened and no server is chosen here.

use std::rc::Rc;

use model::config::ServerHttp2Mode;
use model::snapshot::PoolView;

use super::lease::{UpstreamLease, UpstreamLeaseRequest};
use crate::conn::client_peer::{ClientPeer, ConnectionOwner};
use crate::conn::upstream_connection::UpstreamConnection;
use crate::rt::NetDriver;
use crate::servers::idle_pool::SweepCounts;
use crate::servers::worker_state::LocalServer;
use crate::worker::Worker;

/// Returns a connection to its server's idle connection pool, or closes it.
pub fn return_connection<N: NetDriver>(worker: &Worker<N>, lease: UpstreamLease<N>) {
    let UpstreamLease { connection, slot_guard, .. } = lease;
    let server = &slot_guard.server;
    let moved = server.view.borrow().address.as_ref() != Some(&connection.address);
    if moved || server.retired.get() || worker.draining.get() || !connection.stream.settle_idle() {
        return;
    }
    let most = slot_guard.pool.view.borrow().config.limit.idle;
    if server.idle_pool.borrow_mut().put(connection, worker.rt.now(), most as usize) {
        slot_guard.live.slots[worker.index].counters.retired.add(1);
    }
}

/// Whether the connection will not be reused after this request, as far as is known now.
pub fn is_last<N: NetDriver>(lease: &UpstreamLease<N>) -> bool {
    let UpstreamLease { connection, slot_guard, .. } = lease;
    let most = slot_guard.pool.view.borrow().config.limit.idle as usize;
    let full = slot_guard.server.idle_pool.borrow().len() >= most;
    let own = matches!(connection.owner, ConnectionOwner::Client(_));
    (full && (most == 0 || !own))
        || slot_guard.server.retired.get()
        || slot_guard.worker.draining.get()
}

/// Takes a stream of an HTTP/2 connection, or an idle connection.
pub(super) fn take_reusable<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    view: &PoolView,
    server: &LocalServer<N>,
    want: &UpstreamLeaseRequest<N>,
) -> Option<UpstreamConnection<N>> {
    let own = want.authenticates && view.config.http2.speak != ServerHttp2Mode::Only;
    if view.config.http2.speak != ServerHttp2Mode::Off
        && !own
        && !has_dedicated(server, want)
        && let Some(stream) = server.http2_pool.open(&worker.rt, want.upgrade)
    {
        server.view.borrow().stats.slots[worker.index].counters.reused.add(1);
        return Some(stream);
    }
    take_idle(worker, view, server, want)
}

/// The owner of a connection made for this client. If the server sees the client's address in the connection, no other
/// client's requests may use it.
pub(super) fn connection_owner(view: &PoolView, client_peer: &Rc<ClientPeer>) -> ConnectionOwner {
    let named = view.config.send_proxy.is_some() || view.config.socket.transparent;
    if named { ConnectionOwner::for_client(client_peer) } else { ConnectionOwner::Shared }
}

/// Whether the client has an idle dedicated connection to this server.
pub(super) fn has_dedicated<N: NetDriver>(
    server: &LocalServer<N>,
    want: &UpstreamLeaseRequest<'_, N>,
) -> bool {
    want.client_peer.has_dedicated(server.id)
        && server.idle_pool.borrow().has(&ConnectionOwner::for_client(want.client_peer))
}

fn take_idle<N: NetDriver>(
    worker: &Worker<N>,
    view: &PoolView,
    server: &LocalServer<N>,
    want: &UpstreamLeaseRequest<'_, N>,
) -> Option<UpstreamConnection<N>> {
    let careful = want.only_fresh_idle;
    let owner = if has_dedicated(server, want) {
        ConnectionOwner::for_client(want.client_peer)
    } else {
        connection_owner(view, want.client_peer)
    };
    let mut swept = SweepCounts::default();
    let mut found = None;
    while let Some(connection) = server.idle_pool.borrow_mut().take(
        worker.rt.now(),
        view.config.timeout.idle,
        careful,
        &owner,
        &mut swept,
    ) {
        if careful && !connection.stream.is_quiet() {
            swept.stale += 1;
            continue;
        }
        found = Some(connection);
        break;
    }
    if swept != SweepCounts::default() {
        let counters = &server.view.borrow().stats.slots[worker.index].counters;
        counters.stale.add(swept.stale);
        counters.retired.add(swept.retired);
    }
    if found.is_some() {
        server.view.borrow().stats.slots[worker.index].counters.reused.add(1);
    }
    found
}
