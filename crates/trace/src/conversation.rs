//! One connection as its packets come: both directions, the handshake, what was said, and the packets kept for judging.
//!
//! It takes packets in the order of the capture and judges nothing. Packets kept are freed when they have been judged.

use crate::direction::{Direction, ScaleOption};
use crate::event::{Event, FILLS, PARTLY, PROBE, REPEAT, Side};
use crate::packet::{ACK, Endpoint, FIN, Packet, RST, SYN};
use crate::stamps::Stamps;
use crate::talk::{self, Talk};

/// Times of a handshake, nanoseconds since the capture began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handshake {
    /// The first SYN.
    pub syn_ns: Option<i64>,
    /// The last SYN before it was answered.
    pub last_syn_ns: i64,
    /// The first answer.
    pub syn_ack_ns: Option<i64>,
    /// The acknowledgement of the answer.
    pub ack_ns: Option<i64>,
    /// SYNs of the client.
    pub syns: u32,
    /// SYNs of the server.
    pub syn_acks: u32,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ended {
    /// It did not, within the capture.
    #[default]
    Open,
    /// Both directions were closed.
    Closed,
    /// It was reset by this side.
    Reset(Side),
}

/// A connection.
#[derive(Debug)]
pub struct Conversation {
    /// The ends: client and server.
    pub ends: [Endpoint; 2],
    /// The path, as in `Carried`.
    pub path: u64,
    /// Both directions: what the client sent and what the server sent.
    pub directions: [Direction; 2],
    /// The handshake.
    pub handshake: Handshake,
    /// Whether who is client and who server was guessed.
    pub guessed: bool,
    /// First and last packet.
    pub first_ns: i64,
    /// Last packet.
    pub last_ns: i64,
    /// How it ended.
    pub ended: Ended,
    /// Packets kept.
    pub events: Vec<Event>,
    /// What was said.
    pub talk: Talk,
    /// Round trips by timestamps.
    pub stamps: Stamps,
    /// Shortest round trips to each side that earlier pieces showed, nanoseconds.
    pub shortest_ns: [Option<i64>; 2],
    /// Last window field of each side.
    last_window: [Option<u16>; 2],
    /// Whether packets are kept.
    keeps: bool,
}

impl Conversation {
    /// Begins with its first packet, which is not yet taken.
    pub fn new(packet: &Packet<'_>) -> Conversation {
        let (client, guessed) = client_of(packet);
        let ends = match client {
            Side::Client => [packet.source, packet.destination],
            Side::Server => [packet.destination, packet.source],
        };
        Conversation {
            ends,
            path: packet.path,
            directions: [Direction::default(), Direction::default()],
            handshake: Handshake::default(),
            guessed,
            first_ns: packet.time_ns,
            last_ns: packet.time_ns,
            ended: Ended::Open,
            events: Vec::new(),
            talk: Talk::default(),
            stamps: Stamps::default(),
            shortest_ns: [None; 2],
            last_window: [None; 2],
            keeps: true,
        }
    }

    /// Keeps no packets from now on, nor what is said.
    pub fn forget(&mut self) {
        self.keeps = false;
        self.events = Vec::new();
        self.talk = Talk::default();
    }

    /// Keeps no more packets; those kept stay.
    pub fn stop_keeping(&mut self) {
        self.keeps = false;
    }

    /// The place of a packet among those that are kept, by its number.
    pub fn place_of(&self, number: u32) -> usize {
        self.events.partition_point(|event| event.number < number)
    }

    /// Frees packets before this place, and what was said in them.
    pub fn free(&mut self, before: usize) {
        self.events.drain(..before.min(self.events.len()));
        self.events.shrink_to_fit();
        let first = self.events.iter().find(|event| event.side() == Side::Server);
        let cut = first.map_or(self.directions[1].next(), |event| event.seq);
        let [requests, answers] = &mut self.talk.messages;
        while answers.front().is_some_and(|answer| answer.to.is_some_and(|to| to <= cut)) {
            answers.pop_front();
            requests.pop_front();
        }
    }

    /// Whether packets are kept.
    pub fn keeps(&self) -> bool {
        self.keeps
    }

    /// Whether this packet opens another connection between the same ends: a SYN with another sequence number.
    #[inline]
    pub fn is_over_by(&self, packet: &Packet<'_>) -> bool {
        if packet.flags & (SYN | ACK) != SYN {
            return false;
        }
        let known = self.directions[self.side(packet).index()].base();
        known.is_some_and(|base| base != packet.seq.wrapping_add(1))
    }

