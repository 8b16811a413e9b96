//! A listener with a limit, a crowd that does nothing, and honest clients: none of the honest ones may be refused.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use model::admission::{
    Client, Entrance, GREETING, Holders, Phase, Place, STALLED, Scope, Share, Table,
};
use model::id::ServiceId;
use model::moment::Moment;

const SERVICE: ServiceId = ServiceId(0);
const MILLI: Duration = Duration::from_millis(1);

/// A listener of one worker: the limit of its connections and that of its handshakes.
struct Listener {
    table: Table,
    holders: Holders,
    clients: HashMap<Place, Client>,
    limit: u32,
    handshakes: u32,
    now: Moment,
}

/// What the crowd does once it is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crowd {
    Silent,
    Hello,
    Handshake,
    Head,
    Fresh,
    Idle,
}

impl Listener {
    fn new(limit: u32, handshakes: u32) -> Listener {
        let now = Moment(1_000_000_000);
        Listener {
            table: Table::default(),
            holders: Holders::default(),
            clients: HashMap::new(),
            limit,
            handshakes,
            now,
        }
    }

    fn open(&self) -> u32 {
        self.clients.len() as u32
    }

    fn close(&mut self, place: Place) {
        if let Some(client) = self.clients.remove(&place) {
            self.table.leave(place);
            self.holders.remove(client);
        }
    }

    fn accept(&mut self, client: Client) -> Option<Place> {
        let held = self.holders.held(client);
        let scope = if Share::Auto.is_met(held, self.open(), self.limit) {
            Some(Scope::Client(client))
        } else {
            (self.open() >= self.limit).then_some(Scope::All)
        };
        if let Some(scope) = scope {
            let held = |client| self.holders.held(client);
            let victim = self.table.victim(scope, self.now, held)?;
            self.close(victim.place);
        }
        let place = self.table.enter(SERVICE, Some(client), self.now, ());
        self.holders.add(client);
        self.clients.insert(place, client);
        if let Some(oldest) = self.table.silent_beyond(SERVICE, self.handshakes) {
            self.close(oldest);
        }
        self.clients.contains_key(&place).then_some(place)
    }

    fn shake(&mut self, place: Place, phase: Phase) -> bool {
        let client = self.clients.get(&place).copied();
        match self.table.handshake(SERVICE, client, self.handshakes, Share::Auto, self.now) {
            Entrance::Open => {}
            Entrance::Instead(stalled) => self.close(stalled),
            Entrance::Full | Entrance::Share => return false,
        }
        self.table.set(place, phase, self.now);
        true
    }
}

fn address(number: u32) -> Client {
    Client::of(std::net::Ipv4Addr::from(0x0a00_0000 | number).into())
}

/// 20 s of a crowd with 200 new connections a second from so many addresses beside 100 honest requests a second, each on
/// a connection of its own that shakes hands for 200 ms; how many of the honest were not served.
fn refused(crowd: Crowd, addresses: u32, limit: u32, handshakes: u32) -> u32 {
    let mut listener = Listener::new(limit, handshakes);
    let (mut refused, mut number) = (0, 0);
    let mut shaking: VecDeque<(Moment, Place)> = VecDeque::new();
    let mut busy: VecDeque<(Moment, Place)> = VecDeque::new();
    for milli in 0..20_000_u32 {
        listener.now = listener.now + MILLI;
        if milli % 5 == 0 {
            number += 1;
            if let Some(place) = listener.accept(address(number % addresses)) {
                match crowd {
                    Crowd::Silent => {}
                    Crowd::Hello | Crowd::Handshake => {
                        let phase = match crowd {
                            Crowd::Hello => Phase::Hello,
                            _ => Phase::Handshake,
                        };
                        if !listener.shake(place, phase) {
                            listener.close(place);
                        }
                    }
                    Crowd::Head => listener.table.set(place, Phase::Head, listener.now),
                    Crowd::Fresh => listener.table.set(place, Phase::Fresh, listener.now),
                    Crowd::Idle => listener.table.set(place, Phase::Idle, listener.now),
                }
            }
        }
        if milli % 10 == 0 {
            match listener.accept(address(1 << 20 | milli)) {
                Some(place) if listener.shake(place, Phase::Handshake) => {
                    shaking.push_back((listener.now + 200 * MILLI, place));
                }
                _ => refused += 1,
            }
        }
        while shaking.front().is_some_and(|(at, _)| *at <= listener.now) {
            let (_, place) = shaking.pop_front().unwrap();
            if listener.clients.contains_key(&place) {
                listener.table.set(place, Phase::Busy, listener.now);
                busy.push_back((listener.now + 50 * MILLI, place));
            } else {
                refused += 1;
            }
        }
        while busy.front().is_some_and(|(at, _)| *at <= listener.now) {
            let (_, place) = busy.pop_front().unwrap();
            assert!(listener.clients.contains_key(&place), "what is in use is never closed");
            listener.table.set(place, Phase::Idle, listener.now);
        }
        assert!(listener.open() <= limit && listener.table.handshakes(SERVICE) <= handshakes);
    }
    refused
}

