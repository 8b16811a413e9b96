//! The connections of a table in numbered slots, each with its phase. The callers choose which connection to close.

use std::time::Duration;

use super::chunked_vec::ChunkedVec;
use super::client_share::{AdmissionPhase, CLIENT_HELLO_GRACE, ClientKey, STALL_TIMEOUT};
use crate::id::ServiceId;
use crate::monotonic_time::MonotonicTime;

/// A handle of a connection. The generation distinguishes a slot's connection from later ones in the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionHandle {
    /// The slot; small numbers, used again.
    pub index: u32,
    generation: u32,
}

/// Whose connections may be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectionScope {
    All,
    Service(ServiceId),
    Client(ClientKey),
    ClientOf(ServiceId, ClientKey),
}

/// The state of a connection; small, since every open connection has one.
#[derive(Debug)]
pub(super) struct ConnectionEntry<A> {
    pub(super) since: MonotonicTime,
    generation: u32,
    pub(super) service: ServiceId,
    /// `None`: a client without a share.
    pub(super) client: Option<ClientKey>,
    pub(super) phase: AdmissionPhase,
    /// `None`: the slot is free.
    attached: Option<A>,
}

#[derive(Debug)]
pub(super) struct ConnectionSlab<A> {
    slots: ChunkedVec<ConnectionEntry<A>>,
    free: Vec<u32>,
}

impl<A> Default for ConnectionSlab<A> {
    fn default() -> Self {
        ConnectionSlab { slots: ChunkedVec::default(), free: Vec::new() }
    }
}

impl<A> ConnectionSlab<A> {
    /// Takes a slot for a silent connection.
    pub(super) fn insert(
        &mut self,
        service: ServiceId,
        client: Option<ClientKey>,
        since: MonotonicTime,
        attached: A,
    ) -> ConnectionHandle {
        let phase = AdmissionPhase::Silent;
        let attached = Some(attached);
        if let Some(index) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(index)
        {
            let generation = slot.generation;
            *slot = ConnectionEntry { since, generation, service, client, phase, attached };
            return ConnectionHandle { index, generation };
        }
        let index = self.slots.len() as u32;
        let generation = 0;
        self.slots.push(ConnectionEntry { since, generation, service, client, phase, attached });
        ConnectionHandle { index, generation }
    }

    /// Frees the slot and returns what was attached to it.
    pub(super) fn remove(&mut self, place: ConnectionHandle) -> Option<A> {
        let slot = self.get_mut(place)?;
        slot.generation = slot.generation.wrapping_add(1);
        slot.phase = AdmissionPhase::Leaving;
        let attached = slot.attached.take();
        self.free.push(place.index);
        attached
    }

    #[inline]
    pub(super) fn get(&self, place: ConnectionHandle) -> Option<&ConnectionEntry<A>> {
        self.slots.get(place.index).filter(|slot| slot.generation == place.generation)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, place: ConnectionHandle) -> Option<&mut ConnectionEntry<A>> {
        self.slots.get_mut(place.index).filter(|slot| slot.generation == place.generation)
    }

    /// Slots in use and free ones.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ConnectionHandle, &ConnectionEntry<A>)> {
        let places = self.slots.iter().zip(0..).filter(|(slot, _)| slot.attached.is_some());
        places.map(|(slot, index)| (ConnectionHandle { index, generation: slot.generation }, slot))
    }

    /// Whether a connection is open and in this phase.
    pub(super) fn is_in_phase(&self, place: ConnectionHandle, phase: AdmissionPhase) -> bool {
        self.get(place).is_some_and(|slot| slot.phase == phase)
    }
}

impl<A> ConnectionEntry<A> {
    pub(super) fn attached(&self) -> Option<&A> {
        self.attached.as_ref()
    }

    /// The eviction class, the lowest goes first; `None`: the connection is in use, or idle for less than `grace`.
    pub(super) fn eviction_class(&self, now: MonotonicTime, grace: Duration) -> Option<u8> {
        match self.phase {
            _ if now.since(self.since) < grace => None,
            AdmissionPhase::Silent if now.since(self.since) >= CLIENT_HELLO_GRACE => {
                Some(EXPENDABLE_CLASS)
            }
            _ if self.has_stalled(now) => Some(1),
            AdmissionPhase::Fresh => Some(FRESH_CLASS),
            AdmissionPhase::Idle => Some(IDLE_CLASS),
            AdmissionPhase::Silent => Some(NEW_CLASS),
            AdmissionPhase::Hello
            | AdmissionPhase::Handshake
            | AdmissionPhase::Head
            | AdmissionPhase::Busy
            | AdmissionPhase::Leaving => None,
        }
    }

    /// Whether a handshake or a head takes longer than newcomers have to wait for.
    pub(super) fn has_stalled(&self, now: MonotonicTime) -> bool {
        match self.phase {
            AdmissionPhase::Hello => now.since(self.since) >= CLIENT_HELLO_GRACE,
            AdmissionPhase::Handshake | AdmissionPhase::Head => {
                now.since(self.since) >= STALL_TIMEOUT
            }
            _ => false,
        }
    }

    pub(super) fn matches_scope(&self, scope: ConnectionScope) -> bool {
        match scope {
            ConnectionScope::All => true,
            ConnectionScope::Service(service) => self.service == service,
            ConnectionScope::Client(client) => self.client == Some(client),
            ConnectionScope::ClientOf(service, client) => {
                self.service == service && self.client == Some(client)
            }
        }
    }
}

/// Silent connections whose grace is over.
pub(super) const EXPENDABLE_CLASS: u8 = 0;

/// Connections that are ready and carried no request. Connections of lower classes are expendable.
pub(super) const FRESH_CLASS: u8 = 2;

/// Connections that wait for the next request.
pub(super) const IDLE_CLASS: u8 = 3;

/// Silent connections whose first bytes may be in flight.
pub(super) const NEW_CLASS: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_small_and_knows_later_connections_from_earlier_ones() {
        let size = size_of::<ConnectionEntry<(std::sync::Arc<u8>, u64)>>();
        assert!(size <= 48, "{size} bytes");
        let mut places = ConnectionSlab::default();
        let first = places.insert(ServiceId(1), None, MonotonicTime(1), 'a');
        assert_eq!(places.remove(first), Some('a'));
        let second = places.insert(ServiceId(1), None, MonotonicTime(2), 'b');
        assert_eq!((first.index, places.len()), (second.index, 1));
        assert!(places.get(first).is_none() && places.is_in_phase(second, AdmissionPhase::Silent));
        assert_eq!(places.remove(first), None);
        assert_eq!(places.iter().map(|(place, _)| place).collect::<Vec<_>>(), [second]);
    }
}
