//! The connections of one worker or listener, and which of them goes first.
//!
//! What moves with each request is two stores. Who goes is looked for at a limit alone: silent and half-open connections
//! stand in the order in which they came; for others all are looked at, and what was found serves for many newcomers.

use std::collections::hash_map::{Entry, HashMap};
use std::time::Duration;

use super::half_open::{HalfOpen, first_of, remember};
use super::keyed::Keyed;
use super::places::{FRESH, IDLE, JUST_COME, Place, Places, Scope, USELESS};
use super::share::{Client, Phase, Share};
use crate::id::ServiceId;
use crate::moment::Moment;

/// With more connections than this all are looked at no more often than each `PAUSE`.
const MANY: usize = 4_096;
const PAUSE: Duration = Duration::from_millis(5);
/// What one look finds at least, where there is so much, and of how many connections one more.
const FOUND: usize = 16;
/// Silent connections are a crowd where they are more than `FEW`, and more than one of so many.
const CROWD: usize = 16;
/// See `CROWD`.
const FEW: usize = 8;
/// Scopes whose findings are remembered.
const SCOPES: usize = 64;
/// Services that are remembered without a half-open connection.
const SERVICES: usize = 1_024;

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

/// A connection whose place a newcomer would get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its place.
    pub place: Place,
    /// What it is doing.
    pub phase: Phase,
    /// It has been silent for long, or what it began has stalled: nobody misses it.
    pub useless: bool,
}

/// What is left of a connection that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left<A> {
    /// What it was doing.
    pub phase: Phase,
    /// Whose it was.
    pub client: Option<Client>,
    /// What was attached to its place.
    pub attached: A,
}

/// Connections and what they are doing, each with what its owner attaches to its place.
#[derive(Debug)]
pub struct Table<A = ()> {
    places: Places<A>,
    half_open: HashMap<ServiceId, HalfOpen, Keyed>,
    shaking_of: HashMap<(ServiceId, Client), u32, Keyed>,
    /// Who goes next, the first one last, with the moment since when it was doing what it did.
    found: HashMap<Scope, Vec<(Place, Moment)>>,
    looked: Option<Moment>,
    /// How long a connection does nothing before it gives its place up.
    grace: Duration,
}

impl<A> Default for Table<A> {
    fn default() -> Self {
        Table {
            places: Places::default(),
            half_open: HashMap::default(),
            shaking_of: HashMap::default(),
            found: HashMap::new(),
            looked: None,
            grace: Duration::ZERO,
        }
    }
}

impl<A> Table<A> {
    /// None yet; a connection that has done nothing for less than `grace` keeps its place: its request, or an answer to it,
    /// may be on its way.
    pub fn with_grace(grace: Duration) -> Self {
        Table { grace, ..Table::default() }
    }

    /// A connection begins, silent.
    pub fn enter(
        &mut self,
        service: ServiceId,
        client: Option<Client>,
        now: Moment,
        attached: A,
    ) -> Place {
        let place = self.places.take(service, client, now, attached);
        let places = &self.places;
        let of = half_open(&mut self.half_open, service);
        of.silent += 1;
        remember(&mut of.silent_order, of.silent, place, |place| places.is(place, Phase::Silent));
        place
    }

    /// A connection does something else from now on; one that is to leave stays so.
    #[inline]
    pub fn set(&mut self, place: Place, phase: Phase, now: Moment) {
        let Some(slot) = self.places.get_mut(place) else { return };
        if slot.phase == Phase::Leaving {
            return;
        }
        let before = std::mem::replace(&mut slot.phase, phase);
        slot.since = now;
        if before == Phase::Silent || before.is_handshake() || phase.is_handshake() {
            let (service, client) = (slot.service, slot.client);
            self.recount(place, (service, client), before, phase);
        }
    }

