//! Traffic of flow replication: the sizes of this program's records and packets.
//!
//! `ha::replica` uses these numbers to write, and forecasts use them too. The formula of the study is in
//! `replication_framing.rs`.

use std::time::Duration;

use serde::Serialize;

use super::quantity::{BitRate, ByteCount, PerSecond};
use crate::config::PacketServiceConfig;

/// A flow whose responses bypass the balancer: kind, hash, server, phase, ticks left.
pub const FLOW_RECORD_BYTES: usize = 1 + 8 + 4 + 1 + 2;
/// The server of a sticky client: kind, hash, server, ticks left.
pub const AFFINITY_RECORD_BYTES: usize = 1 + 8 + 4 + 2;
/// A phase change of a translated connection: kind, hash, phase, ticks left.
pub const PHASE_RECORD_BYTES: usize = 1 + 8 + 1 + 2;
/// Additional bytes if a connection started with a SYN cookie.
pub const SYN_COOKIE_BYTES: usize = 4;
pub const MAX_RECORD_BYTES: usize = translated_record_bytes(true, false) + SYN_COOKIE_BYTES;

/// Bytes before the records of a packet.
pub const HEADER_BYTES: usize = 32;
/// Bytes of the signature after the records.
pub const SIGNATURE_BYTES: usize = 32;
/// The largest packet: it passes a link of 1,500 bytes in either family, unfragmented.
pub const MAX_PACKET_BYTES: usize = 1_452;
/// Bytes of records in one packet.
pub const RECORD_SPACE_BYTES: usize = MAX_PACKET_BYTES - HEADER_BYTES - SIGNATURE_BYTES;
/// Bytes of Ethernet, IPv4 and UDP before each packet; members that speak IPv6 send 20 more.
pub const NETWORK_HEADER_BYTES: usize = 14 + 20 + 8;

/// Time between two rounds. A flow that changes several times within a round is sent once, which bounds the traffic.
pub const ROUND_INTERVAL: Duration = Duration::from_millis(20);
/// Bounds of the interval in which all records are sent again, so that the other member does not forget idle flows.
const REFRESH_INTERVAL_RANGE: (Duration, Duration) =
    (Duration::from_secs(30), Duration::from_millis(400));

/// Bytes of a whole translated connection: kind, flags and ticks left, client and service with their ports, the
/// balancer's port, the server. The balancer's address towards the server is added unless the client's own address is
/// used.
pub const fn translated_record_bytes(v6: bool, client_source: bool) -> usize {
    let address = if v6 { 16 } else { 4 };
    let source = if client_source { 0 } else { address };
    4 + 2 * (address + 2) + source + 2 + 4
}

/// The shortest time after which a replicated record of a service expires without packets.
pub fn shortest_timeout(packets: &PacketServiceConfig) -> Duration {
    let sticky = packets.sticky.as_ref();
    let timers = &packets.timers;
    let sticky = sticky.map_or(Duration::MAX, |sticky| sticky.time);
    sticky.min(timers.stale).min(timers.half_closed).min(timers.udp)
}

/// The interval in which all records are sent again. A third of the shortest expiry, so that two sendings may be lost.
pub fn refresh_interval(shortest: Duration) -> Duration {
    (shortest / 3).clamp(REFRESH_INTERVAL_RANGE.1, REFRESH_INTERVAL_RANGE.0)
}

/// Bytes of the records of one connection.
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

    pub const fn for_translated(v6: bool, client_source: bool) -> RecordSizes {
        let whole = translated_record_bytes(v6, client_source);
        RecordSizes { open_bytes: whole, close_bytes: PHASE_RECORD_BYTES, refresh_bytes: whole }
    }

    /// Bytes on the wire for the start and the end of a connection, in full packets.
    pub fn change_bytes(self) -> ByteCount {
        bytes_on_wire((self.open_bytes + self.close_bytes) as f64)
    }
}

/// The link rate that replication needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReplicationTraffic {
    pub connections: PerSecond,
    pub changes: BitRate,
    /// Open connections that are sent again.
    pub anew: BitRate,
}

