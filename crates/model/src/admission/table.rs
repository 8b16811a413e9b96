//! The connections of one worker or listener, their phases, and the handshakes in progress.
//!
//! A request costs two stores. Silent and half-open connections are kept in order of arrival. `eviction.rs` decides
//! which connection is closed at a limit.

use std::collections::hash_map::{Entry, HashMap};
use std::time::Duration;

use super::client_share::{AdmissionPhase, ClientKey, ClientShare};
use super::half_open::{HalfOpenConnections, oldest_half_open, push_half_open};
use super::keyed_hasher::KeyedBuildHasher;
use super::slab::{ConnectionHandle, ConnectionScope, ConnectionSlab};
use crate::id::ServiceId;
use crate::monotonic_time::MonotonicTime;

/// Above this number of services, entries without a half-open connection are removed: bounds the table over
/// configuration changes.
const SERVICES: usize = 1_024;

/// Whether a handshake may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeAdmission {
    Admit,
    /// The handshake may begin once this connection, whose handshake has stalled, is closed.
    AdmitAfterClosing(ConnectionHandle),
    /// As many handshakes as the limit allows are in progress.
    Full,
    /// The client has reached its share of them.
    ClientOverShare,
}

/// The state of a connection that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedConnection<A> {
    pub phase: AdmissionPhase,
    pub client: Option<ClientKey>,
    pub attached: A,
}

/// Connections and their phases, each with a value that its owner attaches.
#[derive(Debug)]
pub struct AdmissionTable<A = ()> {
    pub(super) slab: ConnectionSlab<A>,
    half_open: HashMap<ServiceId, HalfOpenConnections, KeyedBuildHasher>,
    handshakes_by_client: HashMap<HandshakeOwner, u32, KeyedBuildHasher>,
    /// Candidates for eviction, the first one last. A candidate whose phase started at another time than noted has
    /// changed.
    pub(super) candidates: HashMap<ConnectionScope, Vec<ScannedConnection>>,
    pub(super) scanned_at: Option<MonotonicTime>,
    /// A connection that is idle for less than this is not closed.
    pub(super) grace: Duration,
}

/// Whose handshakes are counted: those of a client with a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct HandshakeOwner {
    service: ServiceId,
    client: ClientKey,
}

/// A connection as a scan found it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScannedConnection {
    pub(super) place: ConnectionHandle,
    /// The start of its phase.
    pub(super) since: MonotonicTime,
}

impl<A> Default for AdmissionTable<A> {
    fn default() -> Self {
        AdmissionTable {
            slab: ConnectionSlab::default(),
            half_open: HashMap::default(),
            handshakes_by_client: HashMap::default(),
            candidates: HashMap::new(),
            scanned_at: None,
            grace: Duration::ZERO,
        }
    }
}

impl<A> AdmissionTable<A> {
    /// An empty table. A connection that was idle for less than `grace` is not closed: its request or its response may
    /// be in flight.
    pub fn with_grace(grace: Duration) -> Self {
        AdmissionTable { grace, ..AdmissionTable::default() }
    }

    /// A new connection, silent so far.
    pub fn insert(
        &mut self,
        service: ServiceId,
        client: Option<ClientKey>,
        now: MonotonicTime,
        attached: A,
    ) -> ConnectionHandle {
        let place = self.slab.insert(service, client, now, attached);
        let places = &self.slab;
        let of = half_open_of(&mut self.half_open, service);
        of.silent += 1;
        push_half_open(&mut of.silent_order, of.silent, place, |place| {
            places.is_in_phase(place, AdmissionPhase::Silent)
        });
        place
    }

    /// Sets the phase of a connection. A connection that is leaving stays so.
    #[inline]
    pub fn set_phase(
        &mut self,
        place: ConnectionHandle,
        phase: AdmissionPhase,
        now: MonotonicTime,
    ) {
        let Some(slot) = self.slab.get_mut(place) else { return };
        if slot.phase == AdmissionPhase::Leaving {
            return;
        }
        let before = std::mem::replace(&mut slot.phase, phase);
        slot.since = now;
        if before == AdmissionPhase::Silent || before.is_handshake() || phase.is_handshake() {
            let service = slot.service;
            let client = slot.client;
            self.recount_half_open(place, service, client, before, phase);
        }
    }

    /// Half-open connections are counted and ordered apart from others.
    fn recount_half_open(
        &mut self,
        place: ConnectionHandle,
        service: ServiceId,
        client: Option<ClientKey>,
        before: AdmissionPhase,
        phase: AdmissionPhase,
    ) {
        let of = half_open_of(&mut self.half_open, service);
        match before {
            AdmissionPhase::Silent => of.silent -= 1,
            AdmissionPhase::Hello | AdmissionPhase::Handshake => of.handshakes -= 1,
            _ => {}
        }
        if phase.is_handshake() {
            of.handshakes += 1;
            let places = &self.slab;
            let hello = phase == AdmissionPhase::Hello;
            let order = if hello { &mut of.hello_order } else { &mut of.handshake_order };
            push_half_open(order, of.handshakes, place, |place| places.is_in_phase(place, phase));
            self.begin_handshake(service, client);
        }
        if before.is_handshake() {
            self.end_handshake(service, client);
        }
    }

    /// Counts a client's handshake.
    fn begin_handshake(&mut self, service: ServiceId, client: Option<ClientKey>) {
        if let Some(client) = client {
            let owner = HandshakeOwner { service, client };
            *self.handshakes_by_client.entry(owner).or_insert(0) += 1;
        }
    }

