//! What an attempt ends badly with, as far as it has come. Whether it is repeated is decided by `exchange`.

use std::io;
use std::task::Poll;

use model::cause::Cause;

use super::{Fault, Relay};
use crate::again::Another;
use crate::rt::Net;

impl<N: Net> Relay<'_, N> {
    /// Whether its server was judged to be down, and another one is asked instead.
    pub(super) fn is_left(&self) -> bool {
        let silent = self.answer.is_none() && !self.down.holds() && self.replayable();
        silent && self.ends.another.as_ref().is_some_and(Another::fallen)
    }

    /// Whether a second server has begun to answer, and this one has not.
    pub(super) fn is_overtaken(&mut self) -> bool {
        let Some(race) = &mut self.race else { return false };
        if let Poll::Ready(hedged) = race.poll(&self.incoming.head) {
            self.won = Some(Box::new(hedged));
        }
        self.won.is_some()
    }

    /// Whether an answer of this status is not passed on, and another server is asked instead.
    pub(super) fn is_unwanted(&self, status: u16) -> bool {
        let Some(another) = &self.ends.another else { return false };
        let free =
            !(self.answer_begun || self.interim_sent || self.down.holds()) && self.replayable();
        free && another.status(&self.ends.pool.config.retry.on, status)
    }

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
            interim_sent: self.interim_sent,
            answer_received: self.record.first_byte.is_some(),
            defect: None,
            client_lost: false,
            unreceived: false,
        }
    }
    pub(super) fn no_answer(&self, error: Option<io::Error>) -> Fault {
        // A server under TLS that ends without its last word has ended all the same.
        let error = error.filter(|error| error.kind() != io::ErrorKind::UnexpectedEof);
        let cause = match error.as_ref().map(io::Error::kind) {
            None => Cause::ServerClosed,
            // Under TLS a server may refuse us only now.
            Some(io::ErrorKind::InvalidData) => Cause::ServerTls,
            Some(_) => Cause::ServerReset,
        };
        let nothing = self.record.first_byte.is_none();
        let server = self.ends.server;
        let silent = error.is_none() && server.got_nothing(self.ends.sent_before);
        Fault { unreceived: nothing && (silent || server.unprocessed()), ..self.fault(cause) }
    }
}
