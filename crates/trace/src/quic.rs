//! Connections of QUIC, as far as they can be seen without keys: how long the handshake took, whether it failed, round trips
//! by the spin bit, packets and bytes.
//!
//! A connection is known from its client's first packet on, by the addresses and ports of both ends. Numbers of packets are
//! encrypted (RFC 9001 §5.4), so that losses cannot be told; requests cannot either.

mod datagram;
mod spin;

use std::collections::HashMap;

use model::failure_code::FailureCode;
use model::limit::TimeOwner;

use crate::bytes::be_u16;
use crate::event::ConnectionSide;
use crate::failure::{CaptureEnd, ConnectionFailure, FailureEnd};
use crate::failure_tally::FailureTally;
use crate::packet::{IpSegment, TcpEndpoint};
use crate::progress::PacketMoment;
use datagram::{QuicConnectionId, QuicDatagram};
use spin::SpinTracker;

/// Connections that are told apart. Datagrams of more are only counted.
const MAX_CONNECTIONS: usize = 10_000;
/// Bytes of UDP's header.
const HEADER: usize = 8;
/// How long an end may be silent before a handshake counts as failed, nanoseconds.
/// Three times the initial timeout of a probe without a sample (RFC 9002 §6.2.2).
const SILENT_NS: i64 = 3_000_000_000;

/// A UDP datagram with its ends.
#[derive(Clone, Copy, Debug)]
pub struct UdpDatagram<'a> {
    /// Nanoseconds since the capture began.
    pub time_ns: i64,
    /// Number of its frame in the capture.
    pub number: u32,
    pub source: TcpEndpoint,
    pub destination: TcpEndpoint,
    pub path: u64,
    /// Bytes behind the UDP header that were captured.
    pub payload: &'a [u8],
    /// Their number on the wire.
    pub length: u32,
}

/// Both ends in order, and the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct QuicKey {
    low: TcpEndpoint,
    high: TcpEndpoint,
    path: u64,
}

/// What was seen of a connection.
#[derive(Clone, Debug)]
pub struct TracedQuicConnection {
    /// Number of the connection among those of QUIC, from 1.
    pub number: u32,
    key: QuicKey,
    /// The ends: client and server.
    pub ends: [TcpEndpoint; 2],
    pub version: u32,
    first: PacketMoment,
    /// Where the client's first packet went to, and who the ends are since.
    ids: [QuicConnectionId; 2],
    original: QuicConnectionId,
    /// Datagrams of the client before the server's first.
    unanswered: u32,
    last_asked_ns: i64,
    reply: Option<PacketMoment>,
    /// The server wanted the client's address proven first.
    pub retried: bool,
    /// Early data of the client was seen.
    pub early_data: bool,
    /// The server named other versions.
    refused_version: Option<PacketMoment>,
    /// The client's first packet behind the server's first.
    continued_ns: Option<i64>,
    /// The client's first packet that is protected by the keys of the finished handshake.
    finished_ns: Option<i64>,
    /// Of the client and of the server.
    pub datagrams: [u64; 2],
    pub bytes: [u64; 2],
    last: [Option<PacketMoment>; 2],
    spin: [SpinTracker; 2],
    /// How its handshake failed, if it did; known at the end of the capture.
    pub failure: Option<ConnectionFailure>,
}

/// Connections by their ends.
#[derive(Clone, Debug, Default)]
pub struct QuicTable {
    places: HashMap<QuicKey, usize>,
    connections: Vec<TracedQuicConnection>,
    /// Datagrams of known connections, and of beginnings beyond the limit.
    pub datagrams: u64,
    /// Beginnings of connections beyond the limit.
    pub beyond_limit: u64,
    /// How many connections began within it.
    pub begun: u32,
    /// Failures of connections that were given up.
    given_up: FailureTally,
}

impl QuicKey {
    fn of(datagram: &UdpDatagram<'_>) -> QuicKey {
        let UdpDatagram { source: a, destination: b, path, .. } = *datagram;
        QuicKey { low: a.min(b), high: a.max(b), path }
    }
}

impl QuicTable {
    /// Counts a datagram. `false`: it is no QUIC of a connection whose beginning was captured.
    pub fn add(&mut self, datagram: &UdpDatagram<'_>) -> bool {
        let Some(packets) = QuicDatagram::read(datagram.payload) else { return false };
        let key = QuicKey::of(datagram);
        let known = self.places.get(&key).copied();
        let known = known.filter(|place| {
            self.connections.get(*place).is_some_and(|one| !one.is_replaced_by(&packets, datagram))
        });
        let place = match known {
            Some(place) => place,
            None if !packets.may_begin(datagram.length) => return false,
            None if self.connections.len() >= MAX_CONNECTIONS => {
                self.datagrams += 1;
                self.beyond_limit += 1;
                return true;
            }
            None => {
                self.begun = self.begun.saturating_add(1);
                self.connections.push(TracedQuicConnection::begin(self.begun, datagram, &packets));
                self.places.insert(key, self.connections.len() - 1);
                self.connections.len() - 1
            }
        };
        self.datagrams += 1;
        if let Some(connection) = self.connections.get_mut(place) {
            connection.add(datagram, &packets);
        }
        true
    }

