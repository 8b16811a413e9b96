//! The faults of an attempt, depending on its progress. `exchange` decides whether the attempt is retried.

use std::io;
use std::task::Poll;

use model::cause::Cause;

use super::{AttemptFault, AttemptRelay};
use crate::rt::NetDriver;
use crate::upstream::retry_attempts::RetryTrigger;

impl<N: NetDriver> AttemptRelay<'_, N> {
    /// Whether health checks marked the server as down, and another one can get the request.
    pub(super) fn has_server_fallen(&self) -> bool {
        let silent = self.answer.is_none() && !self.down.has_pending() && self.replayable();
        let conditions = self.context.settings.retry_conditions(&self.context.pool.config);
        silent
            && !conditions.unsent_only
            && self.context.retry_trigger.as_ref().is_some_and(RetryTrigger::server_fell)
    }

    /// Whether the hedged attempt's server has responded first.
    pub(super) fn has_hedge_won(&mut self) -> bool {
        let Some(race) = &mut self.hedge else { return false };
        if let Poll::Ready(hedged) = race.poll(&self.incoming.head) {
            self.hedge_winner = Some(Box::new(hedged));
        }
        self.hedge_winner.is_some()
    }

    /// Whether a response with this status is dropped, and the request is retried at another server.
    pub(super) fn is_retried_status(&self, status: u16) -> bool {
        let Some(another) = &self.context.retry_trigger else { return false };
        let free = !(self.answer_begun || self.interim_sent || self.down.has_pending())
            && self.replayable();
        let on = self.context.settings.retried_statuses(&self.context.pool.config);
        free && another.retries_status(on, status)
    }

    pub(super) fn client_gone(&self) -> AttemptFault {
        let cause = if self.uploaded { Cause::ClientClosedResponse } else { Cause::ClientReset };
        self.lost_client(cause)
    }

    pub(super) fn lost_client(&self, cause: Cause) -> AttemptFault {
        AttemptFault { client_lost: true, ..self.fault(cause) }
    }

    pub(super) fn fault(&self, cause: Cause) -> AttemptFault {
        AttemptFault {
            cause,
            // A partly sent head cannot be withdrawn, interim or final.
            answer_begun: self.answer_begun || self.down.has_pending(),
            interim_sent: self.interim_sent,
            answer_received: self.record.first_byte.is_some(),
            defect: None,
            client_lost: false,
            unreceived: false,
        }
    }
    pub(super) fn no_answer(&self, error: Option<io::Error>) -> AttemptFault {
        // A TLS server that closes without close_notify counts as closed, not as failed.
        let error = error.filter(|error| error.kind() != io::ErrorKind::UnexpectedEof);
        let cause = match error.as_ref().map(io::Error::kind) {
            None => Cause::ServerClosed,
            // Under TLS 1.3 a server may reject the client certificate only now.
            Some(io::ErrorKind::InvalidData) => Cause::ServerTls,
            Some(_) => Cause::ServerReset,
        };
        let nothing = self.record.first_byte.is_none();
        let server = self.context.server;
        let silent = error.is_none() && server.peer_received_nothing(self.context.sent_before);
        AttemptFault {
            unreceived: nothing && (silent || server.unprocessed()),
            ..self.fault(cause)
        }
    }
}
