//! Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam 2018) over a Maglev table: a key has its
//! server while that has less in flight than its share of all, times the load factor; else the next in the table.
//!
//! What all servers have in flight is counted anew every few choices, not at each: the bound follows a moment later.

use crate::snapshot::PoolView;

use super::ask::{Ask, Choice};
use super::eligible::Eligible;
use super::maglev::Maglev;

/// Servers counted at a choice, on average.
const COUNTED: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct BoundedHash {
    maglev: Maglev,
    /// Percent.
    load_factor: u16,
    weight: u64,
    /// In flight over all servers when they were counted.
    flying: u64,
    /// Choices until they are counted again.
    left: u32,
}

impl BoundedHash {
    pub fn new(eligible: &Eligible, view: &PoolView, size: u32, load_factor: u16) -> BoundedHash {
        let weight = eligible.slots.iter().map(|slot| u64::from(slot.weight)).sum();
        let maglev = Maglev::new(eligible, view, size);
        BoundedHash { maglev, load_factor, weight, flying: 0, left: 0 }
    }

    pub fn refresh(&mut self, eligible: &Eligible, view: &PoolView, size: u32, load_factor: u16) {
        self.maglev.refresh(eligible, view, size);
        self.load_factor = load_factor;
        self.weight = eligible.slots.iter().map(|slot| u64::from(slot.weight)).sum();
        self.left = 0;
    }

    #[inline]
    pub fn pick(&mut self, eligible: &Eligible, view: &PoolView, ask: &Ask, key: u64) -> Choice {
        self.count(eligible, view);
        let (factor, all, weight) = (u64::from(self.load_factor), self.flying + 1, self.weight);
        let has_room = |at: usize| {
            let slot = &eligible.slots[at];
            let flying = view.servers.get(slot.index).map_or(0, |it| it.live.in_flight.get());
            // Below the ceiling of factor × share × all.
            u64::from(flying) < (factor * all * u64::from(slot.weight)).div_ceil(100 * weight)
        };
        match self.maglev.walk(eligible, view, ask, key, has_room) {
            Some(at) => eligible.choice(at),
            None => self.maglev.pick(eligible, view, ask, key),
        }
    }

    fn count(&mut self, eligible: &Eligible, view: &PoolView) {
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        let flying = |index: usize| view.servers.get(index).map_or(0, |it| it.live.in_flight.get());
        self.flying = eligible.slots.iter().map(|slot| u64::from(flying(slot.index))).sum();
        self.left = eligible.slots.len() as u32 / COUNTED;
    }
}