    pub fn connections(&self) -> &[TracedQuicConnection] {
        &self.connections
    }

    /// Whether the next connection would be beyond the limit.
    pub fn is_full(&self) -> bool {
        self.connections.len() >= MAX_CONNECTIONS
    }

    /// Gives up the half of the connections that was not heard of for longest; failures stay in the sums.
    pub fn give_up_half(&mut self, end: CaptureEnd) {
        let mut last: Vec<i64> =
            self.connections.iter().map(TracedQuicConnection::last_ns).collect();
        let half = last.len() / 2;
        if half == 0 {
            return;
        }
        let end = self.patient_end(end);
        let bound_ns = *last.select_nth_unstable(half).1;
        let all = std::mem::take(&mut self.connections);
        for one in all {
            if one.last_ns() >= bound_ns && self.connections.len() < MAX_CONNECTIONS - half {
                self.connections.push(one);
            } else if let Some(failure) = one.detect_failure(end) {
                self.given_up.add(&failure, one.ends, one.number);
            }
        }
        let places = self.connections.iter().enumerate();
        self.places = places.map(|(place, one)| (one.key, place)).collect();
    }

    /// Determines which connections failed by the end of the capture, and sums over them and those that were given up.
    pub fn judge(&mut self, end: CaptureEnd) -> FailureTally {
        let end = self.patient_end(end);
        let mut failures = self.given_up.clone();
        for one in &mut self.connections {
            one.failure = one.detect_failure(end);
            if let Some(failure) = &one.failure {
                failures.add(failure, one.ends, one.number);
            }
        }
        failures
    }

    /// Where any handshake ended, others may take their time.
    fn patient_end(&self, end: CaptureEnd) -> CaptureEnd {
        let any_finished = self.connections.iter().any(|one| one.finished_ns.is_some());
        let patience_ns = if any_finished { SILENT_NS } else { end.patience_ns };
        CaptureEnd { patience_ns, ..end }
    }
}

impl TracedQuicConnection {
    fn begin(
        number: u32,
        datagram: &UdpDatagram<'_>,
        packets: &QuicDatagram,
    ) -> TracedQuicConnection {
        TracedQuicConnection {
            number,
            key: QuicKey::of(datagram),
            ends: [datagram.source, datagram.destination],
            version: packets.version.unwrap_or(0),
            first: datagram.moment(),
            ids: [packets.source, packets.destination],
            original: packets.destination,
            unanswered: 0,
            last_asked_ns: datagram.time_ns,
            reply: None,
            retried: false,
            early_data: false,
            refused_version: None,
            continued_ns: None,
            finished_ns: None,
            datagrams: [0; 2],
            bytes: [0; 2],
            last: [None; 2],
            spin: [SpinTracker::default(); 2],
            failure: None,
        }
    }

    /// Whether a datagram begins another connection between the same ends.
    fn is_replaced_by(&self, packets: &QuicDatagram, datagram: &UdpDatagram<'_>) -> bool {
        let is_own = |id| id == self.original || self.ids.contains(&id);
        self.reply.is_some()
            && packets.may_begin(datagram.length)
            && datagram.source == self.ends[0]
            && !is_own(packets.destination)
            && packets.source != self.ids[0]
    }

    fn add(&mut self, datagram: &UdpDatagram<'_>, packets: &QuicDatagram) {
        let is_client = datagram.source == self.ends[0];
        let side = if is_client { ConnectionSide::Client } else { ConnectionSide::Server };
        let at = side.index();
        self.datagrams[at] += 1;
        self.bytes[at] += u64::from(datagram.length);
        self.last[at] = Some(datagram.moment());
        if let Some(spin) = packets.spin {
            self.spin[at].add(spin, datagram.time_ns);
        }
        match side {
            ConnectionSide::Client => self.add_of_client(datagram, packets),
            ConnectionSide::Server => self.add_of_server(datagram, packets),
        }
    }

