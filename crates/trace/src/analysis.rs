//! Analyses a capture frame by frame and collects its connections.
//!
//! Memory is bounded: stored packets have a budget over all connections, and connections have a maximum number. Beyond
//! the limits, connections are analysed in pieces or only counted, and the capture facts report that. This module reads
//! no file and determines no causes.

use crate::attribution::scale::ScaleOverrides;
use crate::capture_facts::CaptureFacts;
use crate::connection_table::ConnectionTable;
use crate::conversation::{ConnectionEnd, Conversation};
use crate::event::ConnectionSide;
use crate::failure::{self, CaptureEnd};
use crate::failure_tally::FailureTally;
use crate::filter::CaptureFilter;
use crate::input::CapturedFrame;
use crate::ledger::{
    AnalysedConnection, AnalysisExtent, ConnectionLedger, MAX_REPORTED, keep_slowest_overall,
};
use crate::link::{self, CarriedSegment, NonTcpFrame};
use crate::packet::{IpSegment, TcpPacket};
use crate::quic::{QuicTable, UdpDatagram};
use crate::retirement::{self, RetiredConnections};
use crate::unread_frames::UnreadFrames;

mod notices;
mod scenes;

/// Limits and options of an analysis.
#[derive(Clone, Debug)]
pub struct AnalysisSettings {
    /// Shifts given by the user.
    pub wishes: ScaleOverrides,
    /// The packets to analyse.
    pub filter: CaptureFilter,
    /// Store only the packets of the connection with this number, to draw it.
    pub only: Option<u32>,
    /// With `only`: of these connections as well.
    pub beside: Vec<u32>,
    /// Packets stored at once over all connections; 48 bytes each.
    pub max_events: usize,
    /// The limit of connections in the report. Packets of further connections are only counted, or with `endless` older
    /// connections are retired.
    pub max_connections: usize,
    /// The frames have no end: at the limit of connections half of them are retired to their sums.
    pub endless: bool,
}

impl Default for AnalysisSettings {
    fn default() -> AnalysisSettings {
        AnalysisSettings {
            wishes: ScaleOverrides::default(),
            filter: CaptureFilter::default(),
            only: None,
            beside: Vec::new(),
            max_events: 500_000,
            max_connections: 100_000,
            endless: false,
        }
    }
}

#[derive(Debug, Default)]
pub struct Analysis {
    settings: AnalysisSettings,
    facts: CaptureFacts,
    unread: UnreadFrames,
    table: ConnectionTable,
    connections: Vec<AnalysedConnection>,
    /// How many connections began.
    begun: u32,
    retired: RetiredConnections,
    quic: QuicTable,
    events: usize,
}

/// The result after all frames.
#[derive(Debug)]
pub struct AnalysedCapture {
    /// Counts over the capture.
    pub facts: CaptureFacts,
    /// Frames without TCP that could be read.
    pub unread: UnreadFrames,
    /// Connections in the order of their first packets, without retired ones.
    pub connections: Vec<AnalysedConnection>,
    /// Sums of the retired ones.
    pub retired: RetiredConnections,
    pub quic: QuicTable,
    /// The failures of connections of QUIC.
    pub quic_failures: FailureTally,
}

/// An ended connection may be analysed early when it was quiet for this long and memory is needed; nanoseconds.
/// Two retransmissions of a lost last packet fit.
const QUIET_NS: i64 = 2_000_000_000;
/// Frames have numbers of 32 bits.
pub const MAX_FRAMES: u64 = u32::MAX as u64;

impl Analysis {
    pub fn new(settings: AnalysisSettings) -> Analysis {
        Analysis { settings, ..Analysis::default() }
    }

    pub fn facts(&self) -> &CaptureFacts {
        &self.facts
    }

    /// Whether frames have no numbers left.
    pub fn is_full(&self) -> bool {
        self.facts.frames >= MAX_FRAMES
    }

    /// Adds the next frame.
    #[inline]
    pub fn add_frame(&mut self, frame: &CapturedFrame<'_>) {
        let time_ns = self.clock(frame);
        let number = u32::try_from(self.facts.frames).unwrap_or(u32::MAX);
        let carried = match link::find_segment(frame) {
            Ok(CarriedSegment::Tcp(carried)) => carried,
            Ok(CarriedSegment::Udp(carried)) => {
                return self.add_datagram(&carried, time_ns, number);
            }
            Ok(CarriedSegment::Notice(notice)) => return self.add_notice(&notice, time_ns, number),
            Err(other) => return self.count_skipped(other),
        };
        let Ok(packet) = TcpPacket::read(&carried, time_ns, number) else {
            self.facts.broken += 1;
            return;
        };
        if !self.settings.filter.accepts(&packet) {
            self.facts.filtered += 1;
            return;
        }
        self.facts.tcp_packets += 1;
        self.add_packet(&packet);
    }

