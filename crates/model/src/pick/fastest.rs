//! Fastest: the one of two that has answered sooner of late, by the mean time to the first byte.
//!
//! Two means within a tenth of each other are equal, a server without a measurement is equal to any other, and one
//! choice in `EXPLORE` looks at weights alone: a server that was slow once is measured again. It does not look at
//! what is in flight; `peak-ewma` and `prequal` do.

use crate::snapshot::PoolView;

use super::ask::{Ask, Choice};
use super::eligible::Eligible;
use super::rng::Rng;
use super::two::{Two, explores};

/// A mean must be below so much of the other to be better.
const CLEARLY: f32 = 0.9;

#[derive(Clone, Debug)]
pub(super) struct Fastest {
    two: Two,
}

impl Fastest {
    pub fn new(eligible: &Eligible) -> Fastest {
        Fastest { two: Two::new(eligible) }
    }

    #[inline]
    pub fn pick(&self, eligible: &Eligible, view: &PoolView, ask: &Ask, rng: &mut Rng) -> Choice {
        let explores = explores(rng);
        self.two.pick(eligible, view, ask, rng, |second, first| {
            let time = |at: usize| {
                view.servers.get(eligible.slots[at].index)?.live.pace.mean().map(|time| time.micros)
            };
            match (time(second), time(first)) {
                (Some(second), Some(first)) if !explores => second < first * CLEARLY,
                _ => false,
            }
        })
    }
}
