//! Least-loaded: the one of two that reports less load of itself (`model::load`), the more surely the more they differ.
//!
//! A report is as old as the agent's interval, and everybody who follows it at once sends everything to the one that was
//! idle then. So the less loaded one is preferred by `SURELY` of the difference beyond an even chance: small differences
//! move little, and servers that are alike stay alike. The unknown load of a server whose agent is lost is equal to any.
//! One choice in `EXPLORE` looks at weights alone. It does not look at what is in flight.

use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;
use super::two_choices::{TwoChoices, should_explore};

/// So much of the difference of two loads is the preference of the smaller. With 0.7 what a report moves is undone by the
/// next one when servers are alike; from a difference of 0.72 on the choice is sure.
const CLEAR_RATIO: f64 = 0.7;

#[derive(Clone, Debug)]
pub(super) struct LeastLoaded {
    two_choices: TwoChoices,
}

impl LeastLoaded {
    pub fn new(eligible: &EligibleServers) -> LeastLoaded {
        LeastLoaded { two_choices: TwoChoices::new(eligible) }
    }

    #[inline]
    pub fn pick(
        &self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
        rng: &mut Rng,
    ) -> PickResult {
        let explores = should_explore(rng);
        let draw = rng.below(1 << 32) as f64 / (1u64 << 32) as f64;
        self.two_choices.pick(eligible, view, ask, rng, |second, first| {
            let load = |at: usize| {
                view.servers
                    .get(eligible.servers[at].index)?
                    .stats
                    .load
                    .load()
                    .map(|said| said.value)
            };
            match (load(second), load(first)) {
                (Some(second), Some(first)) if !explores => {
                    draw < 0.5 + CLEAR_RATIO * (first - second)
                }
                _ => false,
            }
        })
    }
}
