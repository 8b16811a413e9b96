//! What became of fragmented datagrams in a study of two bundled links with jumbo frames: round robin by frame gives
//! one link nearly everything at some sizes. Here all fragments of a datagram take one link.

use std::time::Duration;

use links::link_selection::PacketKey;
use model::config::LinkPolicy::RoundRobin;

use super::world::{BundleTestbed, frame};

/// The IP payload of each fragment of a UDP datagram of this size over links of this MTU.
fn fragments(datagram: usize, mtu: usize) -> Vec<usize> {
    let mut left = datagram + 8;
    let most = mtu - HEADER;
    if left <= most {
        return vec![left];
    }
    let mut out = Vec::new();
    while left > 0 {
        // All fragments except the last carry a multiple of eight bytes (RFC 791 §3.2).
        let now = if left > most { most / 8 * 8 } else { left };
        out.push(now);
        left -= now;
    }
    out
}

/// Bytes of an IPv4 header, which each fragment has.
const HEADER: usize = 20;

/// Per mille of the bytes, headers included, that each of two links carries of a hundred datagrams.
fn shares(datagram: usize, mut next: impl FnMut(usize) -> usize) -> [u64; 2] {
    let mut bytes = [0_u64; 2];
    for number in 0..100 {
        for fragment in fragments(datagram, 9_000) {
            bytes[next(number)] += (fragment + HEADER) as u64;
        }
    }
    let all = bytes[0] + bytes[1];
    bytes.map(|one| (one * 1_000 + all / 2) / all)
}

#[test]
fn round_robin_by_frame_starves_a_link_and_ours_does_not() {
    let Some(world) = BundleTestbed::new() else { return };
    let mut frames = 0;
    let mut number = 1_u32;
    let rows = [
        (8_972, vec![8_980], [500, 500]),
        (8_984, vec![8_976, 16], [996, 4]),
        (10_000, vec![8_976, 1_032], [895, 105]),
        (20_000, vec![8_976, 8_976, 2_056], [500, 500]),
        (30_000, vec![8_976, 8_976, 8_976, 3_080], [598, 402]),
    ];
    for (datagram, cut, naive) in rows {
        assert_eq!(fragments(datagram, 9_000), cut);
        let by_frame = shares(datagram, |_| {
            frames += 1;
            (frames + 1) % 2
        });
        assert_eq!(by_frame, naive, "{datagram}");
        world.bundle(RoundRobin, Duration::ZERO, &[1, 1]);
        let ours = shares(datagram, |of| {
            let whole = cut.len() == 1;
            let packet = PacketKey {
                source: [10, 0, 0, 1].into(),
                destination: [10, 0, 0, 2].into(),
                protocol: 17,
                source_port: 1,
                destination_port: 2,
                fragment: (!whole).then_some((number + of as u32) & 0xffff),
            };
            usize::from(world.send(&frame(&packet, 0)).2.unwrap())
        });
        assert_eq!(ours, [500, 500], "{datagram}");
        // New datagram numbers: the time of the earlier fragments has not expired.
        number += 100;
        frames = 0;
    }
}
