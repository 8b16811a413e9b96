//! What it takes to tell another member of connections: the sizes of this program's own records and packets.
//!
//! `ha::replica` writes by these numbers, and forecasts reckon with them. The formula of the study is in `replication`.

use std::time::Duration;

use serde::Serialize;

use super::quantity::{BitRate, ByteCount, PerSecond};
use crate::config::PacketServiceConfig;

/// Bytes of a record of a connection whose answers go past us: kind, hash, server, phase, ticks left.
pub const FLOW_RECORD_BYTES: usize = 1 + 8 + 4 + 1 + 2;
/// Bytes of one of a client that sticks to a server: kind, hash, server, ticks left.
pub const AFFINITY_RECORD_BYTES: usize = 1 + 8 + 4 + 2;
/// Bytes of one of what has become of a translated connection: kind, hash, phase, ticks left.
pub const PHASE_RECORD_BYTES: usize = 1 + 8 + 1 + 2;
/// Bytes more where a connection began with a SYN cookie.
pub const SYN_COOKIE_BYTES: usize = 4;
pub const MAX_RECORD_BYTES: usize = translated_record_bytes(true, false) + SYN_COOKIE_BYTES;

/// Bytes before the records of a packet.
pub const HEADER_BYTES: usize = 32;
/// Bytes of the signature after them.
pub const SIGNATURE_BYTES: usize = 32;
/// The largest packet: it passes a link of 1,500 bytes in either family, unfragmented.
pub const MAX_PACKET_BYTES: usize = 1_452;
/// Bytes of records in one packet.
pub const RECORD_SPACE_BYTES: usize = MAX_PACKET_BYTES - HEADER_BYTES - SIGNATURE_BYTES;
/// Bytes of Ethernet, IPv4 and UDP before each; members that speak IPv6 send 20 more.
pub const NETWORK_HEADER_BYTES: usize = 14 + 20 + 8;

/// Between two rounds: what changes more often within one is told once.
pub const ROUND_INTERVAL: Duration = Duration::from_millis(20);
/// The longest and the shortest time in which everything is told anew, so that what is idle here is not forgotten there.
const REFRESH_INTERVAL_RANGE: (Duration, Duration) =
    (Duration::from_secs(30), Duration::from_millis(400));

/// Bytes of a translated connection, whole: kind, bits and ticks left, client and service with their ports, our address
/// towards the server unless the client's is kept, our port, the server.
pub const fn translated_record_bytes(v6: bool, kept: bool) -> usize {
    let address = if v6 { 16 } else { 4 };
    let ours = if kept { 0 } else { address };
    4 + 2 * (address + 2) + ours + 2 + 4
}

/// The shortest time after which something that is told of a service is forgotten without packets.
pub fn shortest_timeout(packets: &PacketServiceConfig) -> Duration {
    let sticky = packets.sticky.as_ref();
    let timers = &packets.timers;
    let sticky = sticky.map_or(Duration::MAX, |sticky| sticky.time);
    sticky.min(timers.stale).min(timers.half_closed).min(timers.udp)
}

/// In which time everything is told anew, where so much is the shortest time after which something is forgotten.
pub fn refresh_interval(shortest: Duration) -> Duration {
    (shortest / 3).clamp(REFRESH_INTERVAL_RANGE.1, REFRESH_INTERVAL_RANGE.0)
}

/// Bytes of records that tell of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSizes {
    pub open_bytes: usize,
    pub close_bytes: usize,
    pub refresh_bytes: usize,
}

impl RecordSizes {
    /// Of `mac` and `tunnel`, in either family.
    pub const FLOW: RecordSizes = RecordSizes {
        open_bytes: FLOW_RECORD_BYTES,
        close_bytes: FLOW_RECORD_BYTES,
        refresh_bytes: FLOW_RECORD_BYTES,
    };

    pub const fn for_translated(v6: bool, kept: bool) -> RecordSizes {
        let whole = translated_record_bytes(v6, kept);
        RecordSizes { open_bytes: whole, close_bytes: PHASE_RECORD_BYTES, refresh_bytes: whole }
    }

    /// Bytes on the wire of its beginning and end, in full packets.
    pub fn change_bytes(self) -> ByteCount {
        bytes_on_wire((self.open_bytes + self.close_bytes) as f64)
    }
}

