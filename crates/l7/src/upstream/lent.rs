//! What is lent of a server and what is asked for.
//!
//! It lends nothing itself.

use std::rc::Rc;
use std::sync::Arc;

use model::breaker::Permit;
use model::cause::Cause;
use model::id::ServerId;
use model::line::Class;
use model::live::ServerLive;
use model::moment::Moment;

use crate::caller::Caller;
use crate::connected::Upstream;
use crate::local::{LocalPool, LocalServer};
use crate::patience::Patience;
use crate::rt::Net;
use crate::sticking::Stick;
use crate::worker::Worker;

/// A connection lent for one exchange or tunnel; the server counts it as in flight until it is dropped.
pub struct Lent<N: Net> {
    /// The connection.
    pub connection: Upstream<N>,
    /// It served before.
    pub reused: bool,
    /// Its server.
    pub hold: Hold<N>,
}

/// A server's slot in use.
pub struct Hold<N: Net> {
    /// The server.
    pub server: Rc<LocalServer<N>>,
    pub(super) live: Arc<ServerLive>,
    pub(super) worker: Rc<Worker<N>>,
    pub(super) pool: Rc<LocalPool<N>>,
    pub(super) _permit: Option<Permit>,
}

impl<N: Net> Drop for Hold<N> {
    fn drop(&mut self) {
        self.live.in_flight.down();
        self.pool.queue.call(&self.worker.rt);
    }
}

/// Why no connection could be lent.
pub struct NotLent<N: Net> {
    /// The cause.
    pub cause: Cause,
    /// The server concerned, if it came that far.
    pub server: Option<Rc<LocalServer<N>>>,
}

/// What is asked for.
pub struct Want<'a, N: Net> {
    /// The client.
    pub caller: &'a Rc<Caller>,
    /// The hash of what the pool's `hash-on` names, where it is not the address and the request has it.
    pub key: Option<u64>,
    /// Servers that failed already.
    pub tried: &'a [ServerId],
    /// Only this server, on a new connection: a replay.
    pub again: Option<ServerId>,
    /// The request must not be sent on a connection that may be dying: look once more before lending.
    pub careful: bool,
    /// Never from the shelf.
    pub fresh: bool,
    /// The server that keeps the client.
    pub stick: Option<Stick>,
    /// Asks for another protocol.
    pub upgrade: bool,
    /// Authenticates the connection that it is sent on.
    pub authenticates: bool,
    /// Its class where it must wait.
    pub class: Class,
    /// Servers that may have done what is asked for: none of them is asked again.
    pub written: &'a [ServerId],
    /// When the attempt must be under way; `NEVER`: a first attempt, which has times of its own.
    pub until: Moment,
    /// What may end the waiting.
    pub patience: Patience<'a, N>,
}
