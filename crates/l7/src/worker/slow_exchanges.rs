//! Measurements of closed exchanges, handed to the control thread.
//!
//! The measurements go through a bounded ring. If the ring is full the loss is counted, and no worker waits. The
//! control thread decides which exchanges are slow.

use std::net::SocketAddr;

use model::exchange_failure::ExchangeFailure;
use model::snapshot::ServiceView;
use model::time_attribution::{TimeShare, WaitReason, attribute_time};

use super::Worker;
use crate::accounting::{self, ExchangeRecord, ExchangeSample, LogDecision};
use crate::conn::sampling;
use crate::rt::NetDriver;

/// Shares are parts of this.
const MILLION: u32 = 1_000_000;

impl<N: NetDriver> Worker<N> {
    /// Adds the time for which the thread did not run in the middle of this turn. Called where an exchange has read the
    /// clock: its next wait begins after that time.
    #[inline]
    pub(crate) fn charge_run_delay(&self, sample: &mut ExchangeSample) {
        let read_sum = || self.rt.net.run_delay_ns();
        let delay = self.rt.run_delay.take_within_turn(self.rt.now(), read_sum);
        if !delay.is_zero() {
            sample.awaited.add(WaitReason::Processor, delay.as_nanos() as u64);
        }
    }

    /// Hands over the measurement of a slow, sampled or failed exchange. Returns the side that took most of the time, for a
    /// slow exchange that is logged.
    pub(super) fn sample_exchange(
        &self,
        view: &ServiceView,
        record: &mut ExchangeRecord,
        client: SocketAddr,
    ) -> Option<TimeShare> {
        if !self.sampler.is_on() {
            return None;
        }
        let slow = sampling::is_slow(view, record, record.ended_at.unwrap_or(self.rt.now()));
        let is_failure = || {
            let status = record.counted_status();
            ExchangeFailure::of_end(record.cause, record.local_reply, status).is_some()
        };
        // Failures are counted in any case. A flood of them must leave room for what is slow.
        let is_measured =
            slow || record.sample.sampled || (self.samples.is_half_empty() && is_failure());
        if !is_measured {
            return None;
        }
        if slow {
            self.charge_run_delay(&mut record.sample);
        }
        let facts = accounting::exchange_facts(record, view.id, client, slow, &self.ids);
        self.samples.push(&facts.to_words());
        let access = &self.options.access;
        let logged =
            access.enabled && (access.all || access.sample.is_some() || record.cause.is_some());
        (slow && logged).then(|| attribute_time(&facts.without_idle_time()).largest()).flatten()
    }

    /// Whether the access log has the exchange.
    pub(super) fn decide_log(&self, view: &ServiceView, record: &ExchangeRecord) -> LogDecision {
        let access = &self.options.access;
        if !access.enabled {
            return LogDecision::Skipped;
        }
        if access.all || accounting::is_logged_always(record) {
            return LogDecision::Logged { weight: None };
        }
        let Some(share) = access.sample else { return LogDecision::Skipped };
        if sampling::is_slow(view, record, record.ended_at.unwrap_or(self.rt.now())) {
            return LogDecision::Logged { weight: None };
        }
        match self.rng.borrow_mut().below(MILLION.into()) < u64::from(share) {
            true => LogDecision::Logged { weight: Some(f64::from(MILLION) / f64::from(share)) },
            false => LogDecision::Skipped,
        }
    }
}
