//! A member with entries, one that receives them, the network between them, and virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ha::keys::ClusterKeys;
use ha::replica::datagram::RecordBatch;
use ha::replica::defect::ReplicaDefect;
use ha::replica::peer::{ReplicaCounters, ReplicaEvent, ReplicaPeer, ReplicaSessions};
use ha::replica::record::{ReplicaRecord, ReplicatedPhase};
use ha::replica::seal::HashSecret;
use ha::replica::send_window::WINDOW;
use model::monotonic_time::MonotonicTime;

use crate::dice::SeededRandom;

const PLACES: u64 = 3_000;
/// Milliseconds with faults, and without faults after them.
const FAULT_PERIOD_MS: u64 = 1_500;
const PEACE: u64 = 1_500;
/// Milliseconds between two rounds, and between two hellos.
const ROUND: u64 = 20;
const HELLO: u64 = 100;
/// Places that a round reads during a full synchronisation.
const LOOKS: usize = 300;

struct ReplicaMember {
    session: u64,
    secret: HashSecret,
    partner: ReplicaPeer,
    /// By place or hash: the version of the entry.
    table: BTreeMap<u64, u32>,
    changed: BTreeSet<u64>,
    /// The next place to read during a full synchronisation.
    walk: Option<u64>,
}

impl ReplicaMember {
    fn new(session: u64, secret: u8) -> ReplicaMember {
        ReplicaMember {
            session,
            secret: [secret; 32],
            partner: ReplicaPeer::default(),
            table: BTreeMap::new(),
            changed: BTreeSet::new(),
            walk: None,
        }
    }
}

/// Both members and the network between them.
pub struct ReplicaSimulation {
    dice: SeededRandom,
    keys: ClusterKeys,
    now: u64,
    one: ReplicaMember,
    other: ReplicaMember,
    /// Packets in flight: the arrival, whether the receiver is the member with the entries, and the bytes.
    wire: Vec<(u64, bool, Vec<u8>)>,
    loss: u64,
    slow: u64,
    sessions: u64,
    /// Packets that were overtaken or repeated.
    pub late: u64,
}

impl ReplicaSimulation {
    /// The random numbers determine the network's faults.
    pub fn new(mut dice: SeededRandom) -> ReplicaSimulation {
        let loss = dice.between(0, 40);
        let slow = dice.between(1, 90);
        ReplicaSimulation {
            keys: ClusterKeys::parse("1 0123456789abcdef0123456789abcdef").unwrap(),
            now: 0,
            one: ReplicaMember::new(1, 1),
            other: ReplicaMember::new(2, 2),
            wire: Vec::new(),
            loss,
            slow,
            sessions: 2,
            late: 0,
            dice,
        }
    }

    /// Counters of the member with the entries.
    pub fn partner_counters(&self) -> &ReplicaCounters {
        &self.one.partner.counts
    }

    /// Faults, then none, then the checks.
    pub fn run(&mut self) {
        while self.now < FAULT_PERIOD_MS + PEACE {
            self.step();
        }
        let seed = self.dice.seed;
        assert_eq!(self.one.table, self.other.table, "seed {seed}");
        assert!(self.other.partner.is_synced() && self.one.partner.is_peer_synced(), "seed {seed}");
    }

    fn moment(&self) -> MonotonicTime {
        MonotonicTime::default() + Duration::from_millis(self.now)
    }

    fn step(&mut self) {
        self.now += 1;
        let troubled = self.now < FAULT_PERIOD_MS;
        if troubled {
            self.live();
        } else {
            self.loss = 0;
            self.slow = 1;
        }
        let one = ReplicaSessions { ours: self.one.session, theirs: self.other.session };
        let other = ReplicaSessions { ours: one.theirs, theirs: one.ours };
        self.one.partner.set_sessions(Some(one));
        self.other.partner.set_sessions(Some(other));
        self.deliver();
        if self.now.is_multiple_of(HELLO) {
            self.greet();
        }
        if self.now.is_multiple_of(ROUND) {
            self.tell();
        }
    }

    /// Entries begin and change; the other member loses its process, its tables, or the network for a while.
    fn live(&mut self) {
        for _ in 0..self.dice.between(0, 30) {
            let place = self.dice.between(2, PLACES);
            *self.one.table.entry(place).or_default() += 1;
            self.one.changed.insert(place);
        }
        match self.dice.between(0, 2_000) {
            0 => {
                self.sessions += 1;
                self.other.session = self.sessions;
            }
            1 => {
                self.other.table.clear();
                self.other.secret = [self.dice.between(3, 200) as u8; 32];
            }
            2 => self.loss = if self.loss == 100 { 10 } else { 100 },
            _ => {}
        }
    }

