//! Who may be chosen at all.
//!
//! Once per snapshot: servers that take work by state, weight and address. First those that are up; if there is
//! none, those without evidence (`unknown`); if there is none, what the pool's all-down policy says. Draining and
//! disabled servers never. At each choice: servers tried before and servers at their connection cap. It does not
//! order or weigh the rest: the policies do.

use crate::config::AllDown;
use crate::id::ServerId;
use crate::snapshot::{PoolView, ServerState, ServerView};

use super::ask::{Ask, Choice};

/// One server that may be chosen. Policies speak of it by its position among the eligible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Index in `PoolView::servers`.
    pub index: usize,
    /// Its id.
    pub id: ServerId,
    /// Its weight now, never 0.
    pub weight: u16,
    /// Connections in use at a time; `None`: no cap.
    cap: Option<u32>,
}

/// The servers that one snapshot lets take work, in the order of the view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Eligible {
    /// In the order of the view.
    pub slots: Vec<Slot>,
}

impl Eligible {
    pub fn of(view: &PoolView) -> Eligible {
        let those = |wanted: &[ServerState]| -> Vec<Slot> {
            view.servers
                .iter()
                .enumerate()
                .filter(|(_, server)| takes_work(server) && wanted.contains(&server.state))
                .map(|(index, server)| Slot {
                    index,
                    id: server.id,
                    weight: server.weight.get(),
                    cap: server.config.connections,
                })
                .collect()
        };
        let mut slots = those(&[ServerState::Up]);
        if slots.is_empty() {
            slots = those(&[ServerState::Unknown]);
        }
        if slots.is_empty() && view.config.all_down == AllDown::Spread {
            slots = those(&[ServerState::Down]);
        }
        Eligible { slots }
    }

    /// Whether the server at this position may take this exchange now.
    #[inline]
    pub fn takes(&self, view: &PoolView, ask: &Ask, at: usize) -> bool {
        let Some(slot) = self.slots.get(at) else { return false };
        !ask.tried.contains(&slot.id) && below_cap(view, slot)
    }

    /// The choice of the server at this position.
    #[inline]
    pub fn choice(&self, at: usize) -> Choice {
        self.slots.get(at).map_or(Choice::None, |slot| Choice::Server(slot.index))
    }

    /// Looks at every server once, from position `from` on, and takes the first that may have this exchange:
    /// the last resort of every policy, and what tells a full pool from an empty one.
    ///
    /// A server that was tried is taken only when every eligible one was: one that is at its cap is worth waiting
    /// for, one that just failed is not.
    pub fn scan(&self, view: &PoolView, ask: &Ask, from: usize) -> Choice {
        let count = self.slots.len();
        if count == 0 {
            return Choice::None;
        }
        let mut again = None;
        let mut full = false;
        for step in 0..count {
            let at = (from % count + step) % count;
            let slot = &self.slots[at];
            let tried = ask.tried.contains(&slot.id);
            match (tried, below_cap(view, slot)) {
                (false, true) => return self.choice(at),
                (false, false) => full = true,
                (true, true) => again = again.or(Some(at)),
                (true, false) => {}
            }
        }
        match again {
            Some(at) if !full => self.choice(at),
            _ => Choice::AllAtCap,
        }
    }
}

fn takes_work(server: &ServerView) -> bool {
    server.weight.get() > 0 && server.address.is_some()
}

/// An exchange in flight holds one connection; shelved ones hold none back, they can be used or closed.
#[inline]
fn below_cap(view: &PoolView, slot: &Slot) -> bool {
    let Some(cap) = slot.cap else { return true };
    view.servers.get(slot.index).is_some_and(|server| server.live.in_flight.get() < cap)
}
