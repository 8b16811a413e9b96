//! Send times of datagrams that must not exceed a link's rate. Pure.
//!
//! A network card accepts datagrams at its link's rate and blocks the sender. At a bottleneck further along the path
//! nothing does, so the excess is lost there. Of a fragmented datagram, one lost fragment loses the whole.

use std::time::Duration;

/// Bytes of the Ethernet and IPv4 headers of a frame, of a fragment's payload, and of the UDP header.
const HEADS: u64 = 14 + 20;
/// 1,500 bytes less the header of IPv4.
const FRAGMENT: u64 = 1_480;
const UDP: u64 = 8;

/// Bytes of a datagram's frames on Ethernet with an MTU of 1,500 and IPv4. IPv6 needs 20 more for each frame, which are
/// not counted.
pub fn wire_bytes(message: u64) -> u64 {
    let carried = message + UDP;
    carried + carried.div_ceil(FRAGMENT) * HEADS
}

/// When the next datagram may be sent after this many, relative to the first: the link is busy with those until then.
pub fn send_due(messages: u64, message: u64, bits_per_second: u64) -> Duration {
    let bits = u128::from(messages) * u128::from(wire_bytes(message)) * 8;
    let nanos = bits * 1_000_000_000 / u128::from(bits_per_second.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_have_heads_of_their_own() {
        let rows = [(0, 42), (64, 106), (1_472, 1_514), (1_473, 1_549), (8_984, 8_992 + 7 * 34)];
        for (message, bytes) in rows {
            assert_eq!(wire_bytes(message), bytes, "{message}");
        }
    }

    #[test]
    fn a_second_takes_as_much_as_the_rate() {
        assert_eq!(send_due(0, 1_472, 200_000_000), Duration::ZERO);
        // 16,512 frames of 12,112 bits are 199,993,344 bits.
        assert_eq!(send_due(16_512, 1_472, 200_000_000), Duration::from_nanos(999_966_720));
        assert!(send_due(u64::MAX, 65_507, 1) > Duration::from_secs(1 << 33), "more than any run");
        assert!(send_due(1, 1, 0) > Duration::ZERO, "a rate of nothing is one of almost nothing");
    }
}
