//! Peak EWMA: of two servers the one with the smaller product of response time and exchanges in flight per weight (the
//! measure of Finagle's load balancer).
//!
//! A slow response raises the time at once, fast ones lower it slowly, and silence lowers it too, so that a slow server
//! is tried again. A server without a measurement gets work while it has none in flight.

use crate::monotonic_time::MonotonicTime;
use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;
use super::two_choices::TwoChoices;

/// The time of a server that has something in flight and never answered: longer than any measured time.
const UNKNOWN_LATENCY: f32 = 1e9;

#[derive(Clone, Debug)]
pub(super) struct PeakEwma {
    two_choices: TwoChoices,
}

impl PeakEwma {
    pub fn new(eligible: &EligibleServers) -> PeakEwma {
        PeakEwma { two_choices: TwoChoices::new(eligible) }
    }

    #[inline]
    pub fn pick(
        &self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
        rng: &mut Rng,
    ) -> PickResult {
        self.two_choices.pick(eligible, view, ask, rng, |second, first| {
            cost(eligible, view, second, ask.now) < cost(eligible, view, first, ask.now)
        })
    }
}

/// The cost of one more exchange at this server.
#[inline]
fn cost(eligible: &EligibleServers, view: &PoolView, at: usize, now: MonotonicTime) -> f32 {
    let slot = &eligible.servers[at];
    let Some(server) = view.servers.get(slot.index) else { return f32::MAX };
    let flying = server.stats.in_flight.get() as f32;
    let time = match server.stats.latency.decayed_peak(now) {
        Some(micros) => micros,
        None if flying == 0.0 => 0.0,
        None => UNKNOWN_LATENCY,
    };
    time * (flying + 1.0) / f32::from(slot.weight)
}
