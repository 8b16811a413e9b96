//! Any order of events: counts stay true, nothing in use is ever closed, and nothing leaves twice.

use std::collections::HashMap;
use std::time::Duration;

use model::admission::{Client, Entrance, GREETING, Phase, Place, STALLED, Scope, Share, Table};
use model::id::ServiceId;
use model::moment::Moment;
use proptest::prelude::*;

/// More silent ones than this may be a crowd.
const FEW: usize = 8;

#[derive(Clone, Debug)]
enum Step {
    Enter(u32, u8),
    Set(usize, Phase),
    Shake(usize, u32),
    Leave(usize),
    Take(u8, u32, u8),
    Beyond(u32, u32),
    Wait(u64),
}

fn phases() -> impl Strategy<Value = Phase> {
    use Phase::*;
    prop::sample::select(vec![Silent, Hello, Handshake, Head, Fresh, Idle, Busy])
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..3_u32, 0..5_u8).prop_map(|(service, client)| Step::Enter(service, client)),
        4 => (any::<usize>(), phases()).prop_map(|(at, phase)| Step::Set(at, phase)),
        3 => (any::<usize>(), 1..6_u32).prop_map(|(at, limit)| Step::Shake(at, limit)),
        2 => any::<usize>().prop_map(Step::Leave),
        3 => (0..4_u8, 0..3_u32, 1..5_u8).prop_map(|(kind, service, client)| Step::Take(kind, service, client)),
        1 => (0..3_u32, 0..4_u32).prop_map(|(service, most)| Step::Beyond(service, most)),
        1 => (0..3_000_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..300)
}

/// Client 0 has no share.
fn client(number: u8) -> Option<Client> {
    (number > 0).then(|| Client::of([192, 0, 2, number].into()))
}

#[derive(Clone, Copy)]
struct Known {
    service: u32,
    client: Option<Client>,
    phase: Phase,
    since: Moment,
}

/// What the table ought to know.
#[derive(Default)]
struct World {
    table: Table,
    open: HashMap<Place, Known>,
    order: Vec<Place>,
    now: Moment,
    grace: Duration,
}

impl World {
    fn new(grace: Duration) -> World {
        World { table: Table::with_grace(grace), grace, ..World::default() }
    }

    fn at(&self, at: usize) -> Option<Place> {
        (!self.order.is_empty()).then(|| self.order[at % self.order.len()])
    }

    fn set(&mut self, place: Place, phase: Phase) {
        self.table.set(place, phase, self.now);
        let known = self.open.get_mut(&place).unwrap();
        if known.phase != Phase::Leaving {
            (known.phase, known.since) = (phase, self.now);
        }
    }

    fn left(&mut self, place: Place) -> Known {
        let known = self.open.get_mut(&place).unwrap();
        let before = *known;
        assert!(!matches!(before.phase, Phase::Busy | Phase::Leaving), "{:?}", before.phase);
        known.phase = Phase::Leaving;
        before
    }

    fn of(&self, service: u32, phase: Phase) -> Vec<Moment> {
        let of = |known: &&Known| known.service == service && known.phase == phase;
        self.open.values().filter(of).map(|known| known.since).collect()
    }

    fn shake(&mut self, at: usize, limit: u32) {
        let Some(place) = self.at(at) else { return };
        let known = self.open[&place];
        if known.phase != Phase::Silent {
            return;
        }
        let service = ServiceId(known.service);
        match self.table.handshake(service, known.client, limit, Share::Auto, self.now) {
            Entrance::Open => assert!(self.table.handshakes(service) < limit),
            Entrance::Instead(other) => {
                let other = self.left(other);
                assert!(other.service == known.service && other.phase.is_handshake());
                assert!(may_go_now(&other, self.now, self.grace));
            }
            Entrance::Full | Entrance::Share => return,
        }
        self.set(place, if at.is_multiple_of(2) { Phase::Hello } else { Phase::Handshake });
    }

