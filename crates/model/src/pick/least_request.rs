//! Least-request by the power of two choices (Mitzenmacher, "The power of two choices in randomized load
//! balancing"), over the exchanges in flight that all workers count together.
//!
//! Two servers are drawn in proportion to their weights, and the one with fewer exchanges in flight per weight
//! takes the exchange; between equals the first drawn. Drawing by weight matters: drawn evenly, a server could
//! not get more than its chance of being drawn (19 % of ten servers), whatever its weight. An idle server never
//! loses against one that is not, so each gets at least its weight's share as long as it is idle: nobody starves.
//! It keeps no counters of its own and does not look at answer times.

use crate::snapshot::PoolView;

use super::ask::{Ask, Choice};
use super::eligible::Eligible;
use super::rng::Rng;
use super::weighted::Weighted;

/// Draws for the first candidate before every server is looked at in turn.
const FIRST: usize = 8;
/// Draws for a second candidate that differs from the first. Few: where one server holds nearly all the weight
/// the others must not be compared with it at every choice, they would get far more than their share.
const SECOND: usize = 2;

#[derive(Clone, Debug)]
pub(super) struct LeastRequest {
    weighted: Weighted,
}

impl LeastRequest {
    pub fn new(eligible: &Eligible) -> LeastRequest {
        let weights: Vec<u16> = eligible.slots.iter().map(|slot| slot.weight).collect();
        LeastRequest { weighted: Weighted::new(&weights) }
    }

    pub fn pick(&self, eligible: &Eligible, view: &PoolView, ask: &Ask, rng: &mut Rng) -> Choice {
        let first =
            (0..FIRST).map(|_| self.weighted.draw(rng)).find(|at| eligible.takes(view, ask, *at));
        let Some(first) = first else {
            return eligible.scan(view, ask, self.weighted.draw(rng));
        };
        let second = self.second(first, rng).filter(|at| eligible.takes(view, ask, *at));
        match second {
            Some(second) if lighter(eligible, view, second, first) => eligible.choice(second),
            _ => eligible.choice(first),
        }
    }

    fn second(&self, first: usize, rng: &mut Rng) -> Option<usize> {
        let count = self.weighted.len();
        if !self.weighted.even {
            return (0..SECOND).map(|_| self.weighted.draw(rng)).find(|at| *at != first);
        }
        (count > 1).then(|| (first + 1 + rng.below(count as u64 - 1) as usize) % count)
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
