//! Peak EWMA: the one of two with the smaller product of answer time and exchanges in flight per weight (the measure
//! of Finagle's load balancer).
//!
//! A slow answer raises the time at once, quick ones lower it slowly, and silence lowers it too, so that a server
//! that was slow is asked again. A server without a measurement takes work while it has none in flight.

use crate::moment::Moment;
use crate::snapshot::PoolView;

use super::ask::{Ask, Choice};
use super::eligible::Eligible;
use super::rng::Rng;
use super::two::Two;

/// The time of a server that has something in flight and never answered: longer than any that did.
const NEVER_ANSWERED: f32 = 1e9;

#[derive(Clone, Debug)]
pub(super) struct PeakEwma {
    two: Two,
}

impl PeakEwma {
    pub fn new(eligible: &Eligible) -> PeakEwma {
        PeakEwma { two: Two::new(eligible) }
    }

    #[inline]
    pub fn pick(&self, eligible: &Eligible, view: &PoolView, ask: &Ask, rng: &mut Rng) -> Choice {
        self.two.pick(eligible, view, ask, rng, |second, first| {
            cost(eligible, view, second, ask.now) < cost(eligible, view, first, ask.now)
        })
    }
}

/// What one more exchange would cost there.
#[inline]
fn cost(eligible: &Eligible, view: &PoolView, at: usize, now: Moment) -> f32 {
    let slot = &eligible.slots[at];
    let Some(server) = view.servers.get(slot.index) else { return f32::MAX };
    let flying = server.live.in_flight.get() as f32;
    let time = match server.live.pace.peak(now) {
        Some(micros) => micros,
        None if flying == 0.0 => 0.0,
        None => NEVER_ANSWERED,
    };
    time * (flying + 1.0) / f32::from(slot.weight)
}
