//! The thread's life: packets that come are taken at once; every round what changed is told.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ha::keys::Keys;
use ha::replica::partner::{Partner, Said};
use ha::replica::seal::Secret;
use l4::replica::Table;
use model::capacity::telling::{ROUND, anew};
use model::moment::Moment;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::carry::Carrier;
use super::pair::{Pair, port};
use super::telling::Telling;
use super::view::{State, View};
use super::walk::Walk;
use crate::packets::facts::tick;
use crate::packets::tables::Source;
use crate::vrrp::alive::now;
use crate::vrrp::heartbeat::wire::Wire;
use crate::vrrp::heartbeat::word::{Packet, Word};

/// Rounds between two hellos, and between two looks at sockets.
const HELLO: u32 = 5;
const LOOK: u32 = 25;
/// Packets that may wait to be taken; more stay in the sockets, and are lost there.
const WAITING: usize = 512;
/// How long a member that gave an address up tells of what it forwarded last.
const LATELY: Duration = Duration::from_secs(1);
/// How long a member that joins waits for what the other one has before it may take an address from it by priority.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tells and enters until the heartbeat ends.
pub(super) async fn run(
    source: Source,
    mut pairs: watch::Receiver<Option<Arc<Pair>>>,
    show: watch::Sender<Arc<View>>,
) {
    let (say, mut words) = mpsc::channel(WAITING);
    let mut life = Life::new(source, say);
    let mut round = tokio::time::interval(ROUND);
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            word = words.recv() => if let Some(word) = word {
                life.hear(word);
                while let Ok(more) = words.try_recv() {
                    life.hear(more);
                }
                life.answer();
            },
            _ = round.tick() => {
                if pairs.has_changed().is_err() {
                    return;
                }
                let pair = pairs.borrow_and_update().clone();
                life.follow(pair);
                life.round();
                show.send_replace(Arc::new(life.view()));
            }
        }
    }
}

struct Life {
    source: Source,
    words: mpsc::Sender<Word>,
    pair: Option<Arc<Pair>>,
    wires: Vec<Option<Wire>>,
    /// Sockets that were opened: what earlier ones still say is not heard.
    era: u64,
    partner: Partner,
    carrier: Option<Carrier>,
    rounds: u32,
    /// Records came that the sender has not heard of.
    owes: bool,
    /// What is told that did not change.
    walk: Walk,
    /// Shared addresses, and when this member held each last.
    held: BTreeMap<IpAddr, Moment>,
    /// Since when the other member is heard, and has not told everything.
    joined: Option<Moment>,
}

impl Life {
    fn new(source: Source, words: mpsc::Sender<Word>) -> Life {
        Life {
            source,
            words,
            pair: None,
            wires: Vec::new(),
            era: 0,
            partner: Partner::default(),
            carrier: None,
            rounds: 0,
            owes: false,
            walk: Walk::default(),
            held: BTreeMap::new(),
            joined: None,
        }
    }

    /// Follows how the pair stands, and the plane's tables.
    fn follow(&mut self, pair: Option<Arc<Pair>>) {
        let sessions = pair.as_ref().and_then(|pair| pair.sessions);
        let before = self.pair.as_ref().and_then(|pair| pair.sessions);
        if sessions != before {
            self.joined = sessions.map(|_| now());
            self.carrier.iter_mut().for_each(Carrier::forget);
        }
        self.pair = pair;
        self.partner.meet(sessions);
        let tables = self.source.tables.borrow_and_update().clone();
        let nobody = BTreeSet::new();
        let active = self.pair.as_ref().map_or(&nobody, |pair| &pair.active);
        let at = now();
        self.held.extend(active.iter().map(|ip| (*ip, at)));
        self.held.retain(|_, last| at.since(*last) < LATELY);
        let lately: BTreeSet<IpAddr> = self.held.keys().copied().collect();
        match (tables.filter(|tables| !tables.services.is_empty()), &mut self.carrier) {
            (Some(tables), Some(carrier)) => carrier.follow(&tables, active, &lately),
            (Some(tables), None) => self.carrier = Some(Carrier::new(tables)),
            (None, _) => self.carrier = None,
        }
        if self.wires.is_empty() || self.rounds.is_multiple_of(LOOK) {
            self.look();
        }
    }

    /// Opens sockets that are not open.
    fn look(&mut self) {
        let Some(pair) = self.pair.clone().filter(|_| self.carrier.is_some()) else {
            self.wires.clear();
            return;
        };
        self.wires.resize_with(pair.paths.len(), || None);
        for (at, (wire, (path, scope, _))) in self.wires.iter_mut().zip(&pair.paths).enumerate() {
            if wire.as_ref().is_none_or(|wire| !wire.lives()) {
                *wire = None;
                self.era += 1;
                let ids = (self.era, at);
                *wire = Wire::open(path, port(pair.port), *scope, ids, self.words.clone()).ok();
            }
        }
    }

    /// Sends by the first path that is up.
    fn send(&self, bytes: Option<Vec<u8>>) {
        let (Some(bytes), Some(pair)) = (bytes, &self.pair) else { return };
        let paths = self.wires.iter().zip(&pair.paths);
        let mut up = paths.filter(|(_, (_, _, up))| *up).filter_map(|(wire, _)| wire.as_ref());
        // What does not go out is missed there, and told of again.
        let _ = up.next().map(|wire| wire.send(&bytes));
    }

