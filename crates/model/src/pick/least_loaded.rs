//! Least-loaded: the one of two that reports less load of itself (`model::load`).
//!
//! Loads within `SAME` of each other are equal, and so is the unknown load of a server whose agent is lost. A report
//! is as old as the agent's interval: equal or not, one choice in `EXPLORE` looks at weights alone. It does not look
//! at what is in flight.

use crate::snapshot::PoolView;

use super::ask::{Ask, Choice};
use super::eligible::Eligible;
use super::rng::Rng;
use super::two::{Two, explores};

/// Loads that differ less are the same; of 1.
const SAME: f64 = 0.05;

#[derive(Clone, Debug)]
pub(super) struct LeastLoaded {
    two: Two,
}

impl LeastLoaded {
    pub fn new(eligible: &Eligible) -> LeastLoaded {
        LeastLoaded { two: Two::new(eligible) }
    }

    #[inline]
    pub fn pick(&self, eligible: &Eligible, view: &PoolView, ask: &Ask, rng: &mut Rng) -> Choice {
        let explores = explores(rng);
        self.two.pick(eligible, view, ask, rng, |second, first| {
            let load = |at: usize| {
                view.servers.get(eligible.slots[at].index)?.live.load.read().map(|said| said.value)
            };
            match (load(second), load(first)) {
                (Some(second), Some(first)) if !explores => second + SAME < first,
                _ => false,
            }
        })
    }
}
