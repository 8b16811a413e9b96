//! A listener with a limit, a crowd of idle clients, and honest clients: no honest client may be rejected.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use model::admission::{
    AdmissionPhase, AdmissionTable, CLIENT_HELLO_GRACE, ClientConnectionCounts, ClientKey,
    ClientShare, ConnectionHandle, ConnectionScope, HandshakeAdmission, STALL_TIMEOUT,
};
use model::id::ServiceId;
use model::monotonic_time::MonotonicTime;

const SERVICE: ServiceId = ServiceId(0);
const MILLI: Duration = Duration::from_millis(1);

/// A listener of one worker: the limit of its connections and that of its handshakes.
struct LimitedListener {
    table: AdmissionTable,
    holders: ClientConnectionCounts,
    clients: HashMap<ConnectionHandle, ClientKey>,
    limit: u32,
    handshakes: u32,
    now: MonotonicTime,
}

/// The behaviour of the crowd once it is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CrowdBehaviour {
    Silent,
    Hello,
    Handshake,
    Head,
    Fresh,
    Idle,
}

impl LimitedListener {
    fn new(limit: u32, handshakes: u32) -> LimitedListener {
        let now = MonotonicTime(1_000_000_000);
        LimitedListener {
            table: AdmissionTable::default(),
            holders: ClientConnectionCounts::default(),
            clients: HashMap::new(),
            limit,
            handshakes,
            now,
        }
    }

    fn open(&self) -> u32 {
        self.clients.len() as u32
    }

    fn close(&mut self, place: ConnectionHandle) {
        if let Some(client) = self.clients.remove(&place) {
            self.table.remove(place);
            self.holders.remove(client);
        }
    }

    fn accept(&mut self, client: ClientKey) -> Option<ConnectionHandle> {
        let held = self.holders.connections_of(client);
        let scope = if ClientShare::Auto.is_reached(held, self.open(), self.limit) {
            Some(ConnectionScope::Client(client))
        } else {
            (self.open() >= self.limit).then_some(ConnectionScope::All)
        };
        if let Some(scope) = scope {
            let held = |client| self.holders.connections_of(client);
            let victim = self.table.eviction_candidate(scope, self.now, held)?;
            self.close(victim.slot);
        }
        let place = self.table.insert(SERVICE, Some(client), self.now, ());
        self.holders.add(client);
        self.clients.insert(place, client);
        if let Some(oldest) = self.table.oldest_silent_beyond(SERVICE, self.handshakes) {
            self.close(oldest);
        }
        self.clients.contains_key(&place).then_some(place)
    }

    fn start_handshake(&mut self, place: ConnectionHandle, phase: AdmissionPhase) -> bool {
        let client = self.clients.get(&place).copied();
        match self.table.admit_handshake(
            SERVICE,
            client,
            self.handshakes,
            ClientShare::Auto,
            self.now,
        ) {
            HandshakeAdmission::Admit => {}
            HandshakeAdmission::AdmitAfterClosing(stalled) => self.close(stalled),
            HandshakeAdmission::Full | HandshakeAdmission::ClientOverShare => return false,
        }
        self.table.set_phase(place, phase, self.now);
        true
    }
}

fn address(number: u32) -> ClientKey {
    ClientKey::from_address(std::net::Ipv4Addr::from(0x0a00_0000 | number).into())
}