/// For `connections` a second, each of which is open for `held` and sent again every `anew`.
pub fn estimate_replication(
    sizes: RecordSizes,
    connections: PerSecond,
    held: Duration,
    anew: Duration,
) -> ReplicationTraffic {
    let rounds = 1.0 / ROUND_INTERVAL.as_secs_f64();
    // Each round ends with a packet that is not full.
    let ends = rounds.min(connections.0 * 2.0) * PACKET_OVERHEAD_BYTES as f64;
    let standing = connections.0 * held.as_secs_f64();
    let refresh = standing / anew.as_secs_f64() * sizes.refresh_bytes as f64;
    ReplicationTraffic {
        connections,
        changes: ByteCount(sizes.change_bytes().0 * connections.0 + ends).rate_at(PerSecond(1.0)),
        anew: bytes_on_wire(refresh).rate_at(PerSecond(1.0)),
    }
}

/// Bytes of a packet beside its records.
const PACKET_OVERHEAD_BYTES: usize = NETWORK_HEADER_BYTES + HEADER_BYTES + SIGNATURE_BYTES;

/// Bytes on the wire for these bytes of records. A packet is full when the longest record may no longer fit.
fn bytes_on_wire(records: f64) -> ByteCount {
    ByteCount(
        records
            * (1.0 + PACKET_OVERHEAD_BYTES as f64 / (RECORD_SPACE_BYTES - MAX_RECORD_BYTES) as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of `tests/prove replication`.
    const PROOF: &str = include_str!("../../../../docs/proof/replication.md");

    /// Bytes a connection on the wire, at 20,000 connections a second: starts and ends, handshakes that took longer
    /// than a round, and some refreshes.
    fn measured(name: &str) -> f64 {
        let mut lines = PROOF.lines();
        let line = lines.find(|line| line.starts_with(&format!("proof: {name}: "))).unwrap();
        let (before, _) = line.split_once(" bytes a connection").unwrap();
        before.rsplit_once(' ').unwrap().1.parse().unwrap()
    }

    #[test]
    fn measured_traffic_is_changes_and_some_refreshes() {
        for (name, sizes) in [
            ("mac V4", RecordSizes::FLOW),
            ("mac V6", RecordSizes::FLOW),
            ("tunnel V4", RecordSizes::FLOW),
            ("tunnel V6", RecordSizes::FLOW),
            ("nat V4", RecordSizes::for_translated(false, false)),
            ("nat V6", RecordSizes::for_translated(true, false)),
        ] {
            // Each connection is open for at most one refresh interval, so it is sent again at most once.
            let period = refresh_interval(Duration::MAX);
            let traffic = estimate_replication(sizes, PerSecond(20_000.0), period, period);
            let each = |rate: BitRate| rate.0 / 8.0 / 20_000.0;
            let changes = each(traffic.changes);
            let refresh = each(traffic.anew);
            let measured = measured(name);
            assert!((0.85..1.0).contains(&(changes / measured)), "{name}: {changes} of {measured}");
            assert!(changes + refresh > measured, "{name}: {changes} and {refresh}, {measured}");
        }
    }

    #[test]
    fn few_connections_cost_a_packet_for_each_notice() {
        let rate = |rate| {
            let second = Duration::from_secs(1);
            estimate_replication(RecordSizes::FLOW, PerSecond(rate), second, second * 30).changes.0
                / 8.0
        };
        let alone = RecordSizes::FLOW.change_bytes().0 + 2.0 * PACKET_OVERHEAD_BYTES as f64;
        assert!((rate(1.0) - alone).abs() < 1e-9);
        assert!(rate(100_000.0) / 100_000.0 < RecordSizes::FLOW.change_bytes().0 * 1.01);
    }

    #[test]
    fn shorter_timeouts_are_refreshed_sooner() {
        let rows = [(300_000, 30_000), (30_000, 10_000), (1_000, 400)];
        for (shortest, period) in rows {
            assert_eq!(
                refresh_interval(Duration::from_millis(shortest)),
                Duration::from_millis(period)
            );
        }
    }
}
