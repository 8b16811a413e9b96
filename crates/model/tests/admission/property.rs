//! Any order of events: counts stay right, no connection in use is closed, and none is removed twice.

use std::collections::HashMap;
use std::time::Duration;

use model::admission::{
    AdmissionPhase, AdmissionTable, CLIENT_HELLO_GRACE, ClientKey, ClientShare, ConnectionHandle,
    ConnectionScope, HandshakeAdmission, STALL_TIMEOUT,
};
use model::id::ServiceId;
use model::monotonic_time::MonotonicTime;
use proptest::prelude::*;

/// More silent connections than this may be a crowd.
const FEW: usize = 8;

#[derive(Clone, Debug)]
enum AdmissionStep {
    Enter(u32, u8),
    Set(usize, AdmissionPhase),
    Shake(usize, u32),
    Leave(usize),
    Take(u8, u32, u8),
    Beyond(u32, u32),
    Wait(u64),
}

fn phases() -> impl Strategy<Value = AdmissionPhase> {
    use AdmissionPhase::*;
    prop::sample::select(vec![Silent, Hello, Handshake, Head, Fresh, Idle, Busy])
}

fn steps() -> impl Strategy<Value = Vec<AdmissionStep>> {
    let step = prop_oneof![
        4 => (0..3_u32, 0..5_u8).prop_map(|(service, client)| AdmissionStep::Enter(service, client)),
        4 => (any::<usize>(), phases()).prop_map(|(at, phase)| AdmissionStep::Set(at, phase)),
        3 => (any::<usize>(), 1..6_u32).prop_map(|(at, limit)| AdmissionStep::Shake(at, limit)),
        2 => any::<usize>().prop_map(AdmissionStep::Leave),
        3 => (0..4_u8, 0..3_u32, 1..5_u8).prop_map(|(kind, service, client)| AdmissionStep::Take(kind, service, client)),
        1 => (0..3_u32, 0..4_u32).prop_map(|(service, most)| AdmissionStep::Beyond(service, most)),
        1 => (0..3_000_u64).prop_map(AdmissionStep::Wait),
    ];
    prop::collection::vec(step, 0..300)
}

/// Client 0 has no share.
fn client(number: u8) -> Option<ClientKey> {
    (number > 0).then(|| ClientKey::from_address([192, 0, 2, number].into()))
}

#[derive(Clone, Copy)]
struct ExpectedConnection {
    service: u32,
    client: Option<ClientKey>,
    phase: AdmissionPhase,
    since: MonotonicTime,
}

/// The expected state of the table.
#[derive(Default)]
struct TableModel {
    table: AdmissionTable,
    open: HashMap<ConnectionHandle, ExpectedConnection>,
    order: Vec<ConnectionHandle>,
    now: MonotonicTime,
    grace: Duration,
}

impl TableModel {
    fn new(grace: Duration) -> TableModel {
        TableModel { table: AdmissionTable::with_grace(grace), grace, ..TableModel::default() }
    }

    fn at(&self, at: usize) -> Option<ConnectionHandle> {
        (!self.order.is_empty()).then(|| self.order[at % self.order.len()])
    }

    fn set(&mut self, place: ConnectionHandle, phase: AdmissionPhase) {
        self.table.set_phase(place, phase, self.now);
        let known = self.open.get_mut(&place).unwrap();
        if known.phase != AdmissionPhase::Leaving {
            known.phase = phase;
            known.since = self.now;
        }
    }

    fn mark_closing(&mut self, place: ConnectionHandle) -> ExpectedConnection {
        let known = self.open.get_mut(&place).unwrap();
        let before = *known;
        assert!(
            !matches!(before.phase, AdmissionPhase::Busy | AdmissionPhase::Leaving),
            "{:?}",
            before.phase
        );
        known.phase = AdmissionPhase::Leaving;
        before
    }

    fn opened_at(&self, service: u32, phase: AdmissionPhase) -> Vec<MonotonicTime> {
        let of = |known: &&ExpectedConnection| known.service == service && known.phase == phase;
        self.open.values().filter(of).map(|known| known.since).collect()
    }

    fn start_handshake(&mut self, at: usize, limit: u32) {
        let Some(place) = self.at(at) else { return };
        let known = self.open[&place];
        if known.phase != AdmissionPhase::Silent {
            return;
        }
        let service = ServiceId(known.service);
        match self.table.admit_handshake(service, known.client, limit, ClientShare::Auto, self.now)
        {
            HandshakeAdmission::Admit => assert!(self.table.handshake_count(service) < limit),
            HandshakeAdmission::AdmitAfterClosing(other) => {
                let other = self.mark_closing(other);
                assert!(other.service == known.service && other.phase.is_handshake());
                assert!(may_go_now(&other, self.now, self.grace));
            }
            HandshakeAdmission::Full | HandshakeAdmission::ClientOverShare => return,
        }
        self.set(
            place,
            if at.is_multiple_of(2) { AdmissionPhase::Hello } else { AdmissionPhase::Handshake },
        );
    }

