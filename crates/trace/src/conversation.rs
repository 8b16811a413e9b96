//! One connection from its packets: both directions, the handshake, the decoded payload, and the packets stored for
//! analysis.
//!
//! Packets are recorded in the order of the capture, without attribution. Analysed packets are freed.

use crate::direction::{DirectionState, WindowScaleOption};
use crate::event::{ConnectionSide, FILLS, PARTLY, PROBE, PacketEvent, REPEAT, STAMPED};
use crate::link::UnreachableNotice;
use crate::packet::{ACK, FIN, RST, SYN, TcpEndpoint, TcpPacket};
use crate::payload::{self, PayloadDecoder};
use crate::progress::{ConnectionProgress, PacketMoment};
use crate::ranges::MissingBytes;
use crate::tcp_timestamps::TimestampTracker;
use crate::unseen::{self, UnseenSegment};

/// Times of a handshake, nanoseconds since the capture began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handshake {
    pub syn_ns: Option<i64>,
    /// The last SYN before it was answered.
    pub last_syn_ns: i64,
    pub syn_ack_ns: Option<i64>,
    /// The acknowledgement of the answer.
    pub ack_ns: Option<i64>,
    /// SYNs of the client.
    pub syns: u32,
    /// SYNs of the server.
    pub syn_acks: u32,
}

/// How far apart the numbers of one connection are when its second path begins: what a first window holds.
const NEAR: i32 = 1 << 20;

/// A notice about a connection's packet.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionNotice {
    pub notice: UnreachableNotice,
    pub moment: PacketMoment,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// It did not, within the capture.
    #[default]
    Open,
    /// Both directions were closed.
    Closed,
    /// It was reset by this side.
    Reset(ConnectionSide),
}

#[derive(Clone, Debug)]
pub struct Conversation {
    /// The ends: client and server.
    pub ends: [TcpEndpoint; 2],
    /// The path, as in `Carried`.
    pub path: u64,
    /// The client's direction and the server's.
    pub directions: [DirectionState; 2],
    pub handshake: Handshake,
    /// Whether who is client and who server was guessed.
    pub guessed: bool,
    /// Number of the first packet.
    pub first_number: u32,
    /// First and last packet.
    pub first_ns: i64,
    pub last_ns: i64,
    pub ended: ConnectionEnd,
    pub events: Vec<PacketEvent>,
    pub talk: PayloadDecoder,
    /// What each side did last.
    pub progress: ConnectionProgress,
    /// A packet of it could not be delivered.
    pub notice: Option<Box<ConnectionNotice>>,
    /// Round trips by timestamps.
    pub stamps: TimestampTracker,
    /// Shortest round trips to each side that earlier pieces showed, nanoseconds.
    pub shortest_ns: [Option<i64>; 2],
    /// Offset behind the bytes of each side that an acknowledgement showed.
    shown: [i64; 2],
    /// Last window field of each side.
    last_window: [Option<u16>; 2],
    /// Whether packets are stored.
    recording: bool,
}

impl Conversation {
    /// Starts a connection; its first packet is not counted yet.
    pub fn new(packet: &TcpPacket<'_>) -> Conversation {
        let SenderRole { side, guessed } = sender_role(packet);
        let ends = match side {
            ConnectionSide::Client => [packet.source, packet.destination],
            ConnectionSide::Server => [packet.destination, packet.source],
        };
        Conversation {
            ends,
            path: packet.path,
            directions: [DirectionState::default(), DirectionState::default()],
            handshake: Handshake::default(),
            guessed,
            first_number: packet.number,
            first_ns: packet.time_ns,
            last_ns: packet.time_ns,
            ended: ConnectionEnd::Open,
            events: Vec::new(),
            talk: PayloadDecoder::default(),
            progress: ConnectionProgress::default(),
            notice: None,
            stamps: TimestampTracker::default(),
            shortest_ns: [None; 2],
            shown: [0; 2],
            last_window: [None; 2],
            recording: true,
        }
    }

    /// Stops storing packets and decoding payload.
    pub fn stop_decoding(&mut self) {
        self.recording = false;
        self.events = Vec::new();
        self.talk = PayloadDecoder::default();
    }

    /// Stops storing packets. Packets that are already stored stay.
    pub fn stop_recording(&mut self) {
        self.recording = false;
    }

    /// The index of a packet among the stored packets, by its number.
    pub fn index_of(&self, number: u32) -> usize {
        self.events.partition_point(|event| event.number < number)
    }

    /// Frees packets before this index, and their decoded payload.
    pub fn free_before(&mut self, before: usize) {
        self.events.drain(..before.min(self.events.len()));
        self.events.shrink_to_fit();
        let first = self.events.iter().find(|event| event.side() == ConnectionSide::Server);
        let cut = first.map_or(self.directions[1].next(), |event| event.seq);
        self.talk.free_before(cut);
    }

