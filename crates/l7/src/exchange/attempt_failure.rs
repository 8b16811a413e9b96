//! The facts of a failed attempt. `failure_handling` decides what follows.

use std::rc::Rc;

use model::cause::Cause;

use crate::exchange::relay::AttemptFault;
use crate::rt::NetDriver;
use crate::servers::worker_state::LocalServer;

pub(super) struct AttemptFailure<N: NetDriver> {
    pub fault: AttemptFault,
    pub server: Option<Rc<LocalServer<N>>>,
    pub reused: bool,
    pub replayable: bool,
    pub request_sent: bool,
}

impl<N: NetDriver> AttemptFailure<N> {
    /// Whether the server may have executed the request. A status that the pool retries counts as not executed.
    pub fn may_have_executed(&self) -> bool {
        self.request_sent && !self.fault.unreceived && self.fault.cause != Cause::ServerStatus
    }

    /// A failed attempt that had a connection to this server.
    pub fn at_server(
        fault: AttemptFault,
        server: Rc<LocalServer<N>>,
        reused: bool,
        replayable: bool,
        request_sent: bool,
    ) -> AttemptFailure<N> {
        AttemptFailure { fault, server: Some(server), reused, replayable, request_sent }
    }

    /// A failed attempt without a connection.
    pub fn before_sending(cause: Cause, server: Option<Rc<LocalServer<N>>>) -> AttemptFailure<N> {
        let fault = AttemptFault::before_sending(cause);
        AttemptFailure { fault, server, reused: false, replayable: true, request_sent: false }
    }
}
