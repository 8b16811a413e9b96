//! From one reading to the next: what of each watched connection is new. It keeps no more than was read last.

use std::collections::HashMap;
use std::net::IpAddr;

use super::seen::{Scale, Seen, Told};

/// Nanoseconds after its first SYN from which a handshake that is not done counts as unfinished: the client has asked
/// again by then (RFC 6298, 2.1).
const UNFINISHED: u64 = 3_000_000_000;

/// Times of a handshake that was done, nanoseconds. A part whose packet was sent more than once is not told: which of
/// them was answered cannot be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// From the SYN to its answer: the way to the server and back.
    pub server: Option<u64>,
    /// From the answer to the client's acknowledgement: the way to the client and back.
    pub client: Option<u64>,
    /// From the SYN to the client's acknowledgement.
    pub whole: Option<u64>,
}

/// Who did not go on with a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unfinished {
    /// The SYN was not answered.
    Server,
    /// The answer was not acknowledged.
    Client,
    /// One of both: the answer goes past.
    Either,
}

impl Unfinished {
    /// All of them, in the order of their places.
    pub const ALL: [Unfinished; 3] = [Unfinished::Server, Unfinished::Client, Unfinished::Either];

    /// Its name: who was silent.
    pub const fn name(self) -> &'static str {
        match self {
            Unfinished::Server => "server",
            Unfinished::Client => "client",
            Unfinished::Either => "unknown",
        }
    }
}

/// What is new of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which connection.
    pub print: u64,
    /// Its first packet.
    pub born: u64,
    /// When this was read.
    pub at: u64,
    /// Its client.
    pub client: IpAddr,
    /// The client's port.
    pub port: u16,
    /// Its service, by number.
    pub service: u32,
    /// Its server, by number; `None`: it is gone.
    pub server: Option<u32>,
    /// Both directions come through here.
    pub both: bool,
    /// Its first packets were not seen.
    pub late: bool,
    /// It began.
    pub begun: bool,
    /// The scales of both sides' windows are known, or bounded.
    pub scaled: bool,
    /// The handshake was done.
    pub opened: Option<Opened>,
    /// The handshake is not done though it should be.
    pub unfinished: Option<Unfinished>,
    /// The server answered the SYN with a reset.
    pub refused: bool,
    /// What both sides sent.
    pub sides: [Told; 2],
}

impl Change {
    /// Takes what came later of the same connection.
    pub fn join(&mut self, later: &Change) {
        (self.at, self.server) = (later.at, later.server);
        self.begun |= later.begun;
        self.scaled = later.scaled;
        self.refused |= later.refused;
        self.opened = self.opened.or(later.opened);
        // What was done after all is not unfinished.
        self.unfinished = self.unfinished.or(later.unfinished).filter(|_| self.opened.is_none());
        for (mine, more) in self.sides.iter_mut().zip(later.sides) {
            mine.add(more);
        }
    }

    /// Packets of both sides.
    pub fn packets(&self) -> u64 {
        self.sides.iter().map(|side| side.packets).sum()
    }
}

/// What was read last.
#[derive(Debug, Default)]
pub struct Follow {
    known: HashMap<u64, Known>,
    /// Something was read before.
    follows: bool,
}

#[derive(Debug)]
struct Known {
    seen: Seen,
    unfinished: bool,
}

impl Follow {
    /// What is new in a reading of everything that is watched now. What was there at the first reading belongs to an
    /// earlier process, which has told of it.
    pub fn changes(&mut self, all: Vec<Seen>, now: u64) -> Vec<Change> {
        let mut before = std::mem::take(&mut self.known);
        let first = !std::mem::replace(&mut self.follows, true);
        let mut changes = Vec::new();
        for seen in all {
            let old = before.remove(&seen.print).filter(|old| old.seen.born == seen.born);
            if first {
                let unfinished = unfinished(&seen, now).is_some();
                self.known.insert(seen.print, Known { seen, unfinished });
                continue;
            }
            let (told, old) = match &old {
                Some(old) => (old.unfinished, Some(&old.seen)),
                None => (false, None),
            };
            let change = change(&seen, old, now, told);
            let told = told || change.unfinished.is_some();
            let quiet = change.packets() == 0 && change.unfinished.is_none();
            self.known.insert(seen.print, Known { seen, unfinished: told });
            if !quiet {
                changes.push(change);
            }
        }
        changes
    }

    /// Forgets everything: the next reading is compared with nothing, and all of it is new.
    pub fn clear(&mut self) {
        self.known.clear();
        self.follows = true;
    }

    /// Connections that were there at the last reading.
    pub fn watched(&self) -> usize {
        self.known.len()
    }
}

fn change(seen: &Seen, old: Option<&Seen>, now: u64, told: bool) -> Change {
    let before = |side: usize| old.map_or(Told::default(), |old| old.sides[side]);
    let done = old.is_some_and(|old| old.ack != 0);
    Change {
        print: seen.print,
        born: seen.born,
        at: now,
        client: seen.client,
        port: seen.port,
        service: seen.service,
        server: Some(seen.server),
        both: seen.both,
        late: seen.late,
        begun: old.is_none(),
        scaled: scaled(seen),
        opened: opened(seen).filter(|_| !done),
        unfinished: unfinished(seen, now).filter(|_| !told),
        refused: seen.refused && !old.is_some_and(|old| old.refused),
        sides: [0, 1].map(|side| seen.sides[side].since(before(side))),
    }
}

/// Whether every window that comes through here can be read.
fn scaled(seen: &Seen) -> bool {
    let [client, server] = seen.scale;
    client != Scale::Unknown && (!seen.both || server != Scale::Unknown)
}

fn opened(seen: &Seen) -> Option<Opened> {
    let [first, last] = seen.syn;
    if first == 0 || seen.ack == 0 {
        return None;
    }
    let [asked, answered] = seen.syns.map(|count| count == 1);
    let server = seen.both.then(|| seen.syn_ack[0].saturating_sub(last)).filter(|_| asked);
    let client = seen.both.then(|| seen.ack.saturating_sub(seen.syn_ack[1])).filter(|_| answered);
    let whole = asked.then(|| seen.ack.saturating_sub(first));
    Some(Opened { server, client, whole })
}

fn unfinished(seen: &Seen, now: u64) -> Option<Unfinished> {
    let waits = seen.syn[0] != 0 && seen.ack == 0 && !seen.ended;
    if !waits || now.saturating_sub(seen.syn[0]) < UNFINISHED {
        return None;
    }
    Some(match (seen.both, seen.syn_ack[0]) {
        (false, _) => Unfinished::Either,
        (true, 0) => Unfinished::Server,
        (true, _) => Unfinished::Client,
    })
}
