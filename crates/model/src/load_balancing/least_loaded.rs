//! Least-loaded: of two servers the one that reports less load (`load_report`). The larger the difference, the surer
//! the choice.
//!
//! A report is as old as the agent's interval. If every worker followed it at once, all would choose the server that
//! was idle then. So the preference of the less loaded server is an even chance plus `CLEAR_RATIO` of the difference:
//! small differences move little, and equal servers stay equal. The unknown load of a server whose agent is lost equals
//! any other. One pick in `EXPLORE` uses weights alone. Exchanges in flight are ignored.

use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;
use super::two_choices::{TwoChoices, should_explore};

/// The preference for the smaller load, as a part of the difference. With 0.7, the next report undoes what a report
/// changed if servers are equal; from a difference of 0.72 on the choice is certain.
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
                    .map(|report| report.value)
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
