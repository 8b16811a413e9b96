//! Least-request: of two servers the one with fewer exchanges in flight per weight, counted over all workers.
//!
//! An idle server never loses against a busy one, so each server gets at least its weight's share while it is idle:
//! none starves. It has no counters of its own and ignores response times.

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

/// Whether the server at `first` has less in flight per weight than the one at `second`.
#[inline]
fn is_less_loaded(
    eligible: &EligibleServers,
    view: &PoolView,
    first: usize,
    second: usize,
) -> bool {
    let first = &eligible.servers[first];
    let second = &eligible.servers[second];
    match (view.servers.get(first.index), view.servers.get(second.index)) {
        (Some(a), Some(b)) => {
            u64::from(a.stats.in_flight.get()) * u64::from(second.weight)
                < u64::from(b.stats.in_flight.get()) * u64::from(first.weight)
        }
        _ => false,
    }
}
