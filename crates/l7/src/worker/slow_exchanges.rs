//! Measurements of closed exchanges, handed to the control thread.
//!
//! The measurements go through a bounded ring. If the ring is full the loss is counted, and no worker waits. The
//! control thread decides which exchanges are slow.

use std::net::SocketAddr;

use model::snapshot::ServiceView;
use model::time_attribution::{TimeShare, attribute_time};

use super::Worker;
use crate::accounting::{self, ExchangeRecord};
use crate::conn::sampling;
use crate::rt::NetDriver;

impl<N: NetDriver> Worker<N> {
    /// Hands over the measurement of a slow or sampled exchange. Returns the side that took most of the time, for a
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
        if !slow && !record.sample.sampled {
            return None;
        }
        let facts = accounting::exchange_facts(record, view.id, client, slow, &self.ids);
        self.samples.push(&facts.to_words());
        let access = &self.options.access;
        let logged = access.enabled && (access.all || record.cause.is_some());
        (slow && logged).then(|| attribute_time(&facts).largest()).flatten()
    }
}
