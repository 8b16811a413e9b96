//! Records the connection that a request uses, and returns or closes it after the exchange.
//!
//! A request on a connection that will not be reused carries `Connection: close`, so that the server closes first:
//! TIME_WAIT, which occupies a port, is then on the server's side.

use std::rc::Rc;
use std::time::Duration;

use super::{ExchangeContext, HttpExchange};
use crate::accounting::DownstreamProtocol;
use crate::conn::client_peer::ConnectionOwner;
use crate::rt::NetDriver;
use crate::upstream::{self, UpstreamLease};
use crate::worker::Worker;

/// How long a server may take to close.
/// The end that closes first keeps the port in TIME_WAIT. A server that has not closed within a second counts as one
/// that does not.
const SERVER_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Most connections of a worker that wait for their servers to close; further ones are closed at once.
/// Each holds a descriptor for a second at most.
const MAX_CLOSING: u32 = 1024;

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Records the server and the connection of the request.
    pub(super) fn record_server(&mut self, lease: &UpstreamLease<N>) {
        self.record.server = Some(lease.slot_guard.server.id);
        self.record.reused = lease.reused;
        if !lease.reused {
            self.record.sample.server_group = lease.connection.stream.tls_group();
        }
    }

    /// Before the request is sent: announces whether the connection closes after the response. A request that was
    /// already `sent` carries the header.
    pub(super) fn announce_close(&mut self, lease: &UpstreamLease<N>, sent: bool) {
        if sent {
            return;
        }
        let shared = lease.connection.stream.is_multiplexed();
        let ends = !shared && !self.incoming.upgrade && upstream::is_last(lease);
        self.incoming.set_close(ends);
    }

    /// Returns the connection to the pool. An authenticated connection is reserved for its client.
    pub(super) fn keep_connection(&self, mut lease: UpstreamLease<N>) {
        let ExchangeContext { worker, client_peer, .. } = self.context;
        if self.incoming.authenticates {
            if matches!(
                self.incoming.protocol,
                DownstreamProtocol::Http2 | DownstreamProtocol::Http3
            ) {
                // Requests on this client connection may have different identities, so the server connection is not
                // reused.
                return;
            }
            lease.connection.owner = ConnectionOwner::for_client(client_peer);
            client_peer.add_dedicated(lease.slot_guard.server.id);
        }
        match self.incoming.says_close {
            // The request carried `Connection: close`.
            true => self.close_connection(lease),
            false => upstream::return_connection(worker, lease),
        }
    }

    /// Whether the connection may serve any client once the rest of its answer has been read. A stream of a shared
    /// connection is reset instead, which costs less.
    pub(super) fn may_share_later(&self, lease: &UpstreamLease<N>) -> bool {
        !(self.incoming.authenticates
            || self.incoming.says_close
            || lease.connection.stream.is_multiplexed()
            || self.context.worker.draining.get())
    }

    /// Closes a connection that is not reused after a complete response.
    pub(super) fn close_connection(&self, lease: UpstreamLease<N>) {
        let ExchangeContext { worker, .. } = self.context;
        let UpstreamLease { connection, slot_guard, .. } = lease;
        drop(slot_guard);
        // The server has closed already, or has sent more than a response.
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
            // The connection is closed either way: by the server, or after the timeout.
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
