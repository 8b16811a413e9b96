//! Compares two readings of the sampled connections and returns the changes of each. Only the last reading is stored.

use std::collections::HashMap;
use std::net::IpAddr;

use super::flow_sample::{FlowSample, FlowSideCounters, FlowWindowScale};

/// Nanoseconds after its first SYN from which a handshake counts as stalled. Three seconds, since the client has
/// repeated its SYN by then (RFC 6298, 2.1).
const STALL_TIMEOUT: u64 = 3_000_000_000;

/// Durations of a completed handshake, nanoseconds. A part whose packet was retransmitted is absent: which copy was
/// acknowledged is unknown (Karn's algorithm).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandshakeDurations {
    /// From the SYN to the SYN-ACK: the round trip to the server.
    pub server: Option<u64>,
    /// From the SYN-ACK to the client's ACK: the round trip to the client.
    pub client: Option<u64>,
    /// From the SYN to the client's ACK.
    pub total: Option<u64>,
}

/// The side that did not continue a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HandshakeStall {
    Server,
    /// The SYN-ACK was not acknowledged.
    Client,
    /// One of both: the SYN-ACK bypasses the balancer.
    Either,
}

impl HandshakeStall {
    /// In the order of their places in counts.
    pub const ALL: [HandshakeStall; 3] =
        [HandshakeStall::Server, HandshakeStall::Client, HandshakeStall::Either];

    /// The silent side, as reports name it.
    pub const fn name(self) -> &'static str {
        match self {
            HandshakeStall::Server => "server",
            HandshakeStall::Client => "client",
            HandshakeStall::Either => "unknown",
        }
    }
}

/// The changes of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowDelta {
    pub fingerprint: u64,
    pub first_packet_at: u64,
    /// Time of the reading.
    pub at: u64,
    pub client: IpAddr,
    pub port: u16,
    /// The service's number.
    pub service: u32,
    /// The server's number; `None`: the server was removed.
    pub server: Option<u32>,
    /// Both directions pass the balancer.
    pub bidirectional: bool,
    /// The first packets were not seen.
    pub joined_late: bool,
    pub begun: bool,
    /// The window scales of both sides are known, or bounded.
    pub scaled: bool,
    /// Set when the handshake was completed.
    pub handshake: Option<HandshakeDurations>,
    /// Set when the handshake has stalled.
    pub stall: Option<HandshakeStall>,
    /// The server answered the SYN with a reset.
    pub refused: bool,
    pub sides: [FlowSideCounters; 2],
}

impl FlowDelta {
    /// Adds a later delta of the same connection.
    pub fn merge_later(&mut self, later: &FlowDelta) {
        self.at = later.at;
        self.server = later.server;
        self.begun |= later.begun;
        self.scaled = later.scaled;
        self.refused |= later.refused;
        self.handshake = self.handshake.or(later.handshake);
        // A handshake that was completed after all is not stalled.
        self.stall = self.stall.or(later.stall).filter(|_| self.handshake.is_none());
        for (mine, more) in self.sides.iter_mut().zip(later.sides) {
            mine.add(more);
        }
    }

    /// Packets of both sides.
    pub fn packets(&self) -> u64 {
        self.sides.iter().map(|side| side.packets).sum()
    }
}

#[derive(Debug, Default)]
pub struct FlowTracker {
    flows: HashMap<u64, TrackedFlow>,
    /// An earlier reading exists.
    has_baseline: bool,
}

#[derive(Debug)]
struct TrackedFlow {
    seen: FlowSample,
    unfinished: bool,
}

impl FlowTracker {
    /// The changes in a reading of all sampled connections. Connections of the first reading belong to an earlier
    /// process, which has reported them.
    pub fn diff_samples(&mut self, all: Vec<FlowSample>, now: u64) -> Vec<FlowDelta> {
        let mut before = std::mem::take(&mut self.flows);
        let first = !std::mem::replace(&mut self.has_baseline, true);
        let mut changes = Vec::new();
        for seen in all {
            let old = before
                .remove(&seen.fingerprint)
                .filter(|old| old.seen.first_packet_at == seen.first_packet_at);
            if first {
                let unfinished = handshake_stall(&seen, now).is_some();
                self.flows.insert(seen.fingerprint, TrackedFlow { seen, unfinished });
                continue;
            }
            let (reported, old) = match &old {
                Some(old) => (old.unfinished, Some(&old.seen)),
                None => (false, None),
            };
            let change = flow_delta(&seen, old, now, reported);
            let reported = reported || change.stall.is_some();
            let quiet = change.packets() == 0 && change.stall.is_none();
            self.flows.insert(seen.fingerprint, TrackedFlow { seen, unfinished: reported });
            if !quiet {
                changes.push(change);
            }
        }
        changes
    }

    /// Forgets the last reading: everything in the next one is new.
    pub fn clear(&mut self) {
        self.flows.clear();
        self.has_baseline = true;
    }

    /// Connections of the last reading.
    pub fn tracked_count(&self) -> usize {
        self.flows.len()
    }
}

fn flow_delta(seen: &FlowSample, old: Option<&FlowSample>, now: u64, reported: bool) -> FlowDelta {
    let before = |side: usize| old.map_or(FlowSideCounters::default(), |old| old.sides[side]);
    let done = old.is_some_and(|old| old.ack != 0);
    FlowDelta {
        fingerprint: seen.fingerprint,
        first_packet_at: seen.first_packet_at,
        at: now,
        client: seen.client,
        port: seen.port,
        service: seen.service,
        server: Some(seen.server),
        bidirectional: seen.bidirectional,
        joined_late: seen.joined_late,
        begun: old.is_none(),
        scaled: has_known_scale(seen),
        handshake: handshake_durations(seen).filter(|_| !done),
        stall: handshake_stall(seen, now).filter(|_| !reported),
        refused: seen.refused && !old.is_some_and(|old| old.refused),
        sides: [0, 1].map(|side| seen.sides[side].delta_since(before(side))),
    }
}

/// Whether every window that passes the balancer can be read.
fn has_known_scale(seen: &FlowSample) -> bool {
    let [client, server] = seen.scale;
    client != FlowWindowScale::Unknown
        && (!seen.bidirectional || server != FlowWindowScale::Unknown)
}

fn handshake_durations(seen: &FlowSample) -> Option<HandshakeDurations> {
    let [first, last] = seen.syn;
    if first == 0 || seen.ack == 0 {
        return None;
    }
    let [single_syn, single_syn_ack] = seen.syns.map(|count| count == 1);
    let server =
        seen.bidirectional.then(|| seen.syn_ack[0].saturating_sub(last)).filter(|_| single_syn);
    let client = seen
        .bidirectional
        .then(|| seen.ack.saturating_sub(seen.syn_ack[1]))
        .filter(|_| single_syn_ack);
    let whole = single_syn.then(|| seen.ack.saturating_sub(first));
    Some(HandshakeDurations { server, client, total: whole })
}

fn handshake_stall(seen: &FlowSample, now: u64) -> Option<HandshakeStall> {
    let waits = seen.syn[0] != 0 && seen.ack == 0 && !seen.ended;
    if !waits || now.saturating_sub(seen.syn[0]) < STALL_TIMEOUT {
        return None;
    }
    Some(match (seen.bidirectional, seen.syn_ack[0]) {
        (false, _) => HandshakeStall::Either,
        (true, 0) => HandshakeStall::Server,
        (true, _) => HandshakeStall::Client,
    })
}