    fn take(&mut self, scope: Scope) {
        let held =
            |of: Client| self.open.values().filter(|known| known.client == Some(of)).count() as u32;
        let first = self.table.victim(scope, self.now, held);
        let found = self.table.victim(scope, self.now, held);
        assert_eq!(first, found, "{scope:?}: who is looked for twice is found twice");
        let fits = |known: &Known| match scope {
            Scope::All => true,
            Scope::Service(service) => known.service == service.0,
            Scope::Client(client) => known.client == Some(client),
            Scope::ClientOf(service, client) => {
                known.service == service.0 && known.client == Some(client)
            }
        };
        let may_go = |known: &Known| {
            !matches!(known.phase, Phase::Busy | Phase::Leaving)
                && may_go_now(known, self.now, self.grace)
        };
        let candidates: Vec<Known> =
            self.open.values().filter(|known| fits(known) && may_go(known)).copied().collect();
        let Some(victim) = found else {
            return assert!(candidates.is_empty(), "{scope:?}: somebody could have gone");
        };
        self.table.set(victim.place, Phase::Leaving, self.now);
        let known = self.left(victim.place);
        assert!(fits(&known) && may_go_now(&known, self.now, self.grace));
        assert_eq!(known.phase, victim.phase);
        let long = |one: &&Known| self.now.since(one.since) >= GREETING;
        let silent = candidates.iter().filter(|one| one.phase == Phase::Silent).filter(long);
        let stalled = matches!(known.phase, Phase::Hello | Phase::Handshake | Phase::Head);
        let crowd = candidates.iter().filter(|one| one.phase == Phase::Silent).count() > FEW;
        let lasts = known.phase == Phase::Silent && (long(&&known) || crowd);
        assert!(victim.useless == (stalled || lasts) || !victim.useless && crowd, "{scope:?}");
        let own = matches!(scope, Scope::Client(_) | Scope::ClientOf(..));
        if known.phase == Phase::Silent && !victim.useless && !own {
            let young = |one: &Known| one.phase == Phase::Silent && !long(&one);
            assert!(candidates.iter().all(young), "{scope:?}: it has only just come");
        }
        if let (Some(oldest), Scope::All | Scope::Service(_)) =
            (silent.map(|one| one.since).min(), scope)
        {
            assert_eq!((known.phase, known.since), (Phase::Silent, oldest), "{scope:?}");
        }
    }

    fn check(&self) {
        for service in 0..3 {
            let silent = self.of(service, Phase::Silent).len();
            let shaking = self.of(service, Phase::Handshake).len();
            let shaking = shaking + self.of(service, Phase::Hello).len();
            // Back to silence is no way that connections go; the table does not count it.
            assert!(self.table.silent(ServiceId(service)) as usize <= silent);
            assert_eq!(self.table.handshakes(ServiceId(service)) as usize, shaking);
        }
        for (place, known) in &self.open {
            assert_eq!(self.table.phase(*place), Some(known.phase));
        }
    }
}

fn may_go_now(known: &Known, now: Moment, grace: Duration) -> bool {
    match known.phase {
        Phase::Handshake | Phase::Head => now.since(known.since) >= STALLED,
        Phase::Hello => now.since(known.since) >= GREETING.max(grace),
        _ => now.since(known.since) >= grace,
    }
}

proptest! {
    #[test]
    fn nothing_in_use_is_closed_and_counts_stay_true(
        steps in steps(),
        grace in prop::sample::select(vec![0, 250]),
    ) {
        let mut world = World::new(Duration::from_millis(grace));
        for step in steps {
            match step {
                Step::Enter(service, number) => {
                    let place = world.table.enter(ServiceId(service), client(number), world.now, ());
                    let since = world.now;
                    let known = Known { service, client: client(number), phase: Phase::Silent, since };
                    assert!(world.open.insert(place, known).is_none(), "a place is given once");
                    world.order.push(place);
                }
                Step::Set(at, phase) => {
                    if let Some(place) = world.at(at)
                        && phase != Phase::Silent
                    {
                        world.set(place, phase);
                    }
                }
                Step::Shake(at, limit) => world.shake(at, limit),
                Step::Leave(at) => {
                    if let Some(place) = world.at(at) {
                        world.table.leave(place);
                        world.open.remove(&place);
                        world.order.retain(|one| *one != place);
                        assert_eq!(world.table.phase(place), None);
                    }
                }
                Step::Take(kind, service, number) => {
                    let service = ServiceId(service);
                    let client = Client::of([192, 0, 2, number].into());
                    world.take(match kind {
                        0 => Scope::All,
                        1 => Scope::Service(service),
                        2 => Scope::Client(client),
                        _ => Scope::ClientOf(service, client),
                    });
                }
                Step::Beyond(service, most) => {
                    let oldest = world.of(service, Phase::Silent).into_iter().min();
                    if let Some(place) = world.table.silent_beyond(ServiceId(service), most) {
                        let known = world.left(place);
                        assert_eq!((known.phase, Some(known.since)), (Phase::Silent, oldest));
                    }
                }
                Step::Wait(millis) => world.now = Moment(world.now.0 + millis * 1_000_000),
            }
            world.check();
        }
    }
}
