//! The places of a table, each with what its connection is doing. It chooses nobody.

use std::time::Duration;

use super::chunks::Chunks;
use super::share::{Client, GREETING, Phase, STALLED};
use crate::id::ServiceId;
use crate::moment::Moment;

/// A connection's place. It is never mistaken for that of a later connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which; small numbers, used again.
    pub index: u32,
    generation: u32,
}

/// Whose connections may be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everybody's.
    All,
    /// Those of a service.
    Service(ServiceId),
    /// Those of a client.
    Client(Client),
    /// Those of a client at a service.
    ClientOf(ServiceId, Client),
}

/// What is known of a connection; every one that is open has this, so it is kept small.
#[derive(Debug)]
pub(super) struct Slot<A> {
    pub(super) since: Moment,
    generation: u32,
    pub(super) service: ServiceId,
    /// `None`: a client without a share.
    pub(super) client: Option<Client>,
    pub(super) phase: Phase,
    /// `None`: nobody has the place.
    attached: Option<A>,
}

/// All places.
#[derive(Debug)]
pub(super) struct Places<A> {
    slots: Chunks<Slot<A>>,
    free: Vec<u32>,
}

impl<A> Default for Places<A> {
    fn default() -> Self {
        Places { slots: Chunks::default(), free: Vec::new() }
    }
}

impl<A> Places<A> {
    /// A place for a silent connection.
    pub(super) fn take(
        &mut self,
        service: ServiceId,
        client: Option<Client>,
        since: Moment,
        attached: A,
    ) -> Place {
        let (phase, attached) = (Phase::Silent, Some(attached));
        if let Some(index) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(index)
        {
            let generation = slot.generation;
            *slot = Slot { since, generation, service, client, phase, attached };
            return Place { index, generation };
        }
        let (index, generation) = (self.slots.len() as u32, 0);
        self.slots.push(Slot { since, generation, service, client, phase, attached });
        Place { index, generation }
    }

    /// Nobody has it any more; what was attached to it.
    pub(super) fn give_back(&mut self, place: Place) -> Option<A> {
        let slot = self.get_mut(place)?;
        slot.generation = slot.generation.wrapping_add(1);
        slot.phase = Phase::Leaving;
        let attached = slot.attached.take();
        self.free.push(place.index);
        attached
    }

    #[inline]
    pub(super) fn get(&self, place: Place) -> Option<&Slot<A>> {
        self.slots.get(place.index).filter(|slot| slot.generation == place.generation)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut Slot<A>> {
        self.slots.get_mut(place.index).filter(|slot| slot.generation == place.generation)
    }

    /// Those that are taken and those that were.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// All that are taken.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Place, &Slot<A>)> {
        let places = self.slots.iter().zip(0..).filter(|(slot, _)| slot.attached.is_some());
        places.map(|(slot, index)| (Place { index, generation: slot.generation }, slot))
    }

    /// Whether a connection is there and does this.
    pub(super) fn is(&self, place: Place, phase: Phase) -> bool {
        self.get(place).is_some_and(|slot| slot.phase == phase)
    }
}

impl<A> Slot<A> {
    pub(super) fn attached(&self) -> Option<&A> {
        self.attached.as_ref()
    }

    /// Which goes first, the lowest; `None`: it is in use, or has done nothing for less than `grace`.
    pub(super) fn class(&self, now: Moment, grace: Duration) -> Option<u8> {
        match self.phase {
            _ if now.since(self.since) < grace => None,
            Phase::Silent if now.since(self.since) >= GREETING => Some(USELESS),
            _ if self.has_stalled(now) => Some(1),
            Phase::Fresh => Some(FRESH),
            Phase::Idle => Some(IDLE),
            Phase::Silent => Some(JUST_COME),
            Phase::Hello | Phase::Handshake | Phase::Head | Phase::Busy | Phase::Leaving => None,
        }
    }

    /// Whether a handshake or a head takes longer than others have to wait for.
    pub(super) fn has_stalled(&self, now: Moment) -> bool {
        match self.phase {
            Phase::Hello => now.since(self.since) >= GREETING,
            Phase::Handshake | Phase::Head => now.since(self.since) >= STALLED,
            _ => false,
        }
    }

    pub(super) fn fits(&self, scope: Scope) -> bool {
        match scope {
            Scope::All => true,
            Scope::Service(service) => self.service == service,
            Scope::Client(client) => self.client == Some(client),
            Scope::ClientOf(service, client) => {
                self.service == service && self.client == Some(client)
            }
        }
    }
}

/// The class of silence that lasts.
pub(super) const USELESS: u8 = 0;

/// The class of what has just begun; useless are those before it.
pub(super) const FRESH: u8 = 2;

/// The class of what waits in order.
pub(super) const IDLE: u8 = 3;

/// The class of silence that may be about to end.
pub(super) const JUST_COME: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_small_and_knows_later_connections_from_earlier_ones() {
        let size = size_of::<Slot<(std::sync::Arc<u8>, u64)>>();
        assert!(size <= 48, "{size} bytes");
        let mut places = Places::default();
        let first = places.take(ServiceId(1), None, Moment(1), 'a');
        assert_eq!(places.give_back(first), Some('a'));
        let second = places.take(ServiceId(1), None, Moment(2), 'b');
        assert_eq!((first.index, places.len()), (second.index, 1));
        assert!(places.get(first).is_none() && places.is(second, Phase::Silent));
        assert_eq!(places.give_back(first), None);
        assert_eq!(places.iter().map(|(place, _)| place).collect::<Vec<_>>(), [second]);
    }
}
