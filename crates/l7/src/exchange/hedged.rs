//! Asking a second server while the first one is silent: whether that may be done, and what becomes of both attempts.
//!
//! The race itself is `hedge`'s.

use std::task::Poll;

use model::config::Balance;
use model::id::ServerId;

use super::failure::Failure;
use super::{Exchange, Parties};
use crate::hedge::{Hedged, Race, Second, Terms};
use crate::patience::Patience;
use crate::rt::Net;

impl<N: Net> Exchange<'_, N> {
    /// The second attempt beside a first one at this server, where the pool wants it and the request may be sent twice.
    pub(super) fn race(&self, attempts: u32, first: ServerId) -> Option<Box<Race<N>>> {
        let view = self.pool.view.borrow();
        let terms = view.config.hedge.as_ref()?;
        let body = &self.incoming.body;
        let whole = body.framing.done() && !body.holds() && !self.incoming.upgrade;
        let anew = attempts == 0 && self.again.is_none();
        let own = self.incoming.authenticates || !self.parties.caller.owns_nothing();
        if !(anew && whole && self.may_follow(attempts)) || own || self.stick().is_some() {
            return None;
        }
        let Parties { worker, caller, .. } = self.parties;
        let now = worker.rt.now();
        let delay = self.pool.recent.borrow_mut().get_or_insert_default().delay(terms, now)?;
        let terms = Terms {
            worker: worker.clone(),
            pool: self.pool.clone(),
            caller: caller.clone(),
            key: self.key(),
            class: self.class,
            first,
        };
        Some(Box::new(Race::Waits(now + delay, terms)))
    }

    /// The second attempt instead of a first one that lost or failed; `None`: it came to nothing.
    pub(super) async fn adopt(&mut self) -> Option<Hedged<N>> {
        let Parties { worker, client, service, .. } = self.parties;
        let hedged = match std::mem::replace(&mut self.second, Second::None) {
            Second::Won(won) => *won,
            Second::None => return None,
            Second::Runs(mut race) => {
                let (whole, cut_at) = (self.whole, &service.cut_at);
                let patience = Patience { client: Some(client), whole, cut_at };
                let message = &self.incoming.head;
                std::future::poll_fn(|_| match race.poll(message) {
                    Poll::Ready(hedged) => Poll::Ready(Some(hedged)),
                    // What ends the exchange meanwhile is found by the attempt that follows.
                    Poll::Pending if !race.is_under_way() => Poll::Ready(None),
                    Poll::Pending if patience.over(worker.rt.now()).is_some() => Poll::Ready(None),
                    Poll::Pending => {
                        worker.rt.wake_at(patience.until(whole));
                        Poll::Pending
                    }
                })
                .await?
            }
        };
        self.under_way.take(&hedged.under_way);
        Some(hedged)
    }

    /// The first server lost: nothing is wrong with it, but that it took at least so long.
    pub(super) fn overtaken(&mut self, failure: &Failure<N>) {
        self.counters().retried.add(1);
        self.lost_since = self.record.request_sent;
        self.attempt_failed(failure);
        let Some(server) = &failure.server else { return };
        self.failed.push(server.id);
        self.written.push(server.id);
        let now = self.parties.worker.rt.now();
        let Some(took) = self.lost_since.map(|since| now.since(since)) else { return };
        let view = server.view.borrow();
        match self.pool.view.borrow().config.balance {
            Balance::PeakEwma => view.live.pace.answered_peak(took, now),
            balance if balance.wants_times() => view.live.pace.answered(took, now),
            _ => {}
        }
    }

    /// Keeps what an answer took to begin, for the pool's percentile.
    pub(super) fn saw(&self) {
        if self.pool.view.borrow().config.hedge.is_none() || self.record.by_us {
            return;
        }
        let since = self.lost_since.or(self.record.request_sent);
        let Some((since, first)) = since.zip(self.record.first_byte) else { return };
        let mut recent = self.pool.recent.borrow_mut();
        recent.get_or_insert_default().saw(first.since(since), self.parties.worker.rt.now());
    }
}