    fn add_of_client(&mut self, datagram: &UdpDatagram<'_>, packets: &QuicDatagram) {
        self.early_data |= packets.has_zero_rtt;
        if self.reply.is_none() {
            self.unanswered += 1;
            self.last_asked_ns = datagram.time_ns;
            return;
        }
        self.continued_ns.get_or_insert(datagram.time_ns);
        if packets.spin.is_some() {
            self.finished_ns.get_or_insert(datagram.time_ns);
        }
        if packets.has_initial {
            // Behind a retry or another version the handshake begins anew.
            self.version = packets.version.unwrap_or(self.version);
            self.refused_version = None;
            self.ids[1] = packets.destination;
        }
    }

    fn add_of_server(&mut self, datagram: &UdpDatagram<'_>, packets: &QuicDatagram) {
        self.reply.get_or_insert(datagram.moment());
        self.retried |= packets.is_retry;
        match packets.version {
            Some(0) => self.refused_version = Some(datagram.moment()),
            Some(_) => self.ids[1] = packets.source,
            None => {}
        }
    }

    /// From the client's first packet, nanoseconds since the capture began.
    pub fn begun_ns(&self) -> i64 {
        self.first.time_ns
    }

    pub fn last_ns(&self) -> i64 {
        self.last.iter().flatten().map(|moment| moment.time_ns).max().unwrap_or(self.first.time_ns)
    }

    /// From the client's first packet to its first one under the keys of the finished handshake, nanoseconds.
    pub fn handshake_ns(&self) -> Option<i64> {
        self.finished_ns.map(|finished| finished - self.first.time_ns)
    }

    /// From the client's last packet before the server's first one to that: the path behind the capture, and the server.
    pub fn handshake_server_ns(&self) -> Option<i64> {
        self.reply.map(|reply| reply.time_ns - self.last_asked_ns)
    }

    /// From the server's first packet to the client's next one: the path before the capture, and the client.
    pub fn handshake_client_ns(&self) -> Option<i64> {
        Some(self.continued_ns? - self.reply?.time_ns)
    }

    /// The shortest round trip by the spin bit, nanoseconds. `None`: it does not show one.
    pub fn round_trip_ns(&self) -> Option<i64> {
        self.spin.iter().filter_map(SpinTracker::round_trip_ns).min()
    }

    fn detect_failure(&self, end: CaptureEnd) -> Option<ConnectionFailure> {
        let [client, server] = self.last;
        let silent = |since_ns: i64| end.time_ns - since_ns >= SILENT_NS.min(end.patience_ns);
        let fail = |code, owner, since: PacketMoment| {
            let last = self.last.iter().flatten().map(|moment| moment.number).max();
            let to = last.unwrap_or(since.number);
            let waited_ns = (end.time_ns - since.time_ns).max(0);
            ConnectionFailure {
                code,
                owner,
                since,
                to,
                waited_ns,
                ended: FailureEnd::Open,
                bytes: 0,
                announced: None,
                refusal: None,
                notice: None,
                title: None,
            }
        };
        if self.reply.is_none() {
            let waits = self.unanswered > 1 || silent(self.first.time_ns);
            return waits.then(|| fail(FailureCode::QuicUnanswered, TimeOwner::Server, self.first));
        }
        if self.finished_ns.is_some() {
            return None;
        }
        if let Some(refused) = self.refused_version {
            return Some(fail(FailureCode::QuicVersionRefused, TimeOwner::Client, refused));
        }
        let last_of_client = client.unwrap_or(self.first);
        let last_of_server = server.unwrap_or(self.first);
        let is_servers_turn = last_of_client.number > last_of_server.number;
        let last = if is_servers_turn { last_of_client } else { last_of_server };
        let owner = if is_servers_turn { TimeOwner::Server } else { TimeOwner::Client };
        silent(last.time_ns).then(|| fail(FailureCode::QuicUnfinished, owner, last))
    }
}

impl<'a> UdpDatagram<'a> {
    /// `None`: it was cut before the end of its header.
    pub fn read(carried: &IpSegment<'a>, time_ns: i64, number: u32) -> Option<UdpDatagram<'a>> {
        let end = |address, at| Some(TcpEndpoint { address, port: be_u16(carried.bytes, at)? });
        let wire = u32::from(be_u16(carried.bytes, 4)?);
        // Zero stands for a length that the network card fills in, or a jumbogram (RFC 2675).
        let wire = if wire == 0 { carried.length } else { wire.min(carried.length) };
        Some(UdpDatagram {
            time_ns,
            number,
            source: end(carried.source, 0)?,
            destination: end(carried.destination, 2)?,
            path: carried.path,
            payload: carried.bytes.get(HEADER..(wire as usize).min(carried.bytes.len()))?,
            length: wire.checked_sub(HEADER as u32)?,
        })
    }

    fn moment(&self) -> PacketMoment {
        PacketMoment { time_ns: self.time_ns, number: self.number }
    }
}