    pub fn is_recording(&self) -> bool {
        self.recording
    }

    /// Whether this packet opens another connection between the same ends: a SYN with another sequence number.
    #[inline]
    pub fn is_replaced_by(&self, packet: &TcpPacket<'_>) -> bool {
        if packet.flags & (SYN | ACK) != SYN {
            return false;
        }
        let known = self.directions[self.side(packet).index()].base();
        known.is_some_and(|base| base != packet.seq.wrapping_add(1))
    }

    /// Whether a packet on another path belongs to this connection: nothing of its side was captured yet, and what it
    /// acknowledges, or is acknowledged, was.
    pub fn is_answered_by(&self, packet: &TcpPacket<'_>) -> bool {
        let side = self.side(packet);
        let there = &self.directions[side.peer().index()];
        let is_new = self.directions[side.index()].counts.packets == 0;
        let is_near = there.base().is_some_and(|base| {
            let ahead = packet.ack.wrapping_sub(base).cast_signed();
            (-NEAR..=NEAR).contains(&ahead)
        });
        is_new && packet.has(ACK) && packet.flags & (SYN | ACK) != SYN && is_near
    }

    /// Takes the roles from the first words of a connection whose first packets had none.
    fn learn_roles(&mut self, packet: &TcpPacket<'_>) {
        if self.directions.iter().any(|direction| direction.counts.data_packets > 0) {
            return;
        }
        let Some(speaker) = payload::detect_speaker(packet.payload) else { return };
        self.guessed = false;
        if self.side(packet) == speaker {
            return;
        }
        self.ends.swap(0, 1);
        self.directions.swap(0, 1);
        self.progress.swap_sides();
        self.stamps.swap_sides();
        self.shortest_ns.swap(0, 1);
        self.shown.swap(0, 1);
        self.last_window.swap(0, 1);
        self.events.iter_mut().for_each(PacketEvent::swap_side);
    }

    #[inline]
    fn side(&self, packet: &TcpPacket<'_>) -> ConnectionSide {
        if packet.source == self.ends[0] { ConnectionSide::Client } else { ConnectionSide::Server }
    }

    /// Adds the next packet; `false`: it is a copy of an earlier one.
    #[inline]
    pub fn add_packet(&mut self, packet: &TcpPacket<'_>) -> bool {
        if self.guessed && packet.length > 0 {
            self.learn_roles(packet);
        }
        let side = self.side(packet);
        let (here, there) = both(&mut self.directions, side);
        if here.recent.is_copy(packet) {
            return false;
        }
        self.first_ns = self.first_ns.min(packet.time_ns);
        self.last_ns = self.last_ns.max(packet.time_ns);
        let closed = self.last_window[side.peer().index()] == Some(0);
        let brought = here.record_packet(packet, closed);
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
        self.progress.track_packet(side, packet, &brought);
        if acks {
            self.track_unseen(side, packet);
        }
        self.stamps.track_packet(side, packet);
        if packet.flags & (SYN | FIN | RST) != 0 || self.handshake.ack_ns.is_none() {
            self.track_state(side, packet);
        }
        if self.recording {
            if brought.new > 0 && brought.from < self.shown[side.index()] {
                let to = brought.from + i64::from(packet.length);
                unseen::remove_unseen(&mut self.events, side, brought.from, to);
            }
            if packet.length > 0 && !brought.is_probe {
                self.talk.add_packet(side, brought.from, packet);
            }
            let mut event = PacketEvent::from(side);
            event.mark(marks(&brought, packet.length));
            event.time_ns = packet.time_ns;
            event.number = packet.number;
            event.seq = brought.from;
            event.ack = ack;
            event.length = packet.length;
            event.window = packet.window;
            event.ip_id = packet.ip_id.unwrap_or(0);
            event.flags = packet.flags;
            if let Some(stamps) = packet.options.stamps {
                event.mark(STAMPED);
                event.stamp = stamps.value;
                event.echo = stamps.echo;
            }
            self.events.push(event);
        }
        true
    }

    /// Offset behind the last byte of a side that was captured, or acknowledged.
    pub fn reached_offset(&self, side: ConnectionSide) -> i64 {
        self.directions[side.index()].next().max(self.shown[side.index()])
    }

    /// Bytes of a side that passed and that the capture lacks.
    pub fn missing(&self, side: ConnectionSide) -> MissingBytes {
        // An acknowledgement of what was never sent shows nothing.
        let acked = self.directions[side.peer().index()].acked.min(self.reached_offset(side) + 1);
        self.directions[side.index()].missing(acked)
    }

    /// Enters bytes of the other side that this acknowledgement shows and that were not captured.
    #[inline]
    fn track_unseen(&mut self, side: ConnectionSide, packet: &TcpPacket<'_>) {
        let of = side.peer();
        let acked = self.directions[side.index()].acked;
        // The end of a stream takes a number too.
        let known = self.reached_offset(of) + 1;
        if acked > known {
            self.enter_unseen(of, acked, packet);
        }
        self.talk.pass_unseen(of, acked);
    }