    /// The client's handshake is over; clients without one leave the map.
    fn end_handshake(&mut self, service: ServiceId, client: Option<ClientKey>) {
        if let Some(client) = client
            && let Entry::Occupied(mut count) =
                self.handshakes_by_client.entry(HandshakeOwner { service, client })
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Assigns the connection to another client, as when a PROXY header names one; returns the client before.
    pub fn reassign_client(
        &mut self,
        place: ConnectionHandle,
        client: Option<ClientKey>,
    ) -> Option<ClientKey> {
        let slot = self.slab.get_mut(place)?;
        let before = std::mem::replace(&mut slot.client, client);
        if slot.phase.is_handshake() {
            let service = slot.service;
            self.end_handshake(service, before);
            self.begin_handshake(service, client);
        }
        before
    }

    /// Removes a connection that has ended and returns its state.
    pub fn remove(&mut self, place: ConnectionHandle) -> Option<ClosedConnection<A>> {
        let slot = self.slab.get(place)?;
        let phase = slot.phase;
        let client = slot.client;
        if phase == AdmissionPhase::Silent || phase.is_handshake() {
            self.set_phase(place, AdmissionPhase::Leaving, MonotonicTime(0));
        }
        let attached = self.slab.remove(place)?;
        Some(ClosedConnection { phase, client, attached })
    }

    /// The client of a connection.
    pub fn client(&self, place: ConnectionHandle) -> Option<ClientKey> {
        self.slab.get(place)?.client
    }

    pub fn attached(&self, place: ConnectionHandle) -> Option<&A> {
        self.slab.get(place)?.attached()
    }

    /// When the connection entered its phase.
    pub fn phase_since(&self, place: ConnectionHandle) -> Option<MonotonicTime> {
        self.slab.get(place).map(|slot| slot.since)
    }

    #[inline]
    pub fn phase(&self, place: ConnectionHandle) -> Option<AdmissionPhase> {
        self.slab.get(place).map(|slot| slot.phase)
    }

    /// Handshakes of a service in progress.
    pub fn handshake_count(&self, service: ServiceId) -> u32 {
        self.half_open.get(&service).map_or(0, |of| of.handshakes)
    }

    /// Connections of a service whose clients have sent nothing.
    pub fn silent_count(&self, service: ServiceId) -> u32 {
        self.half_open.get(&service).map_or(0, |of| of.silent)
    }

    /// Whether a client may begin a handshake when `limit` of them are allowed. Begins none.
    pub fn admit_handshake(
        &mut self,
        service: ServiceId,
        client: Option<ClientKey>,
        limit: u32,
        share: ClientShare,
        now: MonotonicTime,
    ) -> HandshakeAdmission {
        let under_way = self.handshake_count(service);
        if let Some(client) = client {
            let owner = HandshakeOwner { service, client };
            let held = self.handshakes_by_client.get(&owner).copied().unwrap_or(0);
            if share.is_reached(held, under_way, limit) {
                return HandshakeAdmission::ClientOverShare;
            }
        }
        if under_way < limit {
            return HandshakeAdmission::Admit;
        }
        match self.stalled_handshake(service, now) {
            Some(place) => HandshakeAdmission::AdmitAfterClosing(place),
            None => HandshakeAdmission::Full,
        }
    }

    /// Marks the oldest silent connection of a service that has more than `most` of them as leaving.
    pub fn oldest_silent_beyond(
        &mut self,
        service: ServiceId,
        most: u32,
    ) -> Option<ConnectionHandle> {
        if self.silent_count(service) <= most {
            return None;
        }
        let place = self.oldest_silent(Some(service))?;
        self.set_phase(place, AdmissionPhase::Leaving, MonotonicTime(0));
        Some(place)
    }

    /// Connections of all services whose clients have sent nothing.
    pub(super) fn all_silent_count(&self) -> u32 {
        self.half_open.values().map(|of| of.silent).sum()
    }

    /// The connection of a service, or of all services, that has been silent for longest.
    pub(super) fn oldest_silent(&mut self, service: Option<ServiceId>) -> Option<ConnectionHandle> {
        let places = &self.slab;
        let mut first = |of: &mut HalfOpenConnections| {
            oldest_half_open(&mut of.silent_order, |place| {
                places.is_in_phase(place, AdmissionPhase::Silent)
            })
        };
        match service {
            Some(service) => self.half_open.get_mut(&service).and_then(first),
            None => {
                let each = self.half_open.values_mut().filter_map(&mut first);
                each.min_by_key(|place| places.get(*place).map(|slot| slot.since))
            }
        }
    }

    /// Marks the connection of a stalled handshake as leaving: first the oldest whose client never responded.
    fn stalled_handshake(
        &mut self,
        service: ServiceId,
        now: MonotonicTime,
    ) -> Option<ConnectionHandle> {
        let places = &self.slab;
        let of = self.half_open.get_mut(&service)?;
        let hello = oldest_half_open(&mut of.hello_order, |place| {
            places.is_in_phase(place, AdmissionPhase::Hello)
        });
        let shaking = oldest_half_open(&mut of.handshake_order, |place| {
            places.is_in_phase(place, AdmissionPhase::Handshake)
        });
        let late =
            |place: &ConnectionHandle| places.get(*place).is_some_and(|slot| slot.has_stalled(now));
        let place = [hello, shaking].into_iter().flatten().find(late)?;
        self.set_phase(place, AdmissionPhase::Leaving, now);
        Some(place)
    }
}

/// The half-open connections of a service. The entry nearly always exists.
fn half_open_of(
    all: &mut HashMap<ServiceId, HalfOpenConnections, KeyedBuildHasher>,
    service: ServiceId,
) -> &mut HalfOpenConnections {
    if all.len() >= SERVICES && !all.contains_key(&service) {
        all.retain(|_, of| of.silent + of.handshakes > 0);
    }
    all.entry(service).or_default()
}
