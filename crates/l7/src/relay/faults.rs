//! What an attempt ends badly with, as far as it has come. Whether it is repeated is decided by `exchange`.

use model::cause::Cause;

use super::{Fault, Relay};
use crate::rt::Net;

impl<N: Net> Relay<'_, N> {
    pub(super) fn client_gone(&self) -> Fault {
        let cause = if self.uploaded { Cause::ClientClosedResponse } else { Cause::ClientReset };
        self.lost_client(cause)
    }

    pub(super) fn lost_client(&self, cause: Cause) -> Fault {
        Fault { client_lost: true, ..self.fault(cause) }
    }

    pub(super) fn fault(&self, cause: Cause) -> Fault {
        Fault {
            cause,
            // What is half given cannot be taken back, informational or not.
            answer_begun: self.answer_begun || self.down.holds(),
            defect: None,
            client_lost: false,
            unreceived: false,
        }
    }
}