    fn greet(&mut self) {
        let hello = self.one.partner.build_hello(true, &self.one.secret, &self.keys);
        hello.into_iter().for_each(|bytes| self.send(false, bytes));
        let hello = self.other.partner.build_hello(false, &self.other.secret, &self.keys);
        hello.into_iter().for_each(|bytes| self.send(true, bytes));
    }

    fn send(&mut self, to_one: bool, bytes: Vec<u8>) {
        for _ in 0..1 + u64::from(self.dice.percent(5)) {
            if !self.dice.percent(self.loss) {
                let at = self.now + self.dice.between(0, self.slow);
                self.wire.push((at, to_one, bytes.clone()));
            }
        }
    }

    fn deliver(&mut self) {
        let now = self.now;
        let (due, later) = std::mem::take(&mut self.wire).into_iter().partition(|one| one.0 <= now);
        self.wire = later;
        let due: Vec<(u64, bool, Vec<u8>)> = due;
        for (_, to_one, bytes) in due {
            match to_one {
                true => self.hear_one(&bytes),
                false => self.hear_other(&bytes),
            }
        }
    }

    fn hear_one(&mut self, bytes: &[u8]) {
        let now = self.moment();
        let one = &mut self.one;
        match one.partner.receive(now, bytes, true, &one.secret, &self.keys) {
            Ok(ReplicaEvent::Lost(places)) => one.changed.extend(places),
            Ok(ReplicaEvent::Agreed | ReplicaEvent::AwaitPeer) | Err(ReplicaDefect::Session) => {}
            other => panic!("seed {}: {other:?}", self.dice.seed),
        }
    }

    fn hear_other(&mut self, bytes: &[u8]) {
        let now = self.moment();
        let other = &mut self.other;
        match other.partner.receive(now, bytes, false, &other.secret, &self.keys) {
            Ok(ReplicaEvent::Records(records)) => {
                for record in records {
                    let ReplicaRecord::Flow { fingerprint: print, server, .. } = record else {
                        panic!("{record:?}")
                    };
                    let version = other.table.entry(print).or_default();
                    assert!(*version <= server, "seed {}: {print} went back", self.dice.seed);
                    *version = server;
                }
                let heard = other.partner.take_acknowledgement(&self.keys);
                heard.into_iter().for_each(|bytes| self.send(true, bytes));
            }
            Ok(ReplicaEvent::Adopt(secret)) => {
                other.secret = secret;
                other.table.clear();
            }
            Ok(ReplicaEvent::Agreed) | Err(ReplicaDefect::Session) => {}
            Err(ReplicaDefect::Late) => self.late += 1,
            other => panic!("seed {}: {other:?}", self.dice.seed),
        }
    }

    fn tell(&mut self) {
        let now = self.moment();
        let one = &mut self.one;
        one.changed.extend(one.partner.handle_timeouts(now));
        if one.partner.needs_full_sync() {
            one.walk = Some(0);
            one.partner.start_full_scan();
        }
        if let Some(from) = one.walk {
            let part = one.table.range(from..).map(|(place, _)| *place).take(LOOKS);
            let part: Vec<u64> = part.collect();
            one.walk = part.last().map(|last| last + 1);
            one.changed.extend(part);
        }
        if one.walk.is_none() {
            one.partner.finish_full_scan();
        }
        let mut packets = Vec::new();
        while !one.changed.is_empty() && one.partner.may_send() {
            let mut batch = RecordBatch::default();
            while !batch.is_full()
                && let Some(place) = one.changed.pop_first()
            {
                let server = one.table[&place];
                let record = ReplicaRecord::Flow {
                    fingerprint: place,
                    server,
                    phase: ReplicatedPhase::Open,
                    left: 9,
                };
                assert!(batch.push(place, &record));
            }
            packets.extend(one.partner.send_batch(now, batch, &self.keys));
        }
        assert!(packets.len() <= WINDOW);
        if one.changed.is_empty() {
            one.partner.note_all_sent(now);
        }
        packets.into_iter().for_each(|bytes| self.send(false, bytes));
    }
}
