//! Fragments of datagrams, and the share of each link when packets alternate between links.
//!
//! Every fragment but the last holds a multiple of eight bytes (RFC 791 section 3.2).

/// Bytes of an IPv4 head without options.
const IP_HEAD: u32 = 20;
/// Bytes of a UDP head.
const UDP_HEAD: u32 = 8;

/// The bytes that each fragment of a UDP message carries behind its IP head; `mtu` is at least 28.
pub fn udp_fragments(message: u32, mtu: u32) -> Vec<u32> {
    let mut left = message.saturating_add(UDP_HEAD);
    // The offset of a fragment counts units of eight bytes (RFC 791 §3.1), so each carries eight at least.
    let room = mtu.saturating_sub(IP_HEAD).max(8);
    let each = room / 8 * 8;
    let mut out = Vec::new();
    while left > room {
        out.push(each);
        left -= each;
    }
    out.push(left);
    out
}

/// The share of all bytes that each of `links` carries of a stream of such messages, IP heads included, when packets
/// alternate between the links.
pub fn link_shares(message: u32, mtu: u32, links: usize) -> Vec<f64> {
    let fragments = udp_fragments(message, mtu);
    let mut bytes = vec![0_u64; links.max(1)];
    // After this many messages the sequence of links repeats.
    let turns = (0..links.max(1)).flat_map(|_| &fragments).enumerate();
    turns.for_each(|(turn, size)| bytes[turn % links.max(1)] += u64::from(size + IP_HEAD));
    let all: u64 = bytes.iter().sum();
    bytes.into_iter().map(|bytes| bytes as f64 / all as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_aligned() {
        assert_eq!(udp_fragments(8_972, 9_000), [8_980], "it fits exactly");
        assert_eq!(udp_fragments(8_984, 9_000), [8_976, 16], "not 8980 and 4");
        assert_eq!(udp_fragments(20_000, 9_000), [8_976, 8_976, 2_056]);
        assert_eq!(udp_fragments(0, 9_000), [8]);
    }

    // Rows: L05
    #[test]
    fn turns_over_two_links() {
        for (message, first, second) in
            [(8_984, 99.6, 0.4), (10_000, 89.5, 10.5), (20_000, 50.0, 50.0), (30_000, 59.8, 40.2)]
        {
            let shares = link_shares(message, 9_000, 2);
            let near = |share: f64, expected: f64| (share * 100.0 - expected).abs() < 0.05;
            assert!(near(shares[0], first) && near(shares[1], second), "{message}: {shares:?}");
        }
    }
}
