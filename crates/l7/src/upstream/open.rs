//! Connections to servers that are open already: taken from a shelf or joined, and put back.
//!
//! It makes none, and chooses no server.

use std::rc::Rc;

use model::config::Speak;
use model::snapshot::PoolView;

use super::lent::{Lent, Want};
use crate::caller::{Caller, Whose};
use crate::connected::Upstream;
use crate::local::LocalServer;
use crate::rt::Net;
use crate::shelf::Swept;
use crate::worker::Worker;

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

/// Whether no request will follow on it, as far as is known now.
pub fn is_last<N: Net>(lent: &Lent<N>) -> bool {
    let Lent { connection, hold, .. } = lent;
    let most = hold.pool.view.borrow().config.limit.idle as usize;
    let full = hold.server.shelf.borrow().len() >= most;
    let own = matches!(connection.whose, Whose::Of(_));
    (full && (most == 0 || !own)) || hold.server.retired.get() || hold.worker.draining.get()
}

/// What is open already.
pub(super) fn kept<N: Net>(
    worker: &Rc<Worker<N>>,
    view: &PoolView,
    server: &LocalServer<N>,
    want: &Want<N>,
) -> Option<Upstream<N>> {
    let own = want.authenticates && view.config.http2.speak != Speak::Only;
    if view.config.http2.speak != Speak::Off
        && !own
        && !owns(server, want)
        && let Some(strand) = server.mux.open(&worker.rt, want.upgrade)
    {
        server.view.borrow().live.slots[worker.index].counters.reused.add(1);
        return Some(strand);
    }
    shelved(worker, view, server, want)
}

/// Whose a connection to this pool is that was made for this client: servers that see a client's address in it must
/// get nobody else's requests on it.
pub(super) fn whose(view: &PoolView, caller: &Rc<Caller>) -> Whose {
    let named = view.config.send_proxy.is_some() || view.config.socket.transparent;
    if named { Whose::of(caller) } else { Whose::Anybodys }
}

/// Whether a connection of its client's own is kept to this server.
pub(super) fn owns<N: Net>(server: &LocalServer<N>, want: &Want<'_, N>) -> bool {
    want.caller.owns(server.id) && server.shelf.borrow().has(&Whose::of(want.caller))
}

fn shelved<N: Net>(
    worker: &Worker<N>,
    view: &PoolView,
    server: &LocalServer<N>,
    want: &Want<'_, N>,
) -> Option<Upstream<N>> {
    let careful = want.careful;
    let whose = if owns(server, want) { Whose::of(want.caller) } else { whose(view, want.caller) };
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