    /// The half-open ones are counted by themselves.
    fn recount(
        &mut self,
        place: Place,
        (service, client): (ServiceId, Option<Client>),
        before: Phase,
        phase: Phase,
    ) {
        let of = half_open(&mut self.half_open, service);
        match before {
            Phase::Silent => of.silent -= 1,
            Phase::Hello | Phase::Handshake => of.shaking -= 1,
            _ => {}
        }
        if phase.is_handshake() {
            of.shaking += 1;
            let places = &self.places;
            let hello = phase == Phase::Hello;
            let order = if hello { &mut of.hello_order } else { &mut of.shaking_order };
            remember(order, of.shaking, place, |place| places.is(place, phase));
            self.shakes(service, client);
        }
        if before.is_handshake() {
            self.shook(service, client);
        }
    }

    /// A client has one handshake more under way.
    fn shakes(&mut self, service: ServiceId, client: Option<Client>) {
        if let Some(client) = client {
            *self.shaking_of.entry((service, client)).or_insert(0) += 1;
        }
    }

    /// A client has one handshake fewer under way.
    fn shook(&mut self, service: ServiceId, client: Option<Client>) {
        if let Some(client) = client
            && let Entry::Occupied(mut count) = self.shaking_of.entry((service, client))
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// It is another client's than was believed: somebody else stands behind it. The client that it was believed to be of.
    pub fn rename(&mut self, place: Place, client: Option<Client>) -> Option<Client> {
        let slot = self.places.get_mut(place)?;
        let before = std::mem::replace(&mut slot.client, client);
        if slot.phase.is_handshake() {
            let service = slot.service;
            self.shook(service, before);
            self.shakes(service, client);
        }
        before
    }

    /// A connection has ended; what is left of it.
    pub fn leave(&mut self, place: Place) -> Option<Left<A>> {
        let slot = self.places.get(place)?;
        let (phase, client) = (slot.phase, slot.client);
        if phase == Phase::Silent || phase.is_handshake() {
            self.set(place, Phase::Leaving, Moment(0));
        }
        let attached = self.places.give_back(place)?;
        Some(Left { phase, client, attached })
    }

    /// Whose a connection is.
    pub fn client(&self, place: Place) -> Option<Client> {
        self.places.get(place)?.client
    }

    /// What is attached to a place.
    pub fn attached(&self, place: Place) -> Option<&A> {
        self.places.get(place)?.attached()
    }

    /// Since when it does what it is doing.
    pub fn since(&self, place: Place) -> Option<Moment> {
        self.places.get(place).map(|slot| slot.since)
    }

    /// What a connection is doing.
    #[inline]
    pub fn phase(&self, place: Place) -> Option<Phase> {
        self.places.get(place).map(|slot| slot.phase)
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

    /// Whose place a newcomer would get: `None`, nobody's. `held`: connections of a client. Nobody leaves: `set` does that.
    pub fn victim(
        &mut self,
        scope: Scope,
        now: Moment,
        held: impl Fn(Client) -> u32,
    ) -> Option<Victim> {
        if let Some(place) = self.useless_silent(scope, now) {
            return Some(Victim { place, phase: Phase::Silent, useless: true });
        }
        let place = self.next(scope, now, held)?;
        let slot = self.places.get(place)?;
        let useless = slot.class(now, self.grace)? < FRESH;
        Some(Victim { place, phase: slot.phase, useless })
    }

    /// The connection whose client has been silent for longest, where it has been so for a while or one of a crowd.
    pub fn useless_silent(&mut self, scope: Scope, now: Moment) -> Option<Place> {
        let (silent, oldest) = match scope {
            Scope::All => {
                (self.half_open.values().map(|of| of.silent).sum(), self.oldest_silent(None))
            }
            Scope::Service(service) => (self.silent(service), self.oldest_silent(Some(service))),
            // They have no order of their own.
            Scope::Client(_) | Scope::ClientOf(..) => return None,
        };
        let crowd = (self.places.len() / CROWD).max(FEW);
        let class = self.places.get(oldest?)?.class(now, self.grace)?;
        (class == USELESS || silent as usize > crowd).then_some(oldest?)
    }

    fn next(&mut self, scope: Scope, now: Moment, held: impl Fn(Client) -> u32) -> Option<Place> {
        let many = self.places.len() > MANY;
        // One that has only just come goes where all the others are in use, which may have changed since it was found.
        let last = if many { JUST_COME } else { IDLE };
        if let Some(place) = self.first_found(scope, last, now) {
            return Some(place);
        }
        let soon = self.looked.is_some_and(|at| now.since(at) < PAUSE);
        if many && soon {
            return None;
        }
        self.looked = Some(now);
        self.look(scope, now, held);
        self.first_found(scope, JUST_COME, now)
    }

    /// The first of those found whose class is `last` or goes before it.
    fn first_found(&mut self, scope: Scope, last: u8, now: Moment) -> Option<Place> {
        let found = self.found.get_mut(&scope)?;
        while let Some((place, since)) = found.last().copied() {
            let slot = self.places.get(place).filter(|slot| slot.since == since);
            let class = slot.and_then(|slot| slot.class(now, self.grace));
            if class.is_some_and(|class| class <= last) {
                return Some(place);
            }
            found.pop();
        }
        self.found.remove(&scope);
        None
    }

    /// Looks at all connections for those that go first.
    fn look(&mut self, scope: Scope, now: Moment, held: impl Fn(Client) -> u32) {
        let mut counts: HashMap<Client, u32> = HashMap::new();
        let mut all: Vec<((u8, u32, Moment), Place)> = Vec::new();
        for (place, slot) in self.places.iter() {
            let class = slot.class(now, self.grace).filter(|_| slot.fits(scope));
            let class = match (class, scope) {
                // Of its own, a client has silent ones closed before others, as old as they may be.
                (Some(JUST_COME), Scope::Client(_) | Scope::ClientOf(..)) => USELESS,
                (Some(class), _) => class,
                (None, _) => continue,
            };
            let count = match slot.client {
                Some(client) => *counts.entry(client).or_insert_with(|| held(client)),
                None => 0,
            };
            // Silence and stalling speak for themselves; of what waits in order, whoever has most gives first.
            let held = if class >= IDLE { u32::MAX - count } else { 0 };
            all.push(((class, held, slot.since), place));
        }
        let most = (self.places.len() / FOUND).max(FOUND);
        if all.len() > most {
            all.select_nth_unstable_by_key(most, |(order, place)| (*order, place.index));
            all.truncate(most);
        }
        all.sort_unstable_by_key(|(order, place)| (*order, place.index));
        // Of few, one class at a time: what comes meanwhile may have to go before those of the next. To look at many for each
        // newcomer would cost too much.
        if self.places.len() <= MANY
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
        let places = &self.places;
        let mut first = |of: &mut HalfOpen| {
            first_of(&mut of.silent_order, |place| places.is(place, Phase::Silent))
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
    fn stalled(&mut self, service: ServiceId, now: Moment) -> Option<Place> {
        let places = &self.places;
        let of = self.half_open.get_mut(&service)?;
        let hello = first_of(&mut of.hello_order, |place| places.is(place, Phase::Hello));
        let shaking = first_of(&mut of.shaking_order, |place| places.is(place, Phase::Handshake));
        let late = |place: &Place| places.get(*place).is_some_and(|slot| slot.has_stalled(now));
        let place = [hello, shaking].into_iter().flatten().find(late)?;
        self.set(place, Phase::Leaving, now);
        Some(place)
    }
}

/// Those of a service. It is nearly always there.
fn half_open(all: &mut HashMap<ServiceId, HalfOpen, Keyed>, service: ServiceId) -> &mut HalfOpen {
    if all.len() >= SERVICES && !all.contains_key(&service) {
        all.retain(|_, of| of.silent + of.shaking > 0);
    }
    all.entry(service).or_default()
}