    fn take(&mut self, scope: ConnectionScope) {
        let held = |of: ClientKey| {
            self.open.values().filter(|known| known.client == Some(of)).count() as u32
        };
        let first = self.table.eviction_candidate(scope, self.now, held);
        let found = self.table.eviction_candidate(scope, self.now, held);
        assert_eq!(first, found, "{scope:?}: who is looked for twice is found twice");
        let fits = |known: &ExpectedConnection| match scope {
            ConnectionScope::All => true,
            ConnectionScope::Service(service) => known.service == service.0,
            ConnectionScope::Client(client) => known.client == Some(client),
            ConnectionScope::ClientOf(service, client) => {
                known.service == service.0 && known.client == Some(client)
            }
        };
        let may_go = |known: &ExpectedConnection| {
            !matches!(known.phase, AdmissionPhase::Busy | AdmissionPhase::Leaving)
                && may_go_now(known, self.now, self.grace)
        };
        let candidates: Vec<ExpectedConnection> =
            self.open.values().filter(|known| fits(known) && may_go(known)).copied().collect();
        let Some(victim) = found else {
            return assert!(candidates.is_empty(), "{scope:?}: somebody could have gone");
        };
        self.table.set_phase(victim.slot, AdmissionPhase::Leaving, self.now);
        let known = self.mark_closing(victim.slot);
        assert!(fits(&known) && may_go_now(&known, self.now, self.grace));
        assert_eq!(known.phase, victim.phase);
        let long = |one: &&ExpectedConnection| self.now.since(one.since) >= CLIENT_HELLO_GRACE;
        let silent =
            candidates.iter().filter(|one| one.phase == AdmissionPhase::Silent).filter(long);
        let stalled = matches!(
            known.phase,
            AdmissionPhase::Hello | AdmissionPhase::Handshake | AdmissionPhase::Head
        );
        let crowd =
            candidates.iter().filter(|one| one.phase == AdmissionPhase::Silent).count() > FEW;
        let lasts = known.phase == AdmissionPhase::Silent && (long(&&known) || crowd);
        assert!(
            victim.expendable == (stalled || lasts) || !victim.expendable && crowd,
            "{scope:?}"
        );
        let own = matches!(scope, ConnectionScope::Client(_) | ConnectionScope::ClientOf(..));
        if known.phase == AdmissionPhase::Silent && !victim.expendable && !own {
            let young =
                |one: &ExpectedConnection| one.phase == AdmissionPhase::Silent && !long(&one);
            assert!(candidates.iter().all(young), "{scope:?}: it has only just come");
        }
        if let (Some(oldest), ConnectionScope::All | ConnectionScope::Service(_)) =
            (silent.map(|one| one.since).min(), scope)
        {
            assert_eq!((known.phase, known.since), (AdmissionPhase::Silent, oldest), "{scope:?}");
        }
    }

    fn check(&self) {
        for service in 0..3 {
            let silent = self.opened_at(service, AdmissionPhase::Silent).len();
            let shaking = self.opened_at(service, AdmissionPhase::Handshake).len();
            let shaking = shaking + self.opened_at(service, AdmissionPhase::Hello).len();
            // Connections never return to silence, so the table does not count that.
            assert!(self.table.silent_count(ServiceId(service)) as usize <= silent);
            assert_eq!(self.table.handshake_count(ServiceId(service)) as usize, shaking);
        }
        for (place, known) in &self.open {
            assert_eq!(self.table.phase(*place), Some(known.phase));
        }
    }
}

fn may_go_now(known: &ExpectedConnection, now: MonotonicTime, grace: Duration) -> bool {
    match known.phase {
        AdmissionPhase::Handshake | AdmissionPhase::Head => now.since(known.since) >= STALL_TIMEOUT,
        AdmissionPhase::Hello => now.since(known.since) >= CLIENT_HELLO_GRACE.max(grace),
        _ => now.since(known.since) >= grace,
    }
}

proptest! {
    #[test]
    fn nothing_in_use_is_closed_and_counts_stay_true(
        steps in steps(),
        grace in prop::sample::select(vec![0, 250]),
    ) {
        let mut world = TableModel::new(Duration::from_millis(grace));
        for step in steps {
            match step {
                AdmissionStep::Enter(service, number) => {
                    let place = world.table.insert(ServiceId(service), client(number), world.now, ());
                    let since = world.now;
                    let known = ExpectedConnection { service, client: client(number), phase: AdmissionPhase::Silent, since };
                    assert!(world.open.insert(place, known).is_none(), "a place is given once");
                    world.order.push(place);
                }
                AdmissionStep::Set(at, phase) => {
                    if let Some(place) = world.at(at)
                        && phase != AdmissionPhase::Silent
                    {
                        world.set(place, phase);
                    }
                }
                AdmissionStep::Shake(at, limit) => world.start_handshake(at, limit),
                AdmissionStep::Leave(at) => {
                    if let Some(place) = world.at(at) {
                        world.table.remove(place);
                        world.open.remove(&place);
                        world.order.retain(|one| *one != place);
                        assert_eq!(world.table.phase(place), None);
                    }
                }
                AdmissionStep::Take(kind, service, number) => {
                    let service = ServiceId(service);
                    let client = ClientKey::from_address([192, 0, 2, number].into());
                    world.take(match kind {
                        0 => ConnectionScope::All,
                        1 => ConnectionScope::Service(service),
                        2 => ConnectionScope::Client(client),
                        _ => ConnectionScope::ClientOf(service, client),
                    });
                }
                AdmissionStep::Beyond(service, most) => {
                    let oldest = world.opened_at(service, AdmissionPhase::Silent).into_iter().min();
                    if let Some(place) = world.table.oldest_silent_beyond(ServiceId(service), most) {
                        let known = world.mark_closing(place);
                        assert_eq!((known.phase, Some(known.since)), (AdmissionPhase::Silent, oldest));
                    }
                }
                AdmissionStep::Wait(millis) => world.now = MonotonicTime(world.now.0 + millis * 1_000_000),
            }
            world.check();
        }
    }
}