    /// A packet came.
    fn hear(&mut self, word: Word) {
        let (Word::Packet(_, Packet { bytes, .. }), Some(pair)) = (word, self.pair.clone()) else {
            return;
        };
        let Some(carrier) = &mut self.carrier else { return };
        let secret = bytes_of(&carrier.tables().secret);
        let stands = (!pair.active.is_empty(), &secret);
        match self.partner.hear(now(), &bytes, stands, &pair.keys) {
            Ok(Said::Records(records)) => {
                let tick = tick();
                records.iter().for_each(|record| carrier.write(record, tick));
                self.owes = true;
            }
            Ok(Said::Lost(places)) => note(carrier, &places),
            Ok(Said::Adopt(secret)) => self.source.orders.hash_with(words_of(&secret)),
            // Whoever is not agreed with is told again with the next hello; what is refused is counted.
            Ok(Said::Agreed | Said::Wait | Said::Apart) | Err(_) => {}
        }
    }

    /// The sender of records hears which came.
    fn answer(&mut self) {
        if std::mem::take(&mut self.owes)
            && let Some(pair) = self.pair.clone()
        {
            let heard = self.partner.heard(&pair.keys);
            self.send(heard);
        }
    }

    /// Tells what changed.
    fn round(&mut self) {
        self.rounds = self.rounds.wrapping_add(1);
        let (Some(pair), Some(carrier)) = (self.pair.clone(), &mut self.carrier) else { return };
        let lost = self.partner.pass(now());
        note(carrier, &lost);
        if self.rounds.is_multiple_of(HELLO) {
            let secret = bytes_of(&carrier.tables().secret);
            let hello = self.partner.hello(!pair.active.is_empty(), &secret, &pair.keys);
            self.send(hello);
        }
        if !self.partner.agrees() {
            return;
        }
        self.walk();
        self.tell(&pair.keys);
    }

    /// Begins to tell everything where that is due: a member has joined, or addresses have moved.
    fn walk(&mut self) {
        let Some(carrier) = &mut self.carrier else { return };
        let joins = self.partner.is_due();
        let replica = Arc::clone(&carrier.tables().replica);
        if joins {
            carrier.forget();
            // What changed while nobody was there to be told is told with all the rest, once.
            Table::ALL.into_iter().for_each(|table| replica.forget_changes(table));
            self.partner.begun();
        }
        if std::mem::take(&mut carrier.moved) || joins {
            self.walk
                .all(Table::ALL.into_iter().map(|table| u64::from(replica.places(table))).sum());
        }
    }

    /// Tells what is noted, and what the walk comes to, as much as may be under way.
    fn tell(&mut self, keys: &Keys) {
        let Some(carrier) = &mut self.carrier else { return };
        let rounds = anew(carrier.tables().shortest).as_secs_f64() / ROUND.as_secs_f64();
        let telling = Telling::new(&mut self.partner, carrier, keys, (now(), tick()));
        let packets = telling.told(&mut self.walk, rounds);
        packets.into_iter().for_each(|packet| self.send(Some(packet)));
    }

    fn view(&self) -> View {
        let heard = self.pair.as_ref().is_some_and(|pair| pair.sessions.is_some());
        let partner = &self.partner;
        let patient = self.joined.is_some_and(|joined| now().since(joined) < PATIENCE);
        let waits = heard && patient && !partner.is_whole() && !partner.apart();
        // What was counted stays when the other member is gone.
        let Some(carrier) = self.carrier.as_ref() else {
            return View { waits, counts: partner.counts.clone(), ..View::default() };
        };
        let state = match partner.agrees() {
            _ if !heard => State::Off,
            false if partner.apart() => State::Apart,
            false => State::Meeting,
            true if partner.is_whole() && partner.has_whole() => State::Following,
            true => State::Joining,
        };
        View {
            state,
            waits,
            counts: partner.counts.clone(),
            applied: carrier.applied,
            rejected: carrier.rejected.clone(),
            untold: carrier.untold.clone(),
        }
    }
}

/// Notes places that are to be told of again.
fn note(carrier: &mut Carrier, places: &[u64]) {
    for place in places {
        let Some(table) = Table::ALL.get((place >> 32) as usize) else { continue };
        carrier.forget_place(*table, *place as u32);
        carrier.tables().replica.note(*table, *place as u32);
    }
}

fn bytes_of(secret: &l4::replica::Secret) -> Secret {
    let mut bytes = [0; 32];
    for (eight, word) in bytes.chunks_exact_mut(8).zip(secret) {
        eight.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

fn words_of(secret: &Secret) -> l4::replica::Secret {
    std::array::from_fn(|at| {
        let eight = secret.get(at * 8..).and_then(|rest| rest.first_chunk::<8>());
        eight.copied().map_or(0, u64::from_be_bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_the_same_as_bytes_and_as_words() {
        let words = [1, 2 << 40, 3, u64::MAX];
        assert_eq!(words_of(&bytes_of(&words)), words);
    }
}