    /// Adds a UDP datagram, which may be of QUIC.
    fn add_datagram(&mut self, carried: &IpSegment<'_>, time_ns: i64, number: u32) {
        let Some(datagram) = UdpDatagram::read(carried, time_ns, number) else {
            self.facts.broken += 1;
            return;
        };
        let UdpDatagram { source, destination, .. } = datagram;
        let passes = self.settings.filter.accepts_ends(time_ns, source, destination);
        if self.settings.endless && self.quic.is_full() {
            self.quic.give_up_half(self.capture_end());
        }
        if !passes || !self.quic.add(&datagram) {
            self.count_skipped(NonTcpFrame::NotTcp(UDP));
        }
    }

    #[inline]
    fn clock(&mut self, frame: &CapturedFrame<'_>) -> i64 {
        let facts = &mut self.facts;
        if facts.frames == 0 {
            facts.first_ns = frame.time_ns;
        }
        facts.frames += 1;
        facts.captured_bytes += frame.bytes.len() as u64;
        let since = frame.time_ns.saturating_sub(facts.first_ns);
        facts.backwards += u64::from(since < facts.last_ns);
        // A clock that jumps by a year is no clock: a hundred times the sum of two such times is still a number.
        facts.last_ns = facts.last_ns.max(since.min(MAX_NS));
        facts.last_ns
    }

    #[cold]
    fn count_skipped(&mut self, other: NonTcpFrame) {
        self.unread.count(other);
        self.facts.count_skipped(other);
    }

    #[inline]
    fn add_packet(&mut self, packet: &TcpPacket<'_>) {
        let found = self.table.find(packet).or_else(|| self.find_other_way(packet));
        let known = found
            .filter(|place| !self.connections[*place as usize].conversation.is_replaced_by(packet));
        let place = match known {
            Some(place) => place as usize,
            None => match self.open_connection(packet) {
                Some(place) => place,
                None => return,
            },
        };
        let conversation = &mut self.connections[place].conversation;
        let before = conversation.events.len();
        if !conversation.add_packet(packet) {
            self.facts.duplicates += 1;
        }
        self.events += conversation.events.len() - before;
        if self.events > self.settings.max_events {
            self.make_room();
        }
    }

    /// The connection whose other direction takes another path: with other tags or another tunnel.
    #[cold]
    fn find_other_way(&mut self, packet: &TcpPacket<'_>) -> Option<u32> {
        let place = self.table.find_any_path(packet)?;
        let known = &self.connections[place as usize].conversation;
        if !known.is_answered_by(packet) {
            return None;
        }
        self.table.add_path(packet, place);
        Some(place)
    }

    /// The index of a new connection. `None` if the maximum is reached.
    fn open_connection(&mut self, packet: &TcpPacket<'_>) -> Option<usize> {
        if self.connections.len() >= self.settings.max_connections {
            if !self.settings.endless {
                self.facts.beyond_limit += 1;
                return None;
            }
            self.retire_connections();
        }
        let place = self.connections.len();
        self.table.insert(packet, u32::try_from(place).ok()?);
        self.begun = self.begun.saturating_add(1);
        let ledger = ConnectionLedger { number: self.begun, ..ConnectionLedger::default() };
        let mut conversation = Conversation::new(packet);
        let AnalysisSettings { only, beside, .. } = &self.settings;
        let is_left_out = |only: u32| only != ledger.number && !beside.contains(&ledger.number);
        if only.is_some_and(is_left_out) {
            conversation.stop_decoding();
        }
        self.connections.push(AnalysedConnection { conversation, ledger });
        Some(place)
    }

    /// Frees memory: analyses ended connections, then the complete part of the largest one.
    fn make_room(&mut self) {
        if self.settings.only.is_some() {
            // The drawn connection stays complete up to here.
            self.connections.iter_mut().for_each(|one| one.conversation.stop_recording());
            self.events = 0;
            return;
        }
        let now_ns = self.facts.last_ns;
        let wishes = &self.settings.wishes;
        for AnalysedConnection { conversation, ledger } in &mut self.connections {
            let quiet = now_ns - conversation.last_ns > QUIET_NS;
            let over = quiet && conversation.ended != ConnectionEnd::Open;
            if over && !conversation.events.is_empty() {
                ledger.attribute_pending(conversation, AnalysisExtent::All, wishes);
            }
        }
        let enough = self.settings.max_events / 2;
        self.events = self.connections.iter().map(|one| one.conversation.events.len()).sum();
        if self.events > enough {
            let mut largest: Vec<usize> = (0..self.connections.len()).collect();
            largest.sort_unstable_by_key(|place| {
                (self.connections[*place].conversation.events.len(), *place)
            });
            while self.events > enough
                && let Some(place) = largest.pop()
            {
                let AnalysedConnection { conversation, ledger } = &mut self.connections[place];
                let before = conversation.events.len();
                ledger.attribute_pending(conversation, AnalysisExtent::Complete, wishes);
                self.events -= before - conversation.events.len();
            }
        }
        let stored_packets: usize =
            self.connections.iter().map(|one| one.ledger.transactions.len()).sum();
        if stored_packets > 2 * MAX_REPORTED {
            keep_slowest_overall(&mut self.connections, MAX_REPORTED);
        }
    }

