//! After a failed attempt: what is known of it, what it says of its server, whether the pool's budget lets it be
//! repeated, and the pause before that.

use model::cause::Cause;
use model::retry::{self, Facts, Verdict};

use super::failure::Failure;
use super::{Exchange, Parties};
use crate::account;
use crate::again;
use crate::felt;
use crate::patience::Patience;
use crate::rt::Net;

impl<N: Net> Exchange<'_, N> {
    /// What is done after it, within the budget.
    pub(super) fn judge(&self, failure: &Failure<N>, attempts: u32) -> Verdict {
        let verdict = retry::judge(&self.facts(failure, attempts));
        let free = match verdict {
            Verdict::GiveUp(_) => true,
            // It reached nobody: no server is asked twice.
            Verdict::Replay => !failure.sent || failure.fault.unreceived,
            // It was taken when the attempt was given up for it.
            Verdict::Another => {
                matches!(failure.fault.cause, Cause::ServerStatus | Cause::ServerMarkedDown)
            }
        };
        if free {
            return verdict;
        }
        let taken = again::take(self.parties.worker, &self.pool, &self.under_way);
        taken.map_or_else(Verdict::GiveUp, |()| verdict)
    }

    /// Whether this attempt, after so many, may be followed by another one for what its server answers.
    pub(super) fn may_follow(&self, attempts: u32) -> bool {
        let with_this = attempts + u32::from(self.again.is_none());
        self.incoming.idempotent && with_this <= u32::from(self.pool.view.borrow().config.retries)
    }

    fn facts(&self, failure: &Failure<N>, attempts: u32) -> Facts {
        Facts {
            idempotent: self.incoming.idempotent,
            answer_begun: failure.fault.answer_begun,
            body_replayable: failure.replayable,
            reused_connection: failure.reused,
            provably_unreceived: !failure.sent || failure.fault.unreceived,
            attempts,
            limit: self.pool.view.borrow().config.retries,
            cause: failure.fault.cause,
        }
    }

    /// Counts what it says of its server.
    pub(super) fn felt(&self, failure: &Failure<N>) {
        if let Some(server) = &failure.server {
            let (pool, view) = (self.pool.view.borrow(), server.view.borrow());
            felt::failed(&pool, &view.live, self.parties.worker.index, failure.fault.cause);
        }
    }

    /// Counts it where its exchange goes on, or ends for another reason.
    pub(super) fn attempt_failed(&self, failure: &Failure<N>) {
        if let Some(server) = &failure.server {
            let view = server.view.borrow();
            let slot = &view.live.slots[self.parties.worker.index];
            account::attempt_failed(failure.fault.cause, failure.sent, slot);
            if self.pool.view.borrow().config.balance.wants_times() {
                view.live.pace.failed(self.parties.worker.rt.now());
            }
        }
    }

    /// Waits before further attempt number `attempt`; says what ended the exchange meanwhile.
    pub(super) async fn back_off(&self, attempt: u32) -> Option<Cause> {
        let Parties { worker, client, service, .. } = self.parties;
        let whole = self.whole;
        let patience = Patience { client: Some(client), whole, cut_at: &service.cut_at };
        again::back_off(worker, &self.pool, &self.failed, attempt, &patience).await
    }
}
