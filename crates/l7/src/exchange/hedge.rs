//! Hedged requests: whether a second server may get the request while the first is silent, and how both attempts end.
//!
//! The second attempt itself is `upstream::hedge`.

use std::task::Poll;

use model::config::BalancePolicy;
use model::id::ServerId;

use super::attempt_failure::AttemptFailure;
use super::{ExchangeContext, HttpExchange};
use crate::conn::deadline::ExchangeDeadline;
use crate::rt::NetDriver;
use crate::upstream::hedge::{HedgeContext, HedgeResult, HedgeState, HedgeWinner};

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Prepares a second attempt next to the first one, if the pool hedges and the request may be sent twice.
    pub(super) fn start_hedge(&self, attempts: u32, first: ServerId) -> Option<Box<HedgeState<N>>> {
        let view = self.pool.view.borrow();
        let context = view.config.hedge.as_ref()?;
        if self.settings.retry_conditions(&view.config).unsent_only {
            return None;
        }
        let body = &self.incoming.body;
        let whole = body.framing.is_done() && !body.has_pending() && !self.incoming.upgrade;
        let anew = attempts == 0 && self.retry_server.is_none();
        let own = self.incoming.authenticates || !self.context.client_peer.has_no_dedicated();
        if !(anew && whole && self.may_retry(attempts)) || own || self.affinity_choice().is_some() {
            return None;
        }
        let ExchangeContext { worker, client_peer, .. } = self.context;
        let now = worker.rt.now();
        let delay =
            self.pool.recent_latencies.borrow_mut().get_or_insert_default().delay(context, now)?;
        let context = HedgeContext {
            worker: worker.clone(),
            pool: self.pool.clone(),
            client_peer: client_peer.clone(),
            client: self.incoming.client(client_peer).ip(),
            key: self.hash_key(),
            class: self.class,
            settings: self.settings.clone(),
            first_server: first,
        };
        Some(Box::new(HedgeState::Delayed(now + delay, context)))
    }

    /// Adopts the second attempt after the first one lost or failed; `None`: the second one failed too.
    pub(super) async fn adopt_hedge(&mut self) -> Option<HedgeWinner<N>> {
        let ExchangeContext { worker, client, service, .. } = self.context;
        let hedged = match std::mem::replace(&mut self.hedge, HedgeResult::None) {
            HedgeResult::Won(won) => *won,
            HedgeResult::None => return None,
            HedgeResult::Running(mut race) => {
                let whole = self.total_deadline;
                let cut_at = &service.cut_at;
                let deadline = ExchangeDeadline { client: Some(client), total: whole, cut_at };
                let message = &self.incoming.head;
                std::future::poll_fn(|_| match race.poll(message) {
                    Poll::Ready(hedged) => Poll::Ready(Some(hedged)),
                    // The next attempt detects a deadline that passed meanwhile.
                    Poll::Pending if !race.is_under_way() => Poll::Ready(None),
                    Poll::Pending if deadline.expired_cause(worker.rt.now()).is_some() => {
                        Poll::Ready(None)
                    }
                    Poll::Pending => {
                        worker.rt.wake_at(deadline.earliest_until(whole));
                        Poll::Pending
                    }
                })
                .await?
            }
        };
        self.retry_in_flight.take_over(&hedged.retry_in_flight);
        Some(hedged)
    }

    /// Counts a first server that lost to the hedge. Only its latency counts against it: it took at least this long.
    pub(super) fn count_lost_to_hedge(&mut self, failure: &AttemptFailure<N>) {
        self.counters().retried.add(1);
        self.lost_since = self.record.request_sent;
        self.count_failed_attempt(failure);
        let Some(server) = &failure.server else { return };
        self.failed_servers.push(server.id);
        self.written_servers.push(server.id);
        let now = self.context.worker.rt.now();
        let Some(took) = self.lost_since.map(|since| now.since(since)) else { return };
        let view = server.view.borrow();
        match self.pool.view.borrow().config.balance {
            BalancePolicy::PeakEwma => view.stats.latency.record_answer_peak(took, now),
            balance if balance.uses_latency() => view.stats.latency.record_answer(took, now),
            _ => {}
        }
    }

    /// Records the time to the first byte for the pool's latency percentile.
    pub(super) fn record_answer_latency(&self) {
        if self.pool.view.borrow().config.hedge.is_none() || self.record.local_reply {
            return;
        }
        let since = self.lost_since.or(self.record.request_sent);
        let Some((since, first)) = since.zip(self.record.first_byte) else { return };
        let mut recent = self.pool.recent_latencies.borrow_mut();
        recent
            .get_or_insert_default()
            .record_latency(first.since(since), self.context.worker.rt.now());
    }
}