    #[cold]
    fn enter_unseen(&mut self, of: ConnectionSide, acked: i64, by: &TcpPacket<'_>) {
        let from = self.reached_offset(of);
        let counts = &self.directions[of.index()].counts;
        // In a capture that begins within a connection the first acknowledgements are for bytes before it.
        let is_begun = counts.syns > 0 || counts.data_packets > 0;
        if !is_begun || acked - from > unseen::MAX_BYTES {
            return;
        }
        self.shown[of.index()] = acked;
        let shake = &self.handshake;
        let near = match of.peer() {
            ConnectionSide::Client => [shake.syn_ack_ns, shake.ack_ns],
            ConnectionSide::Server => [shake.syn_ns, shake.syn_ack_ns],
        };
        let near_ns = match near {
            [Some(from), Some(to)] if shake.syns == 1 && shake.syn_acks == 1 => (to - from).max(0),
            _ => 0,
        };
        let moment = PacketMoment { time_ns: by.time_ns, number: by.number };
        self.progress.add_unseen(of, moment, (acked - from).max(0).cast_unsigned());
        if self.recording {
            let answered = self.directions[of.peer().index()].next();
            let segment = UnseenSegment { side: of, from, to: acked, answered, near_ns };
            unseen::insert_unseen(&mut self.events, segment, by);
        }
    }

    /// Tracks the setup and the end of the connection.
    fn track_state(&mut self, side: ConnectionSide, packet: &TcpPacket<'_>) {
        let shake = &mut self.handshake;
        if packet.has(SYN) && side == ConnectionSide::Client {
            shake.syns += 1;
            shake.syn_ns.get_or_insert(packet.time_ns);
            if shake.syn_ack_ns.is_none() {
                shake.last_syn_ns = packet.time_ns;
            }
        } else if packet.has(SYN) {
            shake.syn_acks += 1;
            shake.syn_ack_ns.get_or_insert(packet.time_ns);
        } else if side == ConnectionSide::Client && packet.has(ACK) && shake.syn_ack_ns.is_some() {
            shake.ack_ns.get_or_insert(packet.time_ns);
        }
        if packet.has(RST) && self.ended == ConnectionEnd::Open {
            self.ended = ConnectionEnd::Reset(side);
        }
        let fins = |side: ConnectionSide| self.directions[side.index()].counts.fins > 0;
        if self.ended == ConnectionEnd::Open
            && fins(ConnectionSide::Client)
            && fins(ConnectionSide::Server)
        {
            self.ended = ConnectionEnd::Closed;
        }
    }

    /// The shift of a side's windows. `None` if it is unknown because a SYN is missing (RFC 7323, 2.2).
    pub fn window_shift(&self, side: ConnectionSide) -> Option<u8> {
        let own = self.directions[side.index()].scale;
        let other = self.directions[side.peer().index()].scale;
        match (own, other) {
            (WindowScaleOption::Shift(shift), WindowScaleOption::Shift(_)) => Some(shift),
            (WindowScaleOption::Absent, _) | (_, WindowScaleOption::Absent) => Some(0),
            _ => None,
        }
    }
}

fn marks(brought: &crate::direction::SegmentPlacement, length: u32) -> u8 {
    let repeat = match brought.new {
        _ if length == 0 => 0,
        0 => REPEAT,
        new if new < i64::from(length) => PARTLY,
        _ => 0,
    };
    let fills = if brought.below_highest && brought.new > 0 { FILLS } else { 0 };
    repeat | fills | if brought.is_probe { PROBE } else { 0 }
}

fn both(
    directions: &mut [DirectionState; 2],
    side: ConnectionSide,
) -> (&mut DirectionState, &mut DirectionState) {
    let [client, server] = directions;
    match side {
        ConnectionSide::Client => (client, server),
        ConnectionSide::Server => (server, client),
    }
}

/// Which side sent the first packet of a connection.
struct SenderRole {
    side: ConnectionSide,
    /// Whether nothing in the packet shows it.
    guessed: bool,
}

fn sender_role(packet: &TcpPacket<'_>) -> SenderRole {
    match (packet.flags & (SYN | ACK), payload::detect_speaker(packet.payload)) {
        (SYN, _) => SenderRole { side: ConnectionSide::Client, guessed: false },
        (flags, _) if flags & SYN != 0 => {
            SenderRole { side: ConnectionSide::Server, guessed: false }
        }
        // In a capture without the SYNs the payload shows which side sent it.
        (_, Some(side)) => SenderRole { side, guessed: false },
        // The lower port is the server's.
        _ if packet.source.port < packet.destination.port => {
            SenderRole { side: ConnectionSide::Server, guessed: true }
        }
        _ => SenderRole { side: ConnectionSide::Client, guessed: true },
    }
}
