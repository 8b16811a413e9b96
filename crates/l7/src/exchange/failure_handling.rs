//! After a failed attempt: outlier statistics of its server, the retry decision, the retry budget and the back-off.

use model::cause::Cause;
use model::load_balancing;
use model::retry::{self, FailedAttempt, RetryConditions, RetryDecision};

use super::attempt_failure::AttemptFailure;
use super::{ExchangeContext, HttpExchange};
use crate::accounting;
use crate::conn::deadline::ExchangeDeadline;
use crate::exchange::disposition::ConnectionDisposition;
use crate::exchange::outlier_stats;
use crate::exchange::relay::AttemptFault;
use crate::rt::NetDriver;
use crate::upstream::hedge::HedgeResult;
use crate::upstream::retry_attempts;

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Ends the exchange after attempt number `attempts`, or prepares a retry.
    pub(super) async fn handle_failure(
        &mut self,
        failure: AttemptFailure<N>,
        attempts: u32,
    ) -> Option<ConnectionDisposition> {
        if failure.fault.cause == Cause::HedgeLost {
            self.count_lost_to_hedge(&failure);
            return None;
        }
        match self.decide_retry(&failure, attempts) {
            RetryDecision::GiveUp(cause) => {
                self.count_server_failure(&failure);
                let spent = matches!(cause, Cause::RetryBudget | Cause::CircuitOpen);
                if spent {
                    self.count_failed_attempt(&failure);
                }
                let fault = AttemptFault { cause, ..failure.fault };
                let server = failure.server.filter(|_| !spent);
                return Some(self.finish_failed(fault, server).await);
            }
            RetryDecision::ReplaySameServer => {
                self.counters().replayed.add(1);
                self.retry_server = failure.server.as_ref().map(|server| server.id);
                self.count_failed_attempt(&failure);
            }
            RetryDecision::OtherServer => {
                self.counters().retried.add(1);
                self.retry_server = None;
                self.failed_servers.extend(failure.server.as_ref().map(|server| server.id));
                if failure.may_have_executed() {
                    self.written_servers.extend(failure.server.as_ref().map(|server| server.id));
                }
                self.count_server_failure(&failure);
                self.count_failed_attempt(&failure);
                if !matches!(self.hedge, HedgeResult::Running(_)) {
                    if let Some(cause) = self.back_off(attempts).await {
                        return Some(
                            self.finish_failed(AttemptFault::before_sending(cause), None).await,
                        );
                    }
                    if self.is_past_deadline() {
                        return Some(self.finish_failed(failure.fault, None).await);
                    }
                }
            }
        }
        None
    }

    /// The retry decision, within the retry budget.
    fn decide_retry(&mut self, failure: &AttemptFailure<N>, attempts: u32) -> RetryDecision {
        let facts = self.retry_facts(failure, attempts);
        let verdict = self.limit_retry(failure, retry::decide_retry(&facts));
        if matches!(self.hedge, HedgeResult::Running(_)) {
            let wishes =
                RetryConditions { on_timeout: true, on_malformed: true, unsent_only: false };
            if !matches!(
                retry::decide_retry(&FailedAttempt { conditions: wishes, ..facts }),
                RetryDecision::GiveUp(_)
            ) {
                // The budget has paid for the hedged attempt that continues. It may be retried only if this attempt
                // could be.
                let given_up = matches!(verdict, RetryDecision::GiveUp(_));
                self.last_cause = given_up.then_some(failure.fault.cause);
                return RetryDecision::OtherServer;
            }
        }
        let free = match verdict {
            RetryDecision::GiveUp(_) => true,
            // No server received the request, so it is not sent twice.
            RetryDecision::ReplaySameServer => !failure.request_sent || failure.fault.unreceived,
            // The retry budget paid for this when the attempt was abandoned.
            RetryDecision::OtherServer => {
                let permitted =
                    matches!(failure.fault.cause, Cause::ServerStatus | Cause::ServerMarkedDown);
                // A request that a server refused unprocessed caused no work there.
                permitted || (failure.request_sent && failure.fault.unreceived)
            }
        };
        if free {
            return verdict;
        }
        let permitted =
            retry_attempts::take_retry(self.context.worker, &self.pool, &self.retry_in_flight);
        permitted.map_or_else(RetryDecision::GiveUp, |()| verdict)
    }

    /// Limits the retry decision to the deadline of all attempts and to the remaining servers.
    fn limit_retry(&self, failure: &AttemptFailure<N>, verdict: RetryDecision) -> RetryDecision {
        let alone = verdict == RetryDecision::OtherServer
            && failure.may_have_executed()
            && !self.has_other_server(failure);
        match verdict {
            RetryDecision::ReplaySameServer | RetryDecision::OtherServer
                if alone || self.is_past_deadline() =>
            {
                RetryDecision::GiveUp(failure.fault.cause)
            }
            verdict => verdict,
        }
    }

    /// Whether there is another server that cannot have processed the request.
    fn has_other_server(&self, failure: &AttemptFailure<N>) -> bool {
        let view = self.pool.view.borrow();
        let own = failure.server.as_ref().map(|server| server.id);
        let had_it = |id| Some(id) == own || self.written_servers.contains(&id);
        let mut eligible = load_balancing::eligible_servers(&view).into_iter();
        eligible.any(|(at, _)| !had_it(view.servers[at].id))
            || load_balancing::has_backup(&view, had_it)
    }

    fn is_past_deadline(&self) -> bool {
        self.context.worker.rt.now() >= self.attempts_end
    }

    /// Takes a retry from the budget after a hedged attempt failed.
    pub(super) fn take_retry(&mut self) -> Result<(), Cause> {
        match self.last_cause.take() {
            Some(cause) => Err(cause),
            None => {
                retry_attempts::take_retry(self.context.worker, &self.pool, &self.retry_in_flight)
            }
        }
    }

    /// Whether a retry may follow this attempt because of its server's response.
    pub(super) fn may_retry(&self, attempts: u32) -> bool {
        let with_this = attempts + u32::from(self.retry_server.is_none());
        let limit = self.settings.retries(&self.pool.view.borrow().config);
        self.incoming.idempotent && with_this <= u32::from(limit)
    }

    fn retry_facts(&self, failure: &AttemptFailure<N>, attempts: u32) -> FailedAttempt {
        let own = failure.server.as_ref().map(|server| server.id);
        FailedAttempt {
            idempotent: self.incoming.idempotent,
            response_started: failure.fault.answer_begun || failure.fault.interim_sent,
            body_replayable: failure.replayable,
            stale_connection: failure.reused && !failure.fault.answer_received,
            provably_unreceived: !failure.request_sent || failure.fault.unreceived,
            attempts,
            limit: retry_attempts::retry_limit(
                &self.pool.view.borrow(),
                &self.settings,
                failure.fault.cause,
                &self.failed_servers,
                own,
            ),
            conditions: self.settings.retry_conditions(&self.pool.view.borrow().config),
            cause: failure.fault.cause,
        }
    }

    /// Counts the failure for outlier detection.
    fn count_server_failure(&self, failure: &AttemptFailure<N>) {
        if let Some(server) = &failure.server {
            let pool = self.pool.view.borrow();
            let view = server.view.borrow();
            outlier_stats::record_failure(
                &pool,
                &view.stats,
                self.context.worker.index,
                failure.fault.cause,
            );
        }
    }

    /// Counts a failed attempt at its server, when the exchange continues or ends for another reason.
    pub(super) fn count_failed_attempt(&self, failure: &AttemptFailure<N>) {
        if let Some(server) = &failure.server {
            let view = server.view.borrow();
            let slot = &view.stats.slots[self.context.worker.index];
            accounting::count_failed_attempt(failure.fault.cause, failure.request_sent, slot);
            let lost = failure.fault.cause == Cause::HedgeLost;
            if !lost && self.pool.view.borrow().config.balance.uses_latency() {
                view.stats.latency.record_failure(self.context.worker.rt.now());
            }
        }
    }

    /// Waits before retry number `attempt`; returns the cause if the exchange ends meanwhile.
    async fn back_off(&self, attempt: u32) -> Option<Cause> {
        let ExchangeContext { worker, client, service, .. } = self.context;
        let whole = self.total_deadline;
        let patience =
            ExchangeDeadline { client: Some(client), total: whole, cut_at: &service.cut_at };
        retry_attempts::back_off(worker, &self.pool, &self.failed_servers, attempt, &patience).await
    }
}
