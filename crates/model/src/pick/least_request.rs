//! Least-request: the one of two with fewer exchanges in flight per weight, over those that all workers count
//! together.
//!
//! An idle server never loses against one that is not, so each gets at least its weight's share as long as it is
//! idle: nobody starves. It keeps no counters of its own and does not look at answer times.

use crate::snapshot::PoolView;

use super::ask::{Ask, Choice};
use super::eligible::Eligible;
use super::rng::Rng;
use super::two::Two;

#[derive(Clone, Debug)]
pub(super) struct LeastRequest {
    two: Two,
}

impl LeastRequest {
    pub fn new(eligible: &Eligible) -> LeastRequest {
        LeastRequest { two: Two::new(eligible) }
    }

    #[inline]
    pub fn pick(&self, eligible: &Eligible, view: &PoolView, ask: &Ask, rng: &mut Rng) -> Choice {
        self.two
            .pick(eligible, view, ask, rng, |second, first| lighter(eligible, view, second, first))
    }
}

/// Whether the server at `one` has less in flight per weight than the one at `other`.
#[inline]
fn lighter(eligible: &Eligible, view: &PoolView, one: usize, other: usize) -> bool {
    let (one, other) = (&eligible.slots[one], &eligible.slots[other]);
    match (view.servers.get(one.index), view.servers.get(other.index)) {
        (Some(a), Some(b)) => {
            u64::from(a.live.in_flight.get()) * u64::from(other.weight)
                < u64::from(b.live.in_flight.get()) * u64::from(one.weight)
        }
        _ => false,
    }
}
