//! Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam 2018) over a Maglev table. A key's server
//! gets the exchange while it has less in flight than its share of all, times the load factor; otherwise the next
//! server in the table.
//!
//! The exchanges in flight of all servers are summed every few picks, not at each: the bound follows a moment later.

use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::maglev::Maglev;
use super::request::{PickRequest, PickResult};

/// Servers that a pick counts, on average: bounds the cost of summing large pools.
const SERVERS_COUNTED_PER_PICK: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct BoundedHash {
    maglev: Maglev,
    load_factor: u16,
    weight: u64,
    /// Exchanges in flight over all servers when they were last summed.
    in_flight: u64,
    /// Picks until the next sum.
    picks_until_recount: u32,
}

impl BoundedHash {
    pub fn new(
        eligible: &EligibleServers,
        view: &PoolView,
        size: u32,
        load_factor: u16,
    ) -> BoundedHash {
        let weight = eligible.servers.iter().map(|slot| u64::from(slot.weight)).sum();
        let maglev = Maglev::new(eligible, view, size);
        BoundedHash { maglev, load_factor, weight, in_flight: 0, picks_until_recount: 0 }
    }

    pub fn refresh(
        &mut self,
        eligible: &EligibleServers,
        view: &PoolView,
        size: u32,
        load_factor: u16,
    ) {
        self.maglev.refresh(eligible, view, size);
        self.load_factor = load_factor;
        self.weight = eligible.servers.iter().map(|slot| u64::from(slot.weight)).sum();
        self.picks_until_recount = 0;
    }

    #[inline]
    pub fn pick(
        &mut self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
        key: u64,
    ) -> PickResult {
        self.count_in_flight(eligible, view);
        let factor = u64::from(self.load_factor);
        let all = self.in_flight + 1;
        let weight = self.weight;
        let has_room = |at: usize| {
            let slot = &eligible.servers[at];
            let flying =
                view.servers.get(slot.index).map_or(0, |server| server.stats.in_flight.get());
            // Below the ceiling of factor × share × all.
            u64::from(flying) < (factor * all * u64::from(slot.weight)).div_ceil(100 * weight)
        };
        match self.maglev.find_from_entry(eligible, view, ask, key, has_room) {
            Some(at) => eligible.choice(at),
            None => self.maglev.pick(eligible, view, ask, key),
        }
    }

    fn count_in_flight(&mut self, eligible: &EligibleServers, view: &PoolView) {
        if self.picks_until_recount > 0 {
            self.picks_until_recount -= 1;
            return;
        }
        let flying =
            |index: usize| view.servers.get(index).map_or(0, |server| server.stats.in_flight.get());
        self.in_flight = eligible.servers.iter().map(|slot| u64::from(flying(slot.index))).sum();
        self.picks_until_recount = eligible.servers.len() as u32 / SERVERS_COUNTED_PER_PICK;
    }
}
