//! A failed attempt: what is known of it. What follows from it is decided by `failed`.

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
    /// Whether its server may have done what was asked for; an answer of its own says that it may be asked again.
    pub fn may_have_executed(&self) -> bool {
        self.request_sent && !self.fault.unreceived && self.fault.cause != Cause::ServerStatus
    }

    /// No connection could be had.
    pub fn before_sending(cause: Cause, server: Option<Rc<LocalServer<N>>>) -> AttemptFailure<N> {
        let fault = AttemptFault::before_sending(cause);
        AttemptFailure { fault, server, reused: false, replayable: true, request_sent: false }
    }
}