    #[inline]
    fn side(&self, packet: &Packet<'_>) -> Side {
        if packet.source == self.ends[0] { Side::Client } else { Side::Server }
    }

    /// Takes the next packet; `false`: it is a copy of one before.
    #[inline]
    pub fn take(&mut self, packet: &Packet<'_>) -> bool {
        let side = self.side(packet);
        let (here, there) = both(&mut self.directions, side);
        if here.recent.is_copy(packet) {
            return false;
        }
        self.first_ns = self.first_ns.min(packet.time_ns);
        self.last_ns = self.last_ns.max(packet.time_ns);
        let closed = self.last_window[side.peer().index()] == Some(0);
        let brought = here.sent(packet, closed);
        let acks = packet.has(ACK) && !packet.has(RST);
        if acks {
            here.acked = there.offset(packet.ack);
            if !packet.has(SYN) {
                self.last_window[side.index()] = Some(packet.window);
            }
        }
        if packet.length > 0 && there.base().is_some() {
            here.max_in_flight = here.max_in_flight.max(here.next() - there.acked);
        }
        let ack = here.acked;
        self.stamps.take(side, packet);
        if packet.flags & (SYN | FIN | RST) != 0 || self.handshake.ack_ns.is_none() {
            self.follow(side, packet);
        }
        if self.keeps {
            if packet.length > 0 && !brought.probe {
                self.talk.take(side, brought.from, packet);
            }
            let mut event = Event::from(side);
            event.mark(marks(&brought, packet.length));
            (event.time_ns, event.number) = (packet.time_ns, packet.number);
            (event.seq, event.ack) = (brought.from, ack);
            (event.length, event.window) = (packet.length, packet.window);
            (event.ip_id, event.flags) = (packet.ip_id.unwrap_or(0), packet.flags);
            self.events.push(event);
        }
        true
    }

    /// What opens and ends the connection.
    fn follow(&mut self, side: Side, packet: &Packet<'_>) {
        let shake = &mut self.handshake;
        if packet.has(SYN) && side == Side::Client {
            shake.syns += 1;
            shake.syn_ns.get_or_insert(packet.time_ns);
            if shake.syn_ack_ns.is_none() {
                shake.last_syn_ns = packet.time_ns;
            }
        } else if packet.has(SYN) {
            shake.syn_acks += 1;
            shake.syn_ack_ns.get_or_insert(packet.time_ns);
        } else if side == Side::Client && packet.has(ACK) && shake.syn_ack_ns.is_some() {
            shake.ack_ns.get_or_insert(packet.time_ns);
        }
        if packet.has(RST) && self.ended == Ended::Open {
            self.ended = Ended::Reset(side);
        }
        let fins = |side: Side| self.directions[side.index()].counts.fins > 0;
        if self.ended == Ended::Open && fins(Side::Client) && fins(Side::Server) {
            self.ended = Ended::Closed;
        }
    }

    /// The shift that applies to a side's windows; `None`: unknown, because a SYN is missing (RFC 7323, 2.2).
    pub fn shift(&self, side: Side) -> Option<u8> {
        let own = self.directions[side.index()].scale;
        let other = self.directions[side.peer().index()].scale;
        match (own, other) {
            (ScaleOption::Shift(shift), ScaleOption::Shift(_)) => Some(shift),
            (ScaleOption::Absent, _) | (_, ScaleOption::Absent) => Some(0),
            _ => None,
        }
    }
}

fn marks(brought: &crate::direction::Brought, length: u32) -> u8 {
    let repeat = match brought.new {
        _ if length == 0 => 0,
        0 => REPEAT,
        new if new < i64::from(length) => PARTLY,
        _ => 0,
    };
    let fills = if brought.below && brought.new > 0 { FILLS } else { 0 };
    repeat | fills | if brought.probe { PROBE } else { 0 }
}

fn both(directions: &mut [Direction; 2], side: Side) -> (&mut Direction, &mut Direction) {
    let [client, server] = directions;
    match side {
        Side::Client => (client, server),
        Side::Server => (server, client),
    }
}

/// Which role the sender of a first packet has, and whether that is a guess.
fn client_of(packet: &Packet<'_>) -> (Side, bool) {
    match (packet.flags & (SYN | ACK), talk::speaker(packet.payload)) {
        (SYN, _) => (Side::Client, false),
        (flags, _) if flags & SYN != 0 => (Side::Server, false),
        // A capture that begins later begins with whose words these are.
        (_, Some(side)) => (side, false),
        // The lower port is the one that was asked for.
        _ if packet.source.port < packet.destination.port => (Side::Server, true),
        _ => (Side::Client, true),
    }
}