/// Runs 20 s of a crowd with 200 new connections a second from this many addresses, beside 100 honest requests a
/// second. Each honest request has its own connection with a handshake of 200 ms. Returns the number of honest requests
/// that were not served.
fn refused(crowd: CrowdBehaviour, addresses: u32, limit: u32, handshakes: u32) -> u32 {
    let mut listener = LimitedListener::new(limit, handshakes);
    let mut refused = 0;
    let mut number = 0;
    let mut shaking: VecDeque<(MonotonicTime, ConnectionHandle)> = VecDeque::new();
    let mut busy: VecDeque<(MonotonicTime, ConnectionHandle)> = VecDeque::new();
    for milli in 0..20_000_u32 {
        listener.now = listener.now + MILLI;
        if milli % 5 == 0 {
            number += 1;
            if let Some(place) = listener.accept(address(number % addresses)) {
                match crowd {
                    CrowdBehaviour::Silent => {}
                    CrowdBehaviour::Hello | CrowdBehaviour::Handshake => {
                        let phase = match crowd {
                            CrowdBehaviour::Hello => AdmissionPhase::Hello,
                            _ => AdmissionPhase::Handshake,
                        };
                        if !listener.start_handshake(place, phase) {
                            listener.close(place);
                        }
                    }
                    CrowdBehaviour::Head => {
                        listener.table.set_phase(place, AdmissionPhase::Head, listener.now)
                    }
                    CrowdBehaviour::Fresh => {
                        listener.table.set_phase(place, AdmissionPhase::Fresh, listener.now)
                    }
                    CrowdBehaviour::Idle => {
                        listener.table.set_phase(place, AdmissionPhase::Idle, listener.now)
                    }
                }
            }
        }
        if milli % 10 == 0 {
            match listener.accept(address(1 << 20 | milli)) {
                Some(place) if listener.start_handshake(place, AdmissionPhase::Handshake) => {
                    shaking.push_back((listener.now + 200 * MILLI, place));
                }
                _ => refused += 1,
            }
        }
        while shaking.front().is_some_and(|(at, _)| *at <= listener.now) {
            let (_, place) = shaking.pop_front().unwrap();
            if listener.clients.contains_key(&place) {
                listener.table.set_phase(place, AdmissionPhase::Busy, listener.now);
                busy.push_back((listener.now + 50 * MILLI, place));
            } else {
                refused += 1;
            }
        }
        while busy.front().is_some_and(|(at, _)| *at <= listener.now) {
            let (_, place) = busy.pop_front().unwrap();
            assert!(listener.clients.contains_key(&place), "what is in use is never closed");
            listener.table.set_phase(place, AdmissionPhase::Idle, listener.now);
        }
        assert!(listener.open() <= limit && listener.table.handshake_count(SERVICE) <= handshakes);
    }
    refused
}

#[test]
fn a_crowd_that_does_nothing_keeps_nobody_out() {
    let crowds = [
        CrowdBehaviour::Silent,
        CrowdBehaviour::Hello,
        CrowdBehaviour::Handshake,
        CrowdBehaviour::Head,
        CrowdBehaviour::Fresh,
    ];
    for crowd in crowds.into_iter().chain([CrowdBehaviour::Idle]) {
        for addresses in [1, 2_000] {
            for (limit, handshakes) in [(1_000, 512), (3_000, 1_024)] {
                let refused = refused(crowd, addresses, limit, handshakes);
                assert_eq!(refused, 0, "{crowd:?} from {addresses} with {limit}, {handshakes}");
            }
        }
    }
}

#[test]
fn handshakes_that_nobody_answers_keep_nobody_out_with_thousands_in_a_second() {
    let mut listener = LimitedListener::new(10_000, 1_024);
    let mut number = 0;
    let mut honest: VecDeque<(MonotonicTime, ConnectionHandle)> = VecDeque::new();
    for milli in 0..3_000_u32 {
        listener.now = listener.now + MILLI;
        for _ in 0..3 {
            number += 1;
            let place = listener.accept(address(number)).unwrap();
            assert!(
                listener.start_handshake(place, AdmissionPhase::Hello),
                "{number} after {milli} ms"
            );
        }
        if milli % 10 == 0 {
            let place = listener.accept(address(1 << 20 | milli)).unwrap();
            assert!(
                listener.start_handshake(place, AdmissionPhase::Hello),
                "an honest one after {milli} ms"
            );
            honest.push_back((listener.now + 100 * MILLI, place));
        }
        while honest.front().is_some_and(|(at, _)| *at <= listener.now) {
            let (_, place) = honest.pop_front().unwrap();
            assert!(listener.clients.contains_key(&place), "it was closed before it answered");
            listener.table.set_phase(place, AdmissionPhase::Handshake, listener.now);
            listener.table.set_phase(place, AdmissionPhase::Fresh, listener.now);
        }
    }
}