#[test]
fn a_crowd_that_does_nothing_keeps_nobody_out() {
    let crowds = [Crowd::Silent, Crowd::Hello, Crowd::Handshake, Crowd::Head, Crowd::Fresh];
    for crowd in crowds.into_iter().chain([Crowd::Idle]) {
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
    let mut listener = Listener::new(10_000, 1_024);
    let mut number = 0;
    let mut honest: VecDeque<(Moment, Place)> = VecDeque::new();
    for milli in 0..3_000_u32 {
        listener.now = listener.now + MILLI;
        for _ in 0..3 {
            number += 1;
            let place = listener.accept(address(number)).unwrap();
            assert!(listener.shake(place, Phase::Hello), "{number} after {milli} ms");
        }
        if milli % 10 == 0 {
            let place = listener.accept(address(1 << 20 | milli)).unwrap();
            assert!(listener.shake(place, Phase::Hello), "an honest one after {milli} ms");
            honest.push_back((listener.now + 100 * MILLI, place));
        }
        while honest.front().is_some_and(|(at, _)| *at <= listener.now) {
            let (_, place) = honest.pop_front().unwrap();
            assert!(listener.clients.contains_key(&place), "it was closed before it answered");
            listener.table.set(place, Phase::Handshake, listener.now);
            listener.table.set(place, Phase::Fresh, listener.now);
        }
    }
}

#[test]
fn a_handshake_that_was_answered_has_a_second() {
    let mut listener = Listener::new(1_000, 2);
    let answered = listener.accept(address(1)).unwrap();
    assert!(listener.shake(answered, Phase::Hello));
    listener.table.set(answered, Phase::Handshake, listener.now);
    let unanswered = listener.accept(address(2)).unwrap();
    assert!(listener.shake(unanswered, Phase::Hello));
    let others: Vec<Place> = (3..5).map(|last| listener.accept(address(last)).unwrap()).collect();
    assert!(!listener.shake(others[0], Phase::Hello), "both are young");
    listener.now = listener.now + GREETING;
    assert!(listener.shake(others[0], Phase::Hello));
    assert!(
        !listener.clients.contains_key(&unanswered) && listener.clients.contains_key(&answered)
    );
    assert!(!listener.shake(others[1], Phase::Hello));
    listener.table.set(others[0], Phase::Handshake, listener.now);
    listener.now = listener.now + (STALLED - GREETING);
    assert!(listener.shake(others[1], Phase::Hello));
    assert!(!listener.clients.contains_key(&answered), "a second is over");
}

#[test]
fn a_client_that_uses_all_it_gets_leaves_room_for_others() {
    let mut listener = Listener::new(1_000, 1_000);
    let mut taken = 0;
    for _ in 0..2_000 {
        if let Some(place) = listener.accept(address(1)) {
            listener.table.set(place, Phase::Busy, listener.now);
            taken += 1;
        }
    }
    assert_eq!(taken, 500, "half of the limit, all in use");
    for number in 2..490 {
        let place = listener.accept(address(number)).unwrap();
        listener.table.set(place, Phase::Busy, listener.now);
    }
}

#[test]
fn whoever_has_most_gives_its_idle_connections_first() {
    let mut listener = Listener::new(20, 1_000);
    let few: Vec<Place> = (0..3).map(|_| listener.accept(address(1)).unwrap()).collect();
    for place in &few {
        listener.table.set(*place, Phase::Idle, listener.now);
    }
    listener.now = listener.now + MILLI;
    for _ in 0..30 {
        if let Some(place) = listener.accept(address(2)) {
            listener.table.set(place, Phase::Idle, listener.now);
        }
    }
    for number in 10..16 {
        let place = listener.accept(address(number)).unwrap();
        listener.table.set(place, Phase::Busy, listener.now);
    }
    assert!(few.iter().all(|place| listener.clients.contains_key(place)), "older, but fewer");
}

#[test]
fn a_handshake_counts_for_whoever_stands_behind_it() {
    let mut table = Table::default();
    let (of_proxy, behind) = (address(1), address(2));
    let now = Moment(1_000_000_000);
    let place = table.enter(SERVICE, Some(of_proxy), now, ());
    table.set(place, Phase::Handshake, now);
    let may =
        |table: &mut Table, client| table.handshake(SERVICE, Some(client), 9, Share::Most(1), now);
    assert_eq!(may(&mut table, of_proxy), Entrance::Share);
    assert_eq!(table.rename(place, Some(behind)), Some(of_proxy));
    assert_eq!(may(&mut table, of_proxy), Entrance::Open);
    assert_eq!(may(&mut table, behind), Entrance::Share);
    table.leave(place);
    assert_eq!(may(&mut table, behind), Entrance::Open);
}