    /// Gives up half of the connections, except for what they add to the sums.
    #[cold]
    fn retire_connections(&mut self) {
        let end = self.capture_end();
        for AnalysedConnection { conversation, ledger } in &mut self.connections {
            if conversation.ended != ConnectionEnd::Open && !conversation.events.is_empty() {
                self.events -= conversation.events.len();
                ledger.attribute_pending(conversation, AnalysisExtent::All, &self.settings.wishes);
            }
        }
        let stay = retirement::choose_staying(
            &self.connections,
            self.settings.max_connections / 2,
            self.facts.last_ns,
        );
        let mut places = vec![None; self.connections.len()];
        let all = std::mem::take(&mut self.connections);
        for (at, mut one) in all.into_iter().enumerate() {
            if stay.get(at).copied().unwrap_or(false) {
                if let Some(place) = places.get_mut(at) {
                    *place = u32::try_from(self.connections.len()).ok();
                }
                self.connections.push(one);
                continue;
            }
            self.events -= one.conversation.events.len();
            let AnalysedConnection { conversation, ledger } = &mut one;
            ledger.attribute_pending(conversation, AnalysisExtent::All, &self.settings.wishes);
            judge_ending(&mut one, end, &mut self.facts);
            self.retired.add(&one);
        }
        self.table.move_places(|place| places.get(place as usize).copied().flatten());
    }

    /// What the frames so far amount to.
    pub fn interim(&self) -> AnalysedCapture {
        let so_far = Analysis {
            settings: self.settings.clone(),
            facts: self.facts,
            unread: self.unread.clone(),
            connections: self.connections.clone(),
            retired: self.retired.clone(),
            quic: self.quic.clone(),
            ..Analysis::default()
        };
        so_far.finish()
    }

    /// Analyses the remaining connections.
    pub fn finish(mut self) -> AnalysedCapture {
        let mut stored_packets: usize =
            self.connections.iter().map(|one| one.ledger.transactions.len()).sum();
        for at in 0..self.connections.len() {
            let AnalysedConnection { conversation, ledger } = &mut self.connections[at];
            stored_packets -= ledger.transactions.len();
            ledger.attribute_pending(conversation, AnalysisExtent::All, &self.settings.wishes);
            stored_packets += ledger.transactions.len();
            if stored_packets > 2 * MAX_REPORTED {
                keep_slowest_overall(&mut self.connections, MAX_REPORTED);
                stored_packets = MAX_REPORTED;
            }
        }
        self.judge_endings();
        let quic_failures = self.quic.judge(self.capture_end());
        AnalysedCapture {
            facts: self.facts,
            unread: self.unread,
            connections: self.connections,
            retired: self.retired,
            quic: self.quic,
            quic_failures,
        }
    }

    /// Where the capture ends, for connections that have not.
    fn capture_end(&self) -> CaptureEnd {
        let any_finished = self.connections.iter().any(AnalysedConnection::has_finished_exchange);
        CaptureEnd {
            time_ns: self.settings.filter.last_ns(self.facts.last_ns),
            // Where nothing else can be said, also a short wait is said.
            patience_ns: if any_finished { PATIENCE_NS } else { 0 },
        }
    }

    /// Determines which connections failed, and what the capture lacks of them.
    fn judge_endings(&mut self) {
        let end = self.capture_end();
        for one in &mut self.connections {
            judge_ending(one, end, &mut self.facts);
        }
    }
}

fn judge_ending(one: &mut AnalysedConnection, end: CaptureEnd, facts: &mut CaptureFacts) {
    let AnalysedConnection { conversation, ledger } = one;
    ledger.failure = failure::detect_failure(conversation, end);
    let one_way = u64::from(failure::is_one_way(conversation));
    facts.one_way_connections += one_way;
    ledger.tally.connections = 1;
    ledger.tally.unjudged = one_way.max(u64::from(ledger.multiplexed));
    for side in [ConnectionSide::Client, ConnectionSide::Server] {
        let missing = conversation.missing(side);
        facts.missing_bytes += missing.bytes;
        facts.missing_pieces += missing.gaps;
    }
}

/// How long an exchange may be open at the capture's end before that is a failure, nanoseconds.
/// A capture always ends within some exchanges; few programs think for three seconds.
const PATIENCE_NS: i64 = 3_000_000_000;

/// IANA's number of UDP.
const UDP: u8 = 17;

/// A year: sums of such times stay far from the bounds of an `i64`, and longer captures have a wrong clock.
const MAX_NS: i64 = 365 * 86_400 * 1_000_000_000;

#[cfg(test)]
mod tests;