#[test]
fn a_handshake_that_was_answered_has_a_second() {
    let mut listener = LimitedListener::new(1_000, 2);
    let answered = listener.accept(address(1)).unwrap();
    assert!(listener.start_handshake(answered, AdmissionPhase::Hello));
    listener.table.set_phase(answered, AdmissionPhase::Handshake, listener.now);
    let unanswered = listener.accept(address(2)).unwrap();
    assert!(listener.start_handshake(unanswered, AdmissionPhase::Hello));
    let others: Vec<ConnectionHandle> =
        (3..5).map(|last| listener.accept(address(last)).unwrap()).collect();
    assert!(!listener.start_handshake(others[0], AdmissionPhase::Hello), "both are young");
    listener.now = listener.now + CLIENT_HELLO_GRACE;
    assert!(listener.start_handshake(others[0], AdmissionPhase::Hello));
    assert!(
        !listener.clients.contains_key(&unanswered) && listener.clients.contains_key(&answered)
    );
    assert!(!listener.start_handshake(others[1], AdmissionPhase::Hello));
    listener.table.set_phase(others[0], AdmissionPhase::Handshake, listener.now);
    listener.now = listener.now + (STALL_TIMEOUT - CLIENT_HELLO_GRACE);
    assert!(listener.start_handshake(others[1], AdmissionPhase::Hello));
    assert!(!listener.clients.contains_key(&answered), "a second is over");
}

#[test]
fn a_client_that_uses_all_it_gets_leaves_room_for_others() {
    let mut listener = LimitedListener::new(1_000, 1_000);
    let mut admitted = 0;
    for _ in 0..2_000 {
        if let Some(place) = listener.accept(address(1)) {
            listener.table.set_phase(place, AdmissionPhase::Busy, listener.now);
            admitted += 1;
        }
    }
    assert_eq!(admitted, 500, "half of the limit, all in use");
    for number in 2..490 {
        let place = listener.accept(address(number)).unwrap();
        listener.table.set_phase(place, AdmissionPhase::Busy, listener.now);
    }
}

#[test]
fn the_client_with_most_connections_loses_idle_ones_first() {
    let mut listener = LimitedListener::new(20, 1_000);
    let few: Vec<ConnectionHandle> = (0..3).map(|_| listener.accept(address(1)).unwrap()).collect();
    for place in &few {
        listener.table.set_phase(*place, AdmissionPhase::Idle, listener.now);
    }
    listener.now = listener.now + MILLI;
    for _ in 0..30 {
        if let Some(place) = listener.accept(address(2)) {
            listener.table.set_phase(place, AdmissionPhase::Idle, listener.now);
        }
    }
    for number in 10..16 {
        let place = listener.accept(address(number)).unwrap();
        listener.table.set_phase(place, AdmissionPhase::Busy, listener.now);
    }
    assert!(few.iter().all(|place| listener.clients.contains_key(place)), "older, but fewer");
}

#[test]
fn a_handshake_counts_for_the_client_behind_a_proxy() {
    let mut table = AdmissionTable::default();
    let of_proxy = address(1);
    let behind = address(2);
    let now = MonotonicTime(1_000_000_000);
    let place = table.insert(SERVICE, Some(of_proxy), now, ());
    table.set_phase(place, AdmissionPhase::Handshake, now);
    let may = |table: &mut AdmissionTable, client| {
        table.admit_handshake(SERVICE, Some(client), 9, ClientShare::Fixed(1), now)
    };
    assert_eq!(may(&mut table, of_proxy), HandshakeAdmission::ClientOverShare);
    assert_eq!(table.reassign_client(place, Some(behind)), Some(of_proxy));
    assert_eq!(may(&mut table, of_proxy), HandshakeAdmission::Admit);
    assert_eq!(may(&mut table, behind), HandshakeAdmission::ClientOverShare);
    table.remove(place);
    assert_eq!(may(&mut table, behind), HandshakeAdmission::Admit);
}
