//! What each side of a connection did last: its data, its window, its close, and what it sent without hearing an answer.
//!
//! Updated with each packet, so it needs no stored packets. `failure` decides what it means.

use crate::direction::SegmentPlacement;
use crate::event::ConnectionSide;
use crate::packet::{FIN, RST, SYN, TcpPacket};

/// A packet: when it passed, and its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketMoment {
    /// Nanoseconds since the capture began.
    pub time_ns: i64,
    /// Number in the capture.
    pub number: u32,
}

/// Packets that ask for an answer, sent since the other side's last packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnheardPackets {
    /// The first of them.
    pub since: Option<PacketMoment>,
    /// Packets with payload that was sent before.
    pub repeats: u32,
    /// Probes of a closed window or of a quiet connection.
    pub probes: u32,
}

/// Data of one side since the other side's last data.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataRun {
    pub since: Option<PacketMoment>,
    /// The last new data of the run.
    pub last: PacketMoment,
    pub bytes: u64,
    /// Pauses of a second and more between its packets.
    pub pauses: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SideProgress {
    /// When its last packet was captured.
    pub last: Option<PacketMoment>,
    pub run: DataRun,
    /// Since when its window is closed.
    pub closed: Option<PacketMoment>,
    pub unheard: UnheardPackets,
    pub fin: Option<PacketMoment>,
    pub reset: Option<PacketMoment>,
    /// The alert that it sent before encryption began (RFC 8446, 6).
    pub alert: Option<u8>,
}

/// The progress of both sides.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionProgress {
    pub sides: [SideProgress; 2],
    /// The side that sent new data last.
    pub last_speaker: Option<ConnectionSide>,
}

/// A pause that separates messages of a side that is not answered, nanoseconds.
/// Longer than any first retransmission timeout (RFC 6298, 2.1).
const PAUSE_NS: i64 = 1_000_000_000;

impl ConnectionProgress {
    /// Each side was the other one.
    pub fn swap_sides(&mut self) {
        self.sides.swap(0, 1);
        self.last_speaker = self.last_speaker.map(ConnectionSide::peer);
    }

    pub fn of(&self, side: ConnectionSide) -> &SideProgress {
        &self.sides[side.index()]
    }

    #[inline]
    pub fn track_packet(
        &mut self,
        side: ConnectionSide,
        packet: &TcpPacket<'_>,
        placement: &SegmentPlacement,
    ) {
        let moment = PacketMoment { time_ns: packet.time_ns, number: packet.number };
        self.sides[side.peer().index()].unheard = UnheardPackets::default();
        let here = &mut self.sides[side.index()];
        here.last = Some(moment);
        if packet.flags & (SYN | FIN | RST) != 0 {
            here.fin = here.fin.or(packet.has(FIN).then_some(moment));
            here.reset = here.reset.or(packet.has(RST).then_some(moment));
        } else if packet.window != 0 {
            here.closed = None;
        } else if here.closed.is_none() {
            here.closed = Some(moment);
        }
        if packet.length == 0 && !placement.is_probe {
            return;
        }
        here.unheard.since = here.unheard.since.or(Some(moment));
        if placement.is_probe {
            here.unheard.probes += 1;
        } else if placement.new == 0 {
            here.unheard.repeats += 1;
        } else {
            self.track_data(side, packet, moment);
        }
    }

    /// Adds data that only an acknowledgement shows.
    pub fn add_unseen(&mut self, side: ConnectionSide, moment: PacketMoment, bytes: u64) {
        self.add_to_run(side, moment, bytes);
    }

    fn add_to_run(&mut self, side: ConnectionSide, moment: PacketMoment, bytes: u64) {
        let here = &mut self.sides[side.index()];
        if self.last_speaker != Some(side) {
            here.run = DataRun::default();
            self.last_speaker = Some(side);
        }
        let run = &mut here.run;
        let paused = run.since.is_some() && moment.time_ns - run.last.time_ns > PAUSE_NS;
        run.pauses += u32::from(paused);
        run.since = run.since.or(Some(moment));
        run.last = moment;
        run.bytes += bytes;
    }

    fn track_data(&mut self, side: ConnectionSide, packet: &TcpPacket<'_>, moment: PacketMoment) {
        self.add_to_run(side, moment, u64::from(packet.length));
        if let [21, 3, _, 0, 2, _, description, ..] = packet.payload
            && !HARMLESS_ALERTS.contains(description)
        {
            self.sides[side.index()].alert = Some(*description);
        }
    }
}

/// Alerts that end a connection without a fault: closing notices and cancellations by users (RFC 8446, 6.1).
const HARMLESS_ALERTS: [u8; 2] = [0, 90];
