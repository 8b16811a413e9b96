//! Bandwidth of requests: what an exchange puts on the wire in each direction, and what a link carries of it.
//!
//! Whether both directions share the medium decides about doubling: on full duplex each has the link's rate for itself.

use serde::Serialize;

use super::quantity::{BitRate, Bytes, PerSecond};

/// Whether both directions share a link's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// Each direction has the whole rate.
    Full,
    /// They share it.
    Half,
}

/// Bytes of an Ethernet frame beside its IP packet: head, checksum, preamble and the gap after it.
pub const FRAME: Bytes = Bytes(38.0);
/// The least that a packet takes of the wire: a frame of 64 bytes, preamble and gap.
pub const LEAST_FRAME: Bytes = Bytes(84.0);
/// Bytes of IPv4 and TCP heads with timestamps.
const HEADS: f64 = 52.0;

/// One direction's bytes on the wire for a message in segments of `mss` bytes, which is above 0.
pub fn message(bytes: Bytes, mss: Bytes) -> Bytes {
    let segments = (bytes.0 / mss.0).ceil();
    Bytes(bytes.0 + segments * (HEADS + FRAME.0))
}

/// What a link must carry for exchanges of these bytes each way, in its busier sense.
pub fn needed(rate: PerSecond, towards: Bytes, back: Bytes, duplex: Duplex) -> BitRate {
    let each = match duplex {
        Duplex::Full => towards.0.max(back.0),
        Duplex::Half => towards.0 + back.0,
    };
    Bytes(each).at(rate)
}

/// Exchanges a second that a link carries.
pub fn carried(link: BitRate, towards: Bytes, back: Bytes, duplex: Duplex) -> PerSecond {
    let one = needed(PerSecond(1.0), towards, back, duplex);
    PerSecond(link.0 / one.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_belongs_to_shared_media() {
        let rate = PerSecond(3_500.0);
        // A response of 1 KiB crosses the balancer twice: in from the server, out to the client.
        let page = Bytes(1_024.0);
        assert!((needed(rate, page, page, Duplex::Half).megabits() - 57.344).abs() < 1e-9);
        assert!((needed(rate, page, page, Duplex::Full).megabits() - 28.672).abs() < 1e-9);
        // The eight other packets of a connection, which the study left out.
        let rest = Bytes(8.0 * LEAST_FRAME.0).at(rate).megabits();
        assert!((rest - 18.816).abs() < 1e-9);
        let carried = carried(BitRate(100e6), page, page, Duplex::Half);
        assert!((carried.0 - 6_103.5).abs() < 0.1, "{carried:?}");
    }

    #[test]
    fn messages_have_heads() {
        assert_eq!(message(Bytes(0.0), Bytes(1_448.0)), Bytes(0.0));
        assert_eq!(message(Bytes(1_448.0), Bytes(1_448.0)), Bytes(1_538.0), "a full frame");
        assert_eq!(message(Bytes(1_449.0), Bytes(1_448.0)), Bytes(1_629.0));
    }
}
