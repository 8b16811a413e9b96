//! The power of two choices (Mitzenmacher, "The power of two choices in randomized load balancing"). Two servers are
//! drawn in proportion to their weights, and the better one gets the exchange; between equals the first drawn.
//!
//! Drawing by weight matters: with even draws a server could not get more than its chance of being drawn (19 % of ten
//! servers), whatever its weight. The policy compares the two.

use crate::snapshot::PoolView;

use super::alias_table::AliasTable;
use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;

/// Draws for the first candidate before every server is looked at in turn: bounds the cost of a pick when many are
/// full.
/// When half of the servers are full, eight draws miss all others once in 256 picks.
const FIRST_DRAWS: usize = 8;
/// Draws for a second candidate that differs from the first. Few: if one server holds nearly all the weight, the others
/// must not be compared with it at every pick, or they would get far more than their share.
const SECOND_DRAWS: usize = 2;
/// If the measure alone could starve a server, one pick in this many uses weights alone. Each server is then measured
/// regularly, and has at least this part of its share.
pub(super) const EXPLORE: u64 = 16;

#[derive(Clone, Debug)]
pub(super) struct TwoChoices {
    table: AliasTable,
}

impl TwoChoices {
    pub fn new(eligible: &EligibleServers) -> TwoChoices {
        let weights: Vec<u16> = eligible.servers.iter().map(|slot| slot.weight).collect();
        TwoChoices { table: AliasTable::new(&weights) }
    }

    /// One server, by weight alone.
    pub fn draw_one(&self, rng: &mut Rng) -> usize {
        self.table.draw(rng)
    }

    /// The better of two; `better(second, first)`, both positions among the eligible.
    #[inline]
    pub fn pick(
        &self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
        rng: &mut Rng,
        better: impl FnOnce(usize, usize) -> bool,
    ) -> PickResult {
        let first = (0..FIRST_DRAWS)
            .map(|_| self.table.draw(rng))
            .find(|at| eligible.may_take(view, ask, *at));
        let Some(first) = first else {
            return eligible.first_available(view, ask, self.table.draw(rng));
        };
        let second = self.draw_second(first, rng).filter(|at| eligible.may_take(view, ask, *at));
        match second {
            Some(second) if better(second, first) => eligible.choice(second),
            _ => eligible.choice(first),
        }
    }

    fn draw_second(&self, first: usize, rng: &mut Rng) -> Option<usize> {
        let count = self.table.len();
        if !self.table.is_uniform {
            return (0..SECOND_DRAWS).map(|_| self.table.draw(rng)).find(|at| *at != first);
        }
        (count > 1).then(|| (first + 1 + rng.below(count as u64 - 1) as usize) % count)
    }
}

/// One pick in `EXPLORE`: use weights alone.
pub(super) fn should_explore(rng: &mut Rng) -> bool {
    rng.below(EXPLORE) == 0
}
