//! The end of an exchange: an answer of ours where nothing better can be given, and the account closed.
//!
//! Why it ends is decided elsewhere.

use std::rc::Rc;

use model::cause::Cause;
use model::refused::is_refusal;

use super::{Exchange, Parties};
use crate::account;
use crate::after::After;
use crate::local::LocalServer;
use crate::refuse::{self, Answer};
use crate::relay::Fault;
use crate::rt::Net;

impl<N: Net> Exchange<'_, N> {
    /// After the last failed attempt.
    pub(super) async fn give_up(
        &mut self,
        fault: Fault,
        server: Option<Rc<LocalServer<N>>>,
    ) -> After {
        let Parties { worker, client, .. } = self.parties;
        self.record.cause = Some(fault.cause);
        self.record.defect = fault.defect.map(|defect| defect.name());
        let mut status = fault.cause.status();
        if let Some(defect) = fault.defect
            && fault.cause == Cause::BadRequest
        {
            status = defect.status();
            if let Some(count) = self.view.live.slots[worker.index].defects.get(defect as usize) {
                count.add(1);
            }
        }
        let after = if fault.answer_begun {
            After::Reset
        } else if fault.client_lost || status == 0 {
            After::Close
        } else {
            let (keep, head_only) = (self.may_keep(), self.incoming.head_only);
            let answer = Answer { status, cause: fault.cause, keep, head_only };
            refuse::answer(worker, client, &self.view, &answer, &mut self.record).await
        };
        self.close(server.as_deref());
        after
    }

    /// Trailers of a message that were dropped; few have any.
    pub(super) fn count_dropped(&self, trailers: u8) {
        if trailers > 0 {
            self.counters().trailers_dropped.add(trailers.into());
        }
    }

    /// Closes the account and gives buffers back.
    pub(super) fn close(&mut self, server: Option<&LocalServer<N>>) {
        let worker = self.parties.worker;
        self.saw();
        self.count_dropped(self.incoming.body.trailers_dropped);
        let mut said = self.incoming.said(self.parties.caller.peer);
        if self.record.cause.is_some_and(is_refusal) {
            said.offence.host = self.incoming.host();
        }
        worker.close(&self.view, server, &mut self.record, &said);
        if let Some(server) = server {
            let balance = self.pool.view.borrow().config.balance;
            account::learn(balance, &self.record, &server.view.borrow().live.pace, worker.rt.now());
        }
        self.incoming.body.release(worker);
        worker.buffers.give(std::mem::take(&mut self.incoming.head));
    }
}
