//! Least-request: the one of two with fewer exchanges in flight per weight, over those that all workers count
//! together.
//!
//! An idle server never loses against one that is not, so each gets at least its weight's share as long as it is
//! idle: nobody starves. It keeps no counters of its own and does not look at answer times.

use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;
use super::two_choices::TwoChoices;

#[derive(Clone, Debug)]
pub(super) struct LeastRequest {
    two_choices: TwoChoices,
}

impl LeastRequest {
    pub fn new(eligible: &EligibleServers) -> LeastRequest {
        LeastRequest { two_choices: TwoChoices::new(eligible) }
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
            is_less_loaded(eligible, view, second, first)
        })
    }
}

/// Whether the server at `one` has less in flight per weight than the one at `other`.
#[inline]
fn is_less_loaded(eligible: &EligibleServers, view: &PoolView, one: usize, other: usize) -> bool {
    let one = &eligible.servers[one];
    let other = &eligible.servers[other];
    match (view.servers.get(one.index), view.servers.get(other.index)) {
        (Some(a), Some(b)) => {
            u64::from(a.stats.in_flight.get()) * u64::from(other.weight)
                < u64::from(b.stats.in_flight.get()) * u64::from(one.weight)
        }
        _ => false,
    }
}
