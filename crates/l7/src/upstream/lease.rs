//! What a connection lease contains, and what a request for a lease asks.

use std::rc::Rc;
use std::sync::Arc;

use model::cause::Cause;
use model::circuit_breaker::BreakerPermit;
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::stats::ServerStats;
use model::wait_queue::PriorityClass;

use crate::conn::client_peer::ClientPeer;
use crate::conn::deadline::ExchangeDeadline;
use crate::conn::upstream_connection::UpstreamConnection;
use crate::rt::NetDriver;
use crate::servers::worker_state::{LocalPool, LocalServer};
use crate::upstream::affinity::AffinityChoice;
use crate::worker::Worker;

/// A connection leased for one exchange or tunnel; the server counts it as in flight until it is dropped.
pub struct UpstreamLease<N: NetDriver> {
    pub connection: UpstreamConnection<N>,
    pub reused: bool,
    pub slot_guard: ServerSlotGuard<N>,
}

/// A server's slot in use.
pub struct ServerSlotGuard<N: NetDriver> {
    pub server: Rc<LocalServer<N>>,
    pub(super) live: Arc<ServerStats>,
    pub(super) worker: Rc<Worker<N>>,
    pub(super) pool: Rc<LocalPool<N>>,
    pub(super) _permit: Option<BreakerPermit>,
}

impl<N: NetDriver> Drop for ServerSlotGuard<N> {
    fn drop(&mut self) {
        self.live.in_flight.decrement();
        self.pool.queue.wake_waiters(&self.worker.rt);
    }
}

/// Why no connection could be leased.
pub struct UpstreamLeaseError<N: NetDriver> {
    pub cause: Cause,
    /// The server concerned, if it came that far.
    pub server: Option<Rc<LocalServer<N>>>,
}

/// A request for a connection to a server.
pub struct UpstreamLeaseRequest<'a, N: NetDriver> {
    pub client_peer: &'a Rc<ClientPeer>,
    /// The hash of what the pool's `hash-on` names, where it is not the address and the request has it.
    pub key: Option<u64>,
    /// Servers that failed already.
    pub tried_servers: &'a [ServerId],
    /// Only this server, on a new connection: a replay.
    pub retry_server: Option<ServerId>,
    /// The request must not be sent on a connection that may be dying: look once more before lending.
    pub only_fresh_idle: bool,
    /// Never from the idle connection pool.
    pub fresh: bool,
    /// The server that keeps the client.
    pub affinity: Option<AffinityChoice>,
    /// Asks for another protocol.
    pub upgrade: bool,
    /// Authenticates the connection that it is sent on.
    pub authenticates: bool,
    /// Its class where it must wait.
    pub class: PriorityClass,
    /// Servers that may have done what is asked for: none of them is asked again.
    pub written_servers: &'a [ServerId],
    /// When the attempt must be under way; `NEVER`: a first attempt, which has times of its own.
    pub until: MonotonicTime,
    /// The deadline of the wait.
    pub deadline: ExchangeDeadline<'a, N>,
}
