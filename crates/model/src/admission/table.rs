//! The connections of one worker or listener, and which of them goes first.
//!
//! What moves with each request is two stores. Who goes is looked for at a limit alone: silent and half-open connections
//! stand in the order in which they came; for idle ones all are looked at, and what was found serves for many newcomers.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::share::{Client, Phase, STALLED, Share};
use crate::id::ServiceId;
use crate::moment::Moment;

/// With more connections than this all are looked at no more often than each `PAUSE`.
const MANY: usize = 4_096;
const PAUSE: Duration = Duration::from_millis(5);
/// What one look finds at least, where there is so much, and of how many connections one more.
const FOUND: usize = 16;
/// Scopes whose findings are remembered.
const SCOPES: usize = 64;
/// Services that are remembered without a half-open connection.
const SERVICES: usize = 1_024;

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

/// Whether a handshake may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// It may.
    Open,
    /// It may, once this connection is closed, whose handshake has stalled.
    Instead(Place),
    /// As many are under way as there may be.
    Full,
    /// The client has its share of them.
    Share,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    generation: u32,
    taken: bool,
    phase: Phase,
    service: ServiceId,
    /// `None`: a client without a share.
    client: Option<Client>,
    since: Moment,
}

/// Half-open connections of a service, in the order in which they came. Those that went on are passed over.
#[derive(Debug, Default)]
struct HalfOpen {
    silent: u32,
    silent_order: VecDeque<Place>,
    shaking: u32,
    shaking_order: VecDeque<Place>,
}

/// Connections and what they are doing.
#[derive(Debug, Default)]
pub struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    half_open: HashMap<ServiceId, HalfOpen>,
    shaking_of: HashMap<(ServiceId, Client), u32>,
    /// Who goes next, the first one last, with the moment since when it was doing what it did.
    found: HashMap<Scope, Vec<(Place, Moment)>>,
    looked: Option<Moment>,
}

