//! The connections of one worker or listener, and which of them goes first.
//!
//! What moves with each request is two stores. Who goes is looked for at a limit alone: silent and half-open connections
//! stand in the order in which they came; for others all are looked at, and what was found serves for many newcomers.

use std::collections::hash_map::{Entry, HashMap};
use std::time::Duration;

use super::client_share::{AdmissionPhase, ClientKey, ClientShare};
use super::half_open::{HalfOpenConnections, oldest_half_open, push_half_open};
use super::keyed_hasher::KeyedBuildHasher;
use super::slab::{
    ConnectionHandle, ConnectionScope, ConnectionSlab, EXPENDABLE_CLASS, FRESH_CLASS, IDLE_CLASS,
    NEW_CLASS,
};
use crate::id::ServiceId;
use crate::monotonic_time::MonotonicTime;

/// With more connections than this all are looked at no more often than each `PAUSE`.
const MANY: usize = 4_096;
const SCAN_INTERVAL: Duration = Duration::from_millis(5);
/// What one look finds at least, where there is so much, and of how many connections one more.
const CANDIDATES_PER_SCAN: usize = 16;
/// Silent connections are a crowd where they are more than `FEW`, and more than one of so many.
const SILENT_RATIO: usize = 16;
const FEW: usize = 8;
/// Scopes whose findings are remembered.
const SCOPES: usize = 64;
/// Services that are remembered without a half-open connection.
const SERVICES: usize = 1_024;

/// Whether a handshake may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeAdmission {
    Admit,
    /// It may, once this connection is closed, whose handshake has stalled.
    AdmitAfterClosing(ConnectionHandle),
    /// As many are under way as there may be.
    Full,
    /// The client has its share of them.
    ClientOverShare,
}

/// A connection whose place a newcomer would get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionCandidate {
    pub slot: ConnectionHandle,
    /// What it is doing.
    pub phase: AdmissionPhase,
    /// It has been silent for long, or what it began has stalled: nobody misses it.
    pub expendable: bool,
}

/// What is left of a connection that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedConnection<A> {
    /// What it was doing.
    pub phase: AdmissionPhase,
    pub client: Option<ClientKey>,
    /// What was attached to its place.
    pub attached: A,
}

/// Connections and what they are doing, each with what its owner attaches to its place.
#[derive(Debug)]
pub struct AdmissionTable<A = ()> {
    slab: ConnectionSlab<A>,
    half_open: HashMap<ServiceId, HalfOpenConnections, KeyedBuildHasher>,
    handshakes_by_client: HashMap<(ServiceId, ClientKey), u32, KeyedBuildHasher>,
    /// Who goes next, the first one last, with the moment since when it was doing what it did.
    candidates: HashMap<ConnectionScope, Vec<(ConnectionHandle, MonotonicTime)>>,
    scanned_at: Option<MonotonicTime>,
    /// How long a connection does nothing before it gives its place up.
    grace: Duration,
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
    /// None yet; a connection that has done nothing for less than `grace` keeps its place: its request, or an answer to it,
    /// may be on its way.
    pub fn with_grace(grace: Duration) -> Self {
        AdmissionTable { grace, ..AdmissionTable::default() }
    }

    /// A connection begins, silent.
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

