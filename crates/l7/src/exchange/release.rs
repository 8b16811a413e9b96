//! What is noted of a server's connection, and what becomes of it after an exchange. It is kept, or the server was told with the request that it
//! is not, and closes first: so the wait after closing (TIME_WAIT), which takes a port, is not ours.

use std::rc::Rc;
use std::time::Duration;

use super::{ExchangeContext, HttpExchange};
use crate::accounting::DownstreamProtocol;
use crate::conn::client_peer::ConnectionOwner;
use crate::rt::NetDriver;
use crate::upstream::{self, UpstreamLease};
use crate::worker::Worker;

/// How long a server may take to close.
const SERVER_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Connections of a worker that wait for their servers to close; more are closed at once.
const MAX_CLOSING: u32 = 1024;

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Which server has the request, over which connection.
    pub(super) fn record_server(&mut self, lent: &UpstreamLease<N>) {
        self.record.server = Some(lent.slot_guard.server.id);
        self.record.reused = lent.reused;
        if !lent.reused {
            self.record.sample.server_group = lent.connection.stream.tls_group();
        }
    }

    /// Before the request is sent: says whether the connection ends with the answer.
    /// One that was `sent` already has said it.
    pub(super) fn announce_close(&mut self, lent: &UpstreamLease<N>, sent: bool) {
        if sent {
            return;
        }
        let shared = lent.connection.stream.is_multiplexed();
        let ends = !shared && !self.incoming.upgrade && upstream::is_last(lent);
        self.incoming.set_close(ends);
    }

    /// Keeps the connection, for this client alone where it is authenticated or may be soon.
    pub(super) fn keep_connection(&self, mut lent: UpstreamLease<N>) {
        let ExchangeContext { worker, client_peer: caller, .. } = self.context;
        if self.incoming.authenticates {
            if matches!(
                self.incoming.protocol,
                DownstreamProtocol::Http2 | DownstreamProtocol::Http3
            ) {
                // Which requests on it share an identity is not known: it serves none any more.
                return;
            }
            lent.connection.owner = ConnectionOwner::for_client(caller);
            caller.add_dedicated(lent.slot_guard.server.id);
        }
        match self.incoming.says_close {
            // Its server was told that nothing follows.
            true => self.close_connection(lent),
            false => upstream::return_connection(worker, lent),
        }
    }

    /// After a whole answer on a connection that is not kept.
    pub(super) fn close_connection(&self, lent: UpstreamLease<N>) {
        let ExchangeContext { worker, .. } = self.context;
        let UpstreamLease { connection, slot_guard: hold, .. } = lent;
        drop(hold);
        // Its end is here, or more than an answer.
        if !connection.stream.settle_idle()
            || worker.draining.get()
            || worker.closing_upstreams.get() >= MAX_CLOSING
        {
            return;
        }
        let parting = ClosingUpstream::begin(worker);
        worker.rt.spawn(async move {
            connection.stream.attach_current_task();
            let until = parting.0.rt.now() + SERVER_CLOSE_TIMEOUT;
            // Either way it is closed now.
            let _ = connection.stream.readable(until).await;
            drop((connection, parting));
        });
    }
}

struct ClosingUpstream<N: NetDriver>(Rc<Worker<N>>);

impl<N: NetDriver> ClosingUpstream<N> {
    fn begin(worker: &Rc<Worker<N>>) -> ClosingUpstream<N> {
        worker.closing_upstreams.set(worker.closing_upstreams.get() + 1);
        ClosingUpstream(worker.clone())
    }
}

impl<N: NetDriver> Drop for ClosingUpstream<N> {
    fn drop(&mut self) {
        self.0.closing_upstreams.set(self.0.closing_upstreams.get() - 1);
    }
}