impl Table {
    /// A connection begins, silent.
    pub fn enter(&mut self, service: ServiceId, client: Option<Client>, now: Moment) -> Place {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                taken: false,
                phase: Phase::Leaving,
                service,
                client,
                since: now,
            });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        (slot.taken, slot.phase, slot.since) = (true, Phase::Silent, now);
        (slot.service, slot.client) = (service, client);
        let place = Place { index, generation: slot.generation };
        if self.half_open.len() >= SERVICES && !self.half_open.contains_key(&service) {
            self.half_open.retain(|_, of| of.silent + of.shaking > 0);
        }
        let slots = &self.slots;
        let of = self.half_open.entry(service).or_default();
        of.silent += 1;
        remember(&mut of.silent_order, of.silent, place, |place| is(slots, place, Phase::Silent));
        place
    }

    /// A connection does something else from now on; one that is to leave stays so.
    #[inline]
    pub fn set(&mut self, place: Place, phase: Phase, now: Moment) {
        let Some(slot) = self.slots.get_mut(place.index as usize) else { return };
        if slot.generation != place.generation || slot.phase == Phase::Leaving {
            return;
        }
        let before = std::mem::replace(&mut slot.phase, phase);
        slot.since = now;
        if matches!(before, Phase::Silent | Phase::Handshake) || phase == Phase::Handshake {
            self.recount(place, before);
        }
    }

    /// The half-open ones are counted by themselves.
    fn recount(&mut self, place: Place, before: Phase) {
        let slot = self.slots[place.index as usize];
        let of = self.half_open.entry(slot.service).or_default();
        match before {
            Phase::Silent => of.silent -= 1,
            Phase::Handshake => {
                of.shaking -= 1;
                if let Some(client) = slot.client
                    && let Some(count) = self.shaking_of.get_mut(&(slot.service, client))
                {
                    *count -= 1;
                    if *count == 0 {
                        self.shaking_of.remove(&(slot.service, client));
                    }
                }
            }
            _ => {}
        }
        if slot.phase == Phase::Handshake {
            of.shaking += 1;
            let slots = &self.slots;
            let still = |place: Place| is(slots, place, Phase::Handshake);
            remember(&mut of.shaking_order, of.shaking, place, still);
            if let Some(client) = slot.client {
                *self.shaking_of.entry((slot.service, client)).or_insert(0) += 1;
            }
        }
    }

    /// It is another client's than was believed: somebody else stands behind it.
    pub fn rename(&mut self, place: Place, client: Option<Client>) {
        if let Some(slot) = self.slots.get_mut(place.index as usize)
            && slot.generation == place.generation
            && slot.phase != Phase::Handshake
        {
            slot.client = client;
        }
    }

    /// A connection has ended.
    pub fn leave(&mut self, place: Place) {
        self.set(place, Phase::Leaving, Moment(0));
        if let Some(slot) = self.slots.get_mut(place.index as usize)
            && slot.generation == place.generation
        {
            slot.generation = slot.generation.wrapping_add(1);
            slot.taken = false;
            self.free.push(place.index);
        }
    }

    /// Since when it does what it is doing.
    pub fn since(&self, place: Place) -> Option<Moment> {
        self.phase(place).map(|_| self.slots[place.index as usize].since)
    }

    /// What a connection is doing.
    pub fn phase(&self, place: Place) -> Option<Phase> {
        let slot = self.slots.get(place.index as usize)?;
        (slot.taken && slot.generation == place.generation).then_some(slot.phase)
    }

    /// Handshakes of a service that are under way.
    pub fn handshakes(&self, service: ServiceId) -> u32 {
        self.half_open.get(&service).map_or(0, |of| of.shaking)
    }

    /// Connections of a service whose clients have sent nothing.
    pub fn silent(&self, service: ServiceId) -> u32 {
        self.half_open.get(&service).map_or(0, |of| of.silent)
    }

    /// Whether a client may begin a handshake, of which there may be `limit`. It does not begin it.
    pub fn handshake(
        &mut self,
        service: ServiceId,
        client: Option<Client>,
        limit: u32,
        share: Share,
        now: Moment,
    ) -> Entrance {
        let under_way = self.handshakes(service);
        if let Some(client) = client {
            let held = self.shaking_of.get(&(service, client)).copied().unwrap_or(0);
            if share.is_met(held, under_way, limit) {
                return Entrance::Share;
            }
        }
        if under_way < limit {
            return Entrance::Open;
        }
        match self.stalled(service, now) {
            Some(place) => Entrance::Instead(place),
            None => Entrance::Full,
        }
    }

    /// The oldest silent connection of a service that has more than `most` of them: it leaves.
    pub fn silent_beyond(&mut self, service: ServiceId, most: u32) -> Option<Place> {
        if self.silent(service) <= most {
            return None;
        }
        let place = self.oldest_silent(Some(service))?;
        self.set(place, Phase::Leaving, Moment(0));
        Some(place)
    }

    /// Whose place a newcomer gets, and what its connection was doing; it leaves. `held`: connections of a client.
    pub fn victim(
        &mut self,
        scope: Scope,
        now: Moment,
        held: impl Fn(Client) -> u32,
    ) -> Option<(Place, Phase)> {
        let place = self.next(scope, now, held)?;
        let phase = self.slots[place.index as usize].phase;
        self.set(place, Phase::Leaving, now);
        Some((place, phase))
    }

    fn next(&mut self, scope: Scope, now: Moment, held: impl Fn(Client) -> u32) -> Option<Place> {
        let silent = match scope {
            Scope::All => self.oldest_silent(None),
            Scope::Service(service) => self.oldest_silent(Some(service)),
            // They have no order of their own.
            Scope::Client(_) | Scope::ClientOf(..) => None,
        };
        if silent.is_some() {
            return silent;
        }
        if let Some(place) = self.take_found(scope, now) {
            return Some(place);
        }
        let soon = self.looked.is_some_and(|at| now.since(at) < PAUSE);
        if self.slots.len() > MANY && soon {
            return None;
        }
        self.looked = Some(now);
        self.look(scope, now, held);
        self.take_found(scope, now)
    }

    fn take_found(&mut self, scope: Scope, now: Moment) -> Option<Place> {
        let found = self.found.get_mut(&scope)?;
        while let Some((place, since)) = found.pop() {
            let slot = self.slots[place.index as usize];
            let same = slot.generation == place.generation && slot.since == since;
            if same && class(&slot, now).is_some() {
                return Some(place);
            }
        }
        self.found.remove(&scope);
        None
    }

    /// Looks at all connections for those that go first.
    fn look(&mut self, scope: Scope, now: Moment, held: impl Fn(Client) -> u32) {
        let mut counts: HashMap<Client, u32> = HashMap::new();
        let mut all: Vec<((u8, u32, Moment), Place)> = Vec::new();
        for (slot, index) in self.slots.iter().zip(0..) {
            let Some(class) = class(slot, now).filter(|_| slot.taken && fits(slot, scope)) else {
                continue;
            };
            let count = match slot.client {
                Some(client) => *counts.entry(client).or_insert_with(|| held(client)),
                None => 0,
            };
            // Silence and stalling speak for themselves; of what waits in order, whoever has most gives first.
            let held = if class >= IDLE { u32::MAX - count } else { 0 };
            let place = Place { index, generation: slot.generation };
            all.push(((class, held, slot.since), place));
        }
        let most = (self.slots.len() / FOUND).max(FOUND);
        if all.len() > most {
            all.select_nth_unstable_by_key(most, |(order, place)| (*order, place.index));
            all.truncate(most);
        }
        all.sort_unstable_by_key(|(order, place)| (*order, place.index));
        // Of few, one class at a time: what comes meanwhile may have to go before those of the next. To look at many for each
        // newcomer would cost too much.
        if self.slots.len() <= MANY
            && let Some(((first, ..), _)) = all.first().copied()
        {
            all.retain(|((class, ..), _)| *class == first);
        }
        let found = all.iter().rev().map(|((_, _, since), place)| (*place, *since)).collect();
        if self.found.len() >= SCOPES {
            self.found.clear();
        }
        self.found.insert(scope, found);
    }

    fn oldest_silent(&mut self, service: Option<ServiceId>) -> Option<Place> {
        let slots = &self.slots;
        let mut first = |of: &mut HalfOpen| {
            first_of(&mut of.silent_order, |place| is(slots, place, Phase::Silent))
        };
        match service {
            Some(service) => self.half_open.get_mut(&service).and_then(first),
            None => {
                let each = self.half_open.values_mut().filter_map(&mut first);
                each.min_by_key(|place| slots[place.index as usize].since)
            }
        }
    }

    /// The oldest handshake of a service, where it has stalled: its connection leaves.
    fn stalled(&mut self, service: ServiceId, now: Moment) -> Option<Place> {
        let slots = &self.slots;
        let of = self.half_open.get_mut(&service)?;
        let place = first_of(&mut of.shaking_order, |place| is(slots, place, Phase::Handshake))?;
        if now.since(slots[place.index as usize].since) < STALLED {
            return None;
        }
        self.set(place, Phase::Leaving, now);
        Some(place)
    }
}

