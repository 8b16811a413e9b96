//! Traffic between two balancers that replicate their connections to each other: updates in packets.

use super::quantity::{BitRate, ByteCount, PerSecond};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplicationFraming {
    pub update: ByteCount,
    pub batch: u32,
    /// Bytes of a packet without its updates, link header included.
    pub head: ByteCount,
}

/// The traffic of updates that are sent together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackedUpdates {
    pub packets: u64,
    pub bytes: ByteCount,
}

impl ReplicationFraming {
    /// The framing of the study that this forecast repeats: 43 bytes, 26 per packet, 54 of headers.
    pub const STUDY: ReplicationFraming =
        ReplicationFraming { update: ByteCount(43.0), batch: 26, head: ByteCount(54.0) };

    /// Packets and bytes for updates that are sent together.
    pub fn pack_updates(self, updates: u64) -> PackedUpdates {
        let packets = updates.div_ceil(u64::from(self.batch.max(1)));
        let bytes = ByteCount(updates as f64 * self.update.0 + packets as f64 * self.head.0);
        PackedUpdates { packets, bytes }
    }

    /// The rate on the link for connections that each need `notices` updates, when updates wait for full packets.
    pub fn update_rate(self, connections: PerSecond, notices: u32) -> BitRate {
        let updates = (connections.0 * f64::from(notices)).ceil() as u64;
        self.pack_updates(updates).bytes.rate_at(PerSecond(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_studys_rates() {
        let megabits = |rate, notices| {
            ReplicationFraming::STUDY.update_rate(PerSecond(rate), notices).megabits()
        };
        for (rate, notices, expected) in [
            (3_500.0, 1, 1.262_32),
            // The study's text assumes two notices a connection; its figures count one.
            (3_500.0, 2, 2.524_64),
            (0.0, 1, 0.0),
            (1.0, 1, 0.000_776),
            (26.0, 1, 0.009_376),
            (27.0, 1, 0.010_152),
        ] {
            assert!((megabits(rate, notices) - expected).abs() < 1e-9, "{rate} × {notices}");
        }
        let second = PackedUpdates { packets: 135, bytes: ByteCount(157_790.0) };
        assert_eq!(ReplicationFraming::STUDY.pack_updates(3_500), second);
        assert_eq!(ReplicationFraming::STUDY.pack_updates(26).bytes, ByteCount(1_172.0));
    }
}
