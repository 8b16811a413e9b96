//! Fastest: of two servers the one with the shorter mean time to the first byte.
//!
//! Two means within a tenth of each other are equal, and a server without a measurement equals any other. One pick in
//! `EXPLORE` uses weights alone, so that a server that was slow once is measured again. Exchanges in flight are
//! ignored; `peak-ewma` and `prequal` use them.

use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;
use super::two_choices::{TwoChoices, should_explore};

/// A mean must be below this part of the other to be better: smaller differences are noise.
const CLEAR_RATIO: f32 = 0.9;

#[derive(Clone, Debug)]
pub(super) struct FastestServer {
    two_choices: TwoChoices,
}

impl FastestServer {
    pub fn new(eligible: &EligibleServers) -> FastestServer {
        FastestServer { two_choices: TwoChoices::new(eligible) }
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
        self.two_choices.pick(eligible, view, ask, rng, |second, first| {
            let time = |at: usize| {
                view.servers
                    .get(eligible.servers[at].index)?
                    .stats
                    .latency
                    .mean()
                    .map(|time| time.micros)
            };
            match (time(second), time(first)) {
                (Some(second), Some(first)) if !explores => second < first * CLEAR_RATIO,
                _ => false,
            }
        })
    }
}
