//! The content of a connection lease, and of a request for one.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use model::cause::Cause;
use model::circuit_breaker::BreakerPermit;
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::rules::ExchangeSettings;
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
    /// The server, if one was chosen.
    pub server: Option<Rc<LocalServer<N>>>,
}

/// A request for a connection to a server.
pub struct UpstreamLeaseRequest<'a, N: NetDriver> {
    pub client_peer: &'a Rc<ClientPeer>,
    /// The client that policies hash.
    pub client: IpAddr,
    /// The hash of what the pool's `hash-on` names. `None`: the address is hashed, or the request lacks the part.
    pub key: Option<u64>,
    /// Servers that have failed already.
    pub tried_servers: &'a [ServerId],
    /// Replays the request to this server, on a new connection.
    pub retry_server: Option<ServerId>,
    /// The request is not idempotent: an idle connection must be checked once more before it is used.
    pub only_fresh_idle: bool,
    /// Only a new connection, never one from the idle connection pool.
    pub fresh: bool,
    /// The constraint of the client's affinity.
    pub affinity: Option<AffinityChoice>,
    /// The request asks for another protocol.
    pub upgrade: bool,
    /// The request authenticates its connection.
    pub authenticates: bool,
    /// The priority class in a server's wait queue.
    pub class: PriorityClass,
    /// The timeouts of the exchange.
    pub settings: &'a ExchangeSettings,
    /// Servers that may have processed the request: none of them gets it again.
    pub written_servers: &'a [ServerId],
    /// When the attempt must have started; `NEVER`: the first attempt, which only has its own timeouts.
    pub until: MonotonicTime,
    /// The deadline of the exchange.
    pub deadline: ExchangeDeadline<'a, N>,
}