/// The class of what waits in order.
const IDLE: u8 = 3;

/// Which goes first, the lowest; `None`: it is in use.
fn class(slot: &Slot, now: Moment) -> Option<u8> {
    match slot.phase {
        Phase::Silent => Some(0),
        Phase::Handshake | Phase::Head if now.since(slot.since) >= STALLED => Some(1),
        Phase::Fresh => Some(2),
        Phase::Idle => Some(IDLE),
        Phase::Handshake | Phase::Head | Phase::Busy | Phase::Leaving => None,
    }
}

fn fits(slot: &Slot, scope: Scope) -> bool {
    match scope {
        Scope::All => true,
        Scope::Service(service) => slot.service == service,
        Scope::Client(client) => slot.client == Some(client),
        Scope::ClientOf(service, client) => slot.service == service && slot.client == Some(client),
    }
}

fn is(slots: &[Slot], place: Place, phase: Phase) -> bool {
    let slot = slots.get(place.index as usize);
    slot.is_some_and(|slot| slot.generation == place.generation && slot.phase == phase)
}

/// Appends; those that went on are dropped before they outnumber the others.
fn remember(
    order: &mut VecDeque<Place>,
    standing: u32,
    place: Place,
    still: impl Fn(Place) -> bool,
) {
    if order.len() > 2 * standing as usize + FOUND {
        order.retain(|place| still(*place));
    }
    order.push_back(place);
}

fn first_of(order: &mut VecDeque<Place>, still: impl Fn(Place) -> bool) -> Option<Place> {
    while let Some(place) = order.front().copied() {
        if still(place) {
            return Some(place);
        }
        order.pop_front();
    }
    None
}