/// What telling takes of the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReplicationTraffic {
    /// Connections a second.
    pub connections: PerSecond,
    /// Beginnings and ends.
    pub changes: BitRate,
    /// What stands, told anew.
    pub anew: BitRate,
}

/// Of so many connections a second, each of which stands for `held` and is told anew in `anew`.
pub fn estimate_replication(
    told: RecordSizes,
    connections: PerSecond,
    held: Duration,
    anew: Duration,
) -> ReplicationTraffic {
    let rounds = 1.0 / ROUND_INTERVAL.as_secs_f64();
    // Each round ends with a packet that is not full.
    let ends = rounds.min(connections.0 * 2.0) * PACKET_OVERHEAD_BYTES as f64;
    let standing = connections.0 * held.as_secs_f64();
    let again = standing / anew.as_secs_f64() * told.refresh_bytes as f64;
    ReplicationTraffic {
        connections,
        changes: ByteCount(told.change_bytes().0 * connections.0 + ends).rate_at(PerSecond(1.0)),
        anew: bytes_on_wire(again).rate_at(PerSecond(1.0)),
    }
}

/// Bytes of a packet that are no records.
const PACKET_OVERHEAD_BYTES: usize = NETWORK_HEADER_BYTES + HEADER_BYTES + SIGNATURE_BYTES;

/// Bytes on the wire of so many of records. A packet is full when another longest record may not fit.
fn bytes_on_wire(records: f64) -> ByteCount {
    ByteCount(
        records
            * (1.0 + PACKET_OVERHEAD_BYTES as f64 / (RECORD_SPACE_BYTES - MAX_RECORD_BYTES) as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `tests/prove replication` has measured.
    const PROOF: &str = include_str!("../../../../docs/proof/replication.md");

    /// Bytes a connection on the wire, at 20,000 connections a second: beginnings and ends, handshakes that took longer than
    /// a round, and some of what stood told anew.
    fn measured(name: &str) -> f64 {
        let mut lines = PROOF.lines();
        let line = lines.find(|line| line.starts_with(&format!("proof: {name}: "))).unwrap();
        let (before, _) = line.split_once(" bytes a connection").unwrap();
        before.rsplit_once(' ').unwrap().1.parse().unwrap()
    }

    #[test]
    fn what_was_measured_is_what_changes_and_some_of_what_is_told_anew() {
        for (name, told) in [
            ("mac V4", RecordSizes::FLOW),
            ("mac V6", RecordSizes::FLOW),
            ("tunnel V4", RecordSizes::FLOW),
            ("tunnel V6", RecordSizes::FLOW),
            ("nat V4", RecordSizes::for_translated(false, false)),
            ("nat V6", RecordSizes::for_translated(true, false)),
        ] {
            // Each stands for a period at most, so it is told anew once at most.
            let period = refresh_interval(Duration::MAX);
            let found = estimate_replication(told, PerSecond(20_000.0), period, period);
            let each = |rate: BitRate| rate.0 / 8.0 / 20_000.0;
            let changes = each(found.changes);
            let again = each(found.anew);
            let measured = measured(name);
            assert!((0.85..1.0).contains(&(changes / measured)), "{name}: {changes} of {measured}");
            assert!(changes + again > measured, "{name}: {changes} and {again}, {measured}");
        }
    }

    #[test]
    fn few_connections_cost_a_packet_for_each_notice() {
        let found = |rate| {
            let second = Duration::from_secs(1);
            estimate_replication(RecordSizes::FLOW, PerSecond(rate), second, second * 30).changes.0
                / 8.0
        };
        let alone = RecordSizes::FLOW.change_bytes().0 + 2.0 * PACKET_OVERHEAD_BYTES as f64;
        assert!((found(1.0) - alone).abs() < 1e-9);
        assert!(found(100_000.0) / 100_000.0 < RecordSizes::FLOW.change_bytes().0 * 1.01);
    }

    #[test]
    fn shorter_times_are_told_anew_sooner() {
        let rows = [(300_000, 30_000), (30_000, 10_000), (1_000, 400)];
        for (shortest, period) in rows {
            assert_eq!(
                refresh_interval(Duration::from_millis(shortest)),
                Duration::from_millis(period)
            );
        }
    }
}
