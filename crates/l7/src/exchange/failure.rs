//! A failed attempt: what is known of it. What follows from it is decided by `failed`.

use std::rc::Rc;

use model::cause::Cause;

use crate::local::LocalServer;
use crate::relay::Fault;
use crate::rt::Net;

/// A failed attempt.
pub(super) struct Failure<N: Net> {
    pub fault: Fault,
    pub server: Option<Rc<LocalServer<N>>>,
    pub reused: bool,
    pub replayable: bool,
    pub sent: bool,
}

impl<N: Net> Failure<N> {
    /// Whether its server may have done what was asked for; an answer of its own says that it may be asked again.
    pub fn may_be_done(&self) -> bool {
        self.sent && !self.fault.unreceived && self.fault.cause != Cause::ServerStatus
    }

    /// No connection could be had.
    pub fn before_sending(cause: Cause, server: Option<Rc<LocalServer<N>>>) -> Failure<N> {
        let fault = Fault::before_sending(cause);
        Failure { fault, server, reused: false, replayable: true, sent: false }
    }
}
