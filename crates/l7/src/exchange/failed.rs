//! After a failed attempt: what is known of it, what it says of its server, whether the pool's budget lets it be
//! repeated, and the pause before that.

use model::cause::Cause;
use model::pick;
use model::retry::{self, Facts, Verdict, Wishes};

use super::failure::Failure;
use super::{Exchange, Parties};
use crate::account;
use crate::after::After;
use crate::again;
use crate::felt;
use crate::hedge::Second;
use crate::patience::Patience;
use crate::relay::Fault;
use crate::rt::Net;

impl<N: Net> Exchange<'_, N> {
    /// Ends the exchange after its attempt number `attempts`, or makes ready for another one.
    pub(super) async fn follow(&mut self, failure: Failure<N>, attempts: u32) -> Option<After> {
        if failure.fault.cause == Cause::HedgeLost {
            self.overtaken(&failure);
            return None;
        }
        match self.judge(&failure, attempts) {
            Verdict::GiveUp(cause) => {
                self.felt(&failure);
                let spent = matches!(cause, Cause::RetryBudget | Cause::CircuitOpen);
                if spent {
                    self.attempt_failed(&failure);
                }
                let fault = Fault { cause, ..failure.fault };
                let server = failure.server.filter(|_| !spent);
                return Some(self.give_up(fault, server).await);
            }
            Verdict::Replay => {
                self.counters().replayed.add(1);
                self.again = failure.server.as_ref().map(|server| server.id);
                self.attempt_failed(&failure);
            }
            Verdict::Another => {
                self.counters().retried.add(1);
                self.again = None;
                self.failed.extend(failure.server.as_ref().map(|server| server.id));
                if failure.may_be_done() {
                    self.written.extend(failure.server.as_ref().map(|server| server.id));
                }
                self.felt(&failure);
                self.attempt_failed(&failure);
                if !matches!(self.second, Second::Runs(_)) {
                    if let Some(cause) = self.back_off(attempts).await {
                        return Some(self.give_up(Fault::before_sending(cause), None).await);
                    }
                    if self.is_late() {
                        return Some(self.give_up(failure.fault, None).await);
                    }
                }
            }
        }
        None
    }

    /// What is done after it, within the budget.
    fn judge(&mut self, failure: &Failure<N>, attempts: u32) -> Verdict {
        let facts = self.facts(failure, attempts);
        let verdict = self.possible(failure, retry::judge(&facts));
        if matches!(self.second, Second::Runs(_)) {
            let wishes = Wishes { on_timeout: true, on_malformed: true };
            if !matches!(retry::judge(&Facts { wishes, ..facts }), Verdict::GiveUp(_)) {
                // The one that is under way was taken from the budget. None follows on it that would not on this one.
                let given_up = matches!(verdict, Verdict::GiveUp(_));
                self.last_cause = given_up.then_some(failure.fault.cause);
                return Verdict::Another;
            }
        }
        let free = match verdict {
            Verdict::GiveUp(_) => true,
            // It reached nobody: no server is asked twice.
            Verdict::Replay => !failure.sent || failure.fault.unreceived,
            // It was taken when the attempt was given up for it.
            Verdict::Another => {
                let taken =
                    matches!(failure.fault.cause, Cause::ServerStatus | Cause::ServerMarkedDown);
                // What a server has refused by itself cost it nothing.
                taken || (failure.sent && failure.fault.unreceived)
            }
        };
        if free {
            return verdict;
        }
        let taken = again::take(self.parties.worker, &self.pool, &self.under_way);
        taken.map_or_else(Verdict::GiveUp, |()| verdict)
    }

    /// The verdict within the time of all attempts and with the servers that are left.
    fn possible(&self, failure: &Failure<N>, verdict: Verdict) -> Verdict {
        let alone = verdict == Verdict::Another && failure.may_be_done() && !self.others(failure);
        match verdict {
            Verdict::Replay | Verdict::Another if alone || self.is_late() => {
                Verdict::GiveUp(failure.fault.cause)
            }
            verdict => verdict,
        }
    }

    /// Whether there is a server that cannot have done what was asked for.
    fn others(&self, failure: &Failure<N>) -> bool {
        let view = self.pool.view.borrow();
        let own = failure.server.as_ref().map(|server| server.id);
        pick::eligible(&view).into_iter().any(|(at, _)| {
            let id = view.servers[at].id;
            Some(id) != own && !self.written.contains(&id)
        })
    }

    fn is_late(&self) -> bool {
        self.parties.worker.rt.now() >= self.attempts_end
    }

    /// Takes a further attempt after a second one came to nothing.
    pub(super) fn one_more(&mut self) -> Result<(), Cause> {
        match self.last_cause.take() {
            Some(cause) => Err(cause),
            None => again::take(self.parties.worker, &self.pool, &self.under_way),
        }
    }

    /// Whether this attempt, after so many, may be followed by another one for what its server answers.
    pub(super) fn may_follow(&self, attempts: u32) -> bool {
        let with_this = attempts + u32::from(self.again.is_none());
        self.incoming.idempotent && with_this <= u32::from(self.pool.view.borrow().config.retries)
    }

    fn facts(&self, failure: &Failure<N>, attempts: u32) -> Facts {
        let own = failure.server.as_ref().map(|server| server.id);
        Facts {
            idempotent: self.incoming.idempotent,
            answer_begun: failure.fault.answer_begun || failure.fault.interim_sent,
            body_replayable: failure.replayable,
            stale_connection: failure.reused && !failure.fault.answer_received,
            provably_unreceived: !failure.sent || failure.fault.unreceived,
            attempts,
            limit: again::limit(&self.pool.view.borrow(), failure.fault.cause, &self.failed, own),
            wishes: self.pool.view.borrow().config.retry.wishes,
            cause: failure.fault.cause,
        }
    }

    /// Counts what it says of its server.
    fn felt(&self, failure: &Failure<N>) {
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
            let lost = failure.fault.cause == Cause::HedgeLost;
            if !lost && self.pool.view.borrow().config.balance.wants_times() {
                view.live.pace.failed(self.parties.worker.rt.now());
            }
        }
    }

    /// Waits before further attempt number `attempt`; says what ended the exchange meanwhile.
    async fn back_off(&self, attempt: u32) -> Option<Cause> {
        let Parties { worker, client, service, .. } = self.parties;
        let whole = self.whole;
        let patience = Patience { client: Some(client), whole, cut_at: &service.cut_at };
        again::back_off(worker, &self.pool, &self.failed, attempt, &patience).await
    }
}
