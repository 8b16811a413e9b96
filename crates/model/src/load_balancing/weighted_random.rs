//! Weighted random choice.
//!
//! It needs no state between picks and no agreement between workers. Load is ignored.

use crate::snapshot::PoolView;

use super::alias_table::AliasTable;
use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;

/// Draws before every server is looked at in turn: bounds the cost of a pick when many servers are full.
/// When half of the servers are full, eight draws miss all others once in 256 picks.
const DRAWS: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct WeightedRandom {
    table: AliasTable,
}

impl WeightedRandom {
    pub fn new(eligible: &EligibleServers) -> WeightedRandom {
        let weights: Vec<u16> = eligible.servers.iter().map(|slot| slot.weight).collect();
        WeightedRandom { table: AliasTable::new(&weights) }
    }

    pub fn pick(
        &self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
        rng: &mut Rng,
    ) -> PickResult {
        for _ in 0..DRAWS {
            let at = self.table.draw(rng);
            if eligible.may_take(view, ask, at) {
                return eligible.choice(at);
            }
        }
        eligible.first_available(view, ask, self.table.draw(rng))
    }
}