    /// A connection does something else from now on; one that is to leave stays so.
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
            self.recount_half_open(place, (service, client), before, phase);
        }
    }

    /// The half-open ones are counted by themselves.
    fn recount_half_open(
        &mut self,
        place: ConnectionHandle,
        (service, client): (ServiceId, Option<ClientKey>),
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

    /// A client has one handshake more under way.
    fn begin_handshake(&mut self, service: ServiceId, client: Option<ClientKey>) {
        if let Some(client) = client {
            *self.handshakes_by_client.entry((service, client)).or_insert(0) += 1;
        }
    }

    /// A client has one handshake fewer under way.
    fn end_handshake(&mut self, service: ServiceId, client: Option<ClientKey>) {
        if let Some(client) = client
            && let Entry::Occupied(mut count) = self.handshakes_by_client.entry((service, client))
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// It is another client's than was believed: somebody else stands behind it. The client that it was believed to be of.
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

    /// A connection has ended; what is left of it.
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

    /// Whose a connection is.
    pub fn client(&self, place: ConnectionHandle) -> Option<ClientKey> {
        self.slab.get(place)?.client
    }

    /// What is attached to a place.
    pub fn attached(&self, place: ConnectionHandle) -> Option<&A> {
        self.slab.get(place)?.attached()
    }

    /// Since when it does what it is doing.
    pub fn phase_since(&self, place: ConnectionHandle) -> Option<MonotonicTime> {
        self.slab.get(place).map(|slot| slot.since)
    }

    /// What a connection is doing.
    #[inline]
    pub fn phase(&self, place: ConnectionHandle) -> Option<AdmissionPhase> {
        self.slab.get(place).map(|slot| slot.phase)
    }

    /// Handshakes of a service that are under way.
    pub fn handshake_count(&self, service: ServiceId) -> u32 {
        self.half_open.get(&service).map_or(0, |of| of.handshakes)
    }

    /// Connections of a service whose clients have sent nothing.
    pub fn silent_count(&self, service: ServiceId) -> u32 {
        self.half_open.get(&service).map_or(0, |of| of.silent)
    }

    /// Whether a client may begin a handshake, of which there may be `limit`. It does not begin it.
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
            let held = self.handshakes_by_client.get(&(service, client)).copied().unwrap_or(0);
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

    /// The oldest silent connection of a service that has more than `most` of them: it leaves.
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

    /// Whose place a newcomer would get: `None`, nobody's. `held`: connections of a client. Nobody leaves: `set` does that.
    pub fn eviction_candidate(
        &mut self,
        scope: ConnectionScope,
        now: MonotonicTime,
        held: impl Fn(ClientKey) -> u32,
    ) -> Option<EvictionCandidate> {
        if let Some(place) = self.expendable_silent(scope, now) {
            return Some(EvictionCandidate {
                slot: place,
                phase: AdmissionPhase::Silent,
                expendable: true,
            });
        }
        let place = self.next_candidate(scope, now, held)?;
        let slot = self.slab.get(place)?;
        let useless = slot.eviction_class(now, self.grace)? < FRESH_CLASS;
        Some(EvictionCandidate { slot: place, phase: slot.phase, expendable: useless })
    }

    /// The connection whose client has been silent for longest, where it has been so for a while or one of a crowd.
    pub fn expendable_silent(
        &mut self,
        scope: ConnectionScope,
        now: MonotonicTime,
    ) -> Option<ConnectionHandle> {
        let (silent, oldest) = match scope {
            ConnectionScope::All => {
                (self.half_open.values().map(|of| of.silent).sum(), self.oldest_silent(None))
            }
            ConnectionScope::Service(service) => {
                (self.silent_count(service), self.oldest_silent(Some(service)))
            }
            // They have no order of their own.
            ConnectionScope::Client(_) | ConnectionScope::ClientOf(..) => return None,
        };
        let crowd = (self.slab.len() / SILENT_RATIO).max(FEW);
        let class = self.slab.get(oldest?)?.eviction_class(now, self.grace)?;
        (class == EXPENDABLE_CLASS || silent as usize > crowd).then_some(oldest?)
    }

    fn next_candidate(
        &mut self,
        scope: ConnectionScope,
        now: MonotonicTime,
        held: impl Fn(ClientKey) -> u32,
    ) -> Option<ConnectionHandle> {
        let many = self.slab.len() > MANY;
        // One that has only just come goes where all the others are in use, which may have changed since it was found.
        let last = if many { NEW_CLASS } else { IDLE_CLASS };
        if let Some(place) = self.first_candidate(scope, last, now) {
            return Some(place);
        }
        let soon = self.scanned_at.is_some_and(|at| now.since(at) < SCAN_INTERVAL);
        if many && soon {
            return None;
        }
        self.scanned_at = Some(now);
        self.scan_candidates(scope, now, held);
        self.first_candidate(scope, NEW_CLASS, now)
    }

    /// The first of those found whose class is `last` or goes before it.
    fn first_candidate(
        &mut self,
        scope: ConnectionScope,
        last: u8,
        now: MonotonicTime,
    ) -> Option<ConnectionHandle> {
        let found = self.candidates.get_mut(&scope)?;
        while let Some((place, since)) = found.last().copied() {
            let slot = self.slab.get(place).filter(|slot| slot.since == since);
            let class = slot.and_then(|slot| slot.eviction_class(now, self.grace));
            if class.is_some_and(|class| class <= last) {
                return Some(place);
            }
            found.pop();
        }
        self.candidates.remove(&scope);
        None
    }

    /// Looks at all connections for those that go first.
    fn scan_candidates(
        &mut self,
        scope: ConnectionScope,
        now: MonotonicTime,
        held: impl Fn(ClientKey) -> u32,
    ) {
        let mut counts: HashMap<ClientKey, u32> = HashMap::new();
        let mut all: Vec<((u8, u32, MonotonicTime), ConnectionHandle)> = Vec::new();
        for (place, slot) in self.slab.iter() {
            let class = slot.eviction_class(now, self.grace).filter(|_| slot.matches_scope(scope));
            let class = match (class, scope) {
                // Of its own, a client has silent ones closed before others, as old as they may be.
                (Some(NEW_CLASS), ConnectionScope::Client(_) | ConnectionScope::ClientOf(..)) => {
                    EXPENDABLE_CLASS
                }
                (Some(class), _) => class,
                (None, _) => continue,
            };
            let count = match slot.client {
                Some(client) => *counts.entry(client).or_insert_with(|| held(client)),
                None => 0,
            };
            // Silence and stalling speak for themselves; of what waits in order, whoever has most gives first.
            let held = if class >= IDLE_CLASS { u32::MAX - count } else { 0 };
            all.push(((class, held, slot.since), place));
        }
        let most = (self.slab.len() / CANDIDATES_PER_SCAN).max(CANDIDATES_PER_SCAN);
        if all.len() > most {
            all.select_nth_unstable_by_key(most, |(order, place)| (*order, place.index));
            all.truncate(most);
        }
        all.sort_unstable_by_key(|(order, place)| (*order, place.index));
        // Of few, one class at a time: what comes meanwhile may have to go before those of the next. To look at many for each
        // newcomer would cost too much.
        if self.slab.len() <= MANY
            && let Some(((first, ..), _)) = all.first().copied()
        {
            all.retain(|((class, ..), _)| *class == first);
        }
        let found = all.iter().rev().map(|((_, _, since), place)| (*place, *since)).collect();
        if self.candidates.len() >= SCOPES {
            self.candidates.clear();
        }
        self.candidates.insert(scope, found);
    }

    fn oldest_silent(&mut self, service: Option<ServiceId>) -> Option<ConnectionHandle> {
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

    /// A handshake of a service that has stalled, first the oldest that was not answered: its connection leaves.
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

/// Those of a service. It is nearly always there.
fn half_open_of(
    all: &mut HashMap<ServiceId, HalfOpenConnections, KeyedBuildHasher>,
    service: ServiceId,
) -> &mut HalfOpenConnections {
    if all.len() >= SERVICES && !all.contains_key(&service) {
        all.retain(|_, of| of.silent + of.handshakes > 0);
    }
    all.entry(service).or_default()
}
