//! Weighted random choice.
//!
//! It needs no state between choices and no agreement between workers. It does not look at load.

use crate::snapshot::PoolView;

use super::ask::{Ask, Choice};
use super::eligible::Eligible;
use super::rng::Rng;
use super::weighted::Weighted;

/// Draws before every server is looked at in turn.
const DRAWS: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Random {
    weighted: Weighted,
}

impl Random {
    pub fn new(eligible: &Eligible) -> Random {
        let weights: Vec<u16> = eligible.slots.iter().map(|slot| slot.weight).collect();
        Random { weighted: Weighted::new(&weights) }
    }

    pub fn pick(&self, eligible: &Eligible, view: &PoolView, ask: &Ask, rng: &mut Rng) -> Choice {
        for _ in 0..DRAWS {
            let at = self.weighted.draw(rng);
            if eligible.takes(view, ask, at) {
                return eligible.choice(at);
            }
        }
        eligible.scan(view, ask, self.weighted.draw(rng))
    }
}
