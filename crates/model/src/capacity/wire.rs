//! Bandwidth of requests: the bytes of an exchange on the wire in each direction, and the exchanges that a link
//! carries.
//!
//! On full duplex each direction has the link's whole rate; on half duplex both share it.

use serde::Serialize;

use super::quantity::{BitRate, ByteCount, PerSecond};

/// Whether both directions share a link's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// Each direction has the whole rate.
    Full,
    /// Both directions share the rate.
    Half,
}

/// Bytes of an Ethernet frame beside its IP packet: head, checksum, preamble and the gap after it.
pub const FRAME: ByteCount = ByteCount(38.0);
/// The least that a packet takes of the wire: a frame of 64 bytes, preamble and gap.
pub const LEAST_FRAME: ByteCount = ByteCount(84.0);
/// Bytes of IPv4 and TCP heads with timestamps.
/// 20 bytes of IPv4, 20 of TCP and 12 of the timestamps option (RFC 7323 §3.2, padded).
const HEADS: f64 = 52.0;

/// One direction's bytes on the wire for a message in segments of `mss` bytes; `mss` is above 0.
pub fn message_bytes_on_wire(bytes: ByteCount, mss: ByteCount) -> ByteCount {
    let segments = (bytes.0 / mss.0).ceil();
    ByteCount(bytes.0 + segments * (HEADS + FRAME.0))
}

/// The link rate for exchanges of these bytes each way, in the busier direction.
pub fn needed_rate(
    rate: PerSecond,
    towards: ByteCount,
    back: ByteCount,
    duplex: Duplex,
) -> BitRate {
    let each = match duplex {
        Duplex::Full => towards.0.max(back.0),
        Duplex::Half => towards.0 + back.0,
    };
    ByteCount(each).rate_at(rate)
}

/// Exchanges a second that a link carries.
pub fn carried_exchanges(
    link: BitRate,
    towards: ByteCount,
    back: ByteCount,
    duplex: Duplex,
) -> PerSecond {
    let single = needed_rate(PerSecond(1.0), towards, back, duplex);
    PerSecond(link.0 / single.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_belongs_to_shared_media() {
        let rate = PerSecond(3_500.0);
        // A response of 1 KiB crosses the balancer twice: in from the server, out to the client.
        let page = ByteCount(1_024.0);
        assert!((needed_rate(rate, page, page, Duplex::Half).megabits() - 57.344).abs() < 1e-9);
        assert!((needed_rate(rate, page, page, Duplex::Full).megabits() - 28.672).abs() < 1e-9);
        // The eight other packets of a connection, which the study left out.
        let rest = ByteCount(8.0 * LEAST_FRAME.0).rate_at(rate).megabits();
        assert!((rest - 18.816).abs() < 1e-9);
        let carried = carried_exchanges(BitRate(100e6), page, page, Duplex::Half);
        assert!((carried.0 - 6_103.5).abs() < 0.1, "{carried:?}");
    }

    #[test]
    fn messages_have_heads() {
        assert_eq!(message_bytes_on_wire(ByteCount(0.0), ByteCount(1_448.0)), ByteCount(0.0));
        assert_eq!(
            message_bytes_on_wire(ByteCount(1_448.0), ByteCount(1_448.0)),
            ByteCount(1_538.0),
            "a full frame"
        );
        assert_eq!(
            message_bytes_on_wire(ByteCount(1_449.0), ByteCount(1_448.0)),
            ByteCount(1_629.0)
        );
    }
}
