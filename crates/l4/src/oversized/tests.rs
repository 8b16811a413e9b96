//! Fragments of many packets: reassembled they equal the original, and each fits the MTU.

use proptest::prelude::*;

use super::*;
use crate::plan::encoding::to_mapped_bytes;

const RECORD_ROUTE: u8 = 7;
const STRICT_ROUTE: u8 = 137;

fn head(wrap: Wrap, server: &str, room: u32, length: usize) -> Oversized {
    let server: std::net::IpAddr = server.parse().unwrap();
    let outer = if server.is_ipv4() { "10.0.0.250" } else { "fd00::fa" };
    Oversized {
        outer: to_mapped_bytes(outer.parse().unwrap()),
        server: to_mapped_bytes(server),
        room,
        length: length as u32,
        entropy: 0xabcde,
        wrap_port: 6080,
        wrap: wrap as u8,
        tos: 0x2e,
    }
}

/// An IPv4 packet of UDP with these options, offset (in units of eight bytes) and flags.
fn packet(options: &[u8], offset: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
    let size = HEADER + options.len();
    let mut out = vec![0x40 | (size / 4) as u8, 0x2e];
    out.extend(((size + payload.len()) as u16).to_be_bytes());
    out.extend([0x12, 0x34]);
    out.extend((offset | flags).to_be_bytes());
    out.extend([61, 17, 0, 0, 192, 0, 2, 7, 203, 0, 113, 10]);
    out.extend(options);
    let check = checksum(&out);
    out[10..12].copy_from_slice(&check.to_be_bytes());
    out.extend(payload);
    out
}

/// The inner packet of an outer one with valid headers.
fn unwrapped<'a>(head: &Oversized, outer: &'a [u8]) -> &'a [u8] {
    let wrap = Wrap::of(head.wrap.into()).unwrap();
    let proto = [4, 47, 17][wrap as usize];
    assert!(outer.len() <= head.room as usize, "{} bytes", outer.len());
    let behind = if is_v4(head) {
        assert_eq!(outer[0..2], [0x45, head.tos]);
        assert_eq!(usize::from(u16::from_be_bytes([outer[2], outer[3]])), outer.len());
        assert_eq!(outer[6..10], [0x40, 0, HOPS, proto], "whole, and stays so");
        assert_eq!((&outer[12..16], &outer[16..20]), (&head.outer[12..], &head.server[12..]));
        &outer[20..]
    } else {
        assert_eq!(outer[0..4], [0x62, 0xea, 0xbc, 0xde], "class and label");
        assert_eq!(usize::from(u16::from_be_bytes([outer[4], outer[5]])), outer.len() - 40);
        assert_eq!(outer[6..8], [proto, HOPS]);
        assert_eq!((&outer[8..24], &outer[24..40]), (&head.outer[..], &head.server[..]));
        &outer[40..]
    };
    match wrap {
        Wrap::Ipip => behind,
        Wrap::Gre => {
            assert_eq!(behind[..4], [0, 0, 8, 0]);
            &behind[4..]
        }
        Wrap::Gue => {
            assert_eq!(behind[..4], [0xfc, 0xde, 0x17, 0xc0], "the flow and the port");
            assert_eq!(usize::from(u16::from_be_bytes([behind[4], behind[5]])), behind.len());
            assert_eq!(behind[6..8], [0, 0]);
            &behind[8..]
        }
    }
}

/// A server's reassembly: the payload, and whether more follows.
fn together(first: u16, inner: &[&[u8]]) -> (Vec<u8>, bool) {
    let mut payload = Vec::new();
    let mut more = false;
    for (at, one) in inner.iter().enumerate() {
        let size = usize::from(one[0] & 15) * 4;
        assert_eq!(checksum(&one[..size]), 0, "fragment {at}");
        assert_eq!(usize::from(u16::from_be_bytes([one[2], one[3]])), one.len());
        assert_eq!(
            (&one[4..6], one[8]),
            (&[0x12, 0x34][..], 60),
            "the sender's number, a hop less"
        );
        let word = u16::from_be_bytes([one[6], one[7]]);
        assert_eq!(word & DONT_FRAGMENT, 0);
        let offset = usize::from((word & OFFSET) - first) * 8;
        assert_eq!(offset, payload.len(), "no gap before fragment {at}");
        more = word & MORE_FRAGMENTS != 0;
        assert!(more || at == inner.len() - 1, "only the last one ends it");
        payload.extend_from_slice(&one[size..]);
    }
    (payload, more)
}

proptest! {
    #[test]
    fn fragments_put_together_are_the_packet_and_each_fits_the_way(
        wrap in prop::sample::select(&Wrap::ALL[..]),
        server in prop::sample::select(vec!["10.0.0.1", "fd00::1"]),
        bytes in 1..9_000usize,
        room in 576..9_000u32,
        (offset, more) in (0..100u16, any::<bool>()),
    ) {
        // Fragments other than the last have whole units of eight bytes.
        let bytes = if more { bytes.next_multiple_of(8) } else { bytes };
        let payload: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
        let packet = packet(&[], offset, if more { MORE_FRAGMENTS } else { 0 }, &payload);
        let handed = OversizedPacket { head: head(wrap, server, room, packet.len()), packet };
        let out = fragment_packet(&handed).unwrap();
        let inner: Vec<&[u8]> = out.iter().map(|one| unwrapped(&handed.head, one)).collect();
        prop_assert_eq!(together(offset, &inner), (payload, more));
        let least = bytes.div_ceil(room as usize - outer_bytes(&handed.head) - HEADER - 7);
        prop_assert!(out.len() <= least, "{} fragments, {} would do", out.len(), least);
    }

    #[test]
    fn whatever_is_handed_over_has_an_end(bytes in prop::collection::vec(any::<u8>(), 0..200), room in 0..2_000u32) {
        if let Some(mut handed) = OversizedPacket::parse(&bytes) {
            handed.head.room = room;
            let _ = fragment_packet(&handed);
        }
        let _ = fragment_packet(&OversizedPacket { head: head(Wrap::Gue, "10.0.0.1", room, bytes.len()), packet: bytes });
    }
}

#[test]
fn later_fragments_have_the_options_that_are_copied() {
    let options = [RECORD_ROUTE, 3, 4, 1, STRICT_ROUTE, 3, 4, 0];
    let packet = packet(&options, 0, 0, &[7; 100]);
    let handed = OversizedPacket { head: head(Wrap::Ipip, "10.0.0.1", 100, packet.len()), packet };
    let out = fragment_packet(&handed).unwrap();
    let inner: Vec<&[u8]> = out.iter().map(|one| &one[20..]).collect();
    assert_eq!(inner[0][20..28], options, "the first has all");
    assert_eq!(inner[1][20..24], [STRICT_ROUTE, 3, 4, 0], "later ones have what is copied");
    assert_eq!(together(0, &inner), (vec![7; 100], false));
}

#[test]
fn broken_options_are_no_more_than_left_out() {
    for options in [[200, 0, 0, 0], [200, 9, 0, 0], [1, 1, 1, 200]] {
        let packet = packet(&options, 0, 0, &[7; 100]);
        let handed =
            OversizedPacket { head: head(Wrap::Ipip, "10.0.0.1", 100, packet.len()), packet };
        let out = fragment_packet(&handed).unwrap();
        assert_eq!(out[1][20] & 15, 5, "{options:?}");
    }
}

#[test]
fn packets_that_cannot_be_fragmented_are_errors() {
    let of = |room, packet: Vec<u8>| {
        fragment_packet(&OversizedPacket {
            head: head(Wrap::Ipip, "10.0.0.1", room, packet.len()),
            packet,
        })
    };
    let good = packet(&[], 0, 0, &[7; 100]);
    assert_eq!(of(100, packet(&[], 0, DONT_FRAGMENT, &[7; 100])), Err(FragmentError::DontFragment));
    assert_eq!(of(100, good[..60].to_vec()), Err(FragmentError::Malformed));
    assert_eq!(of(100, packet(&[], 0, 0, &[])), Err(FragmentError::Malformed));
    assert_eq!(
        of(100, [0x65].iter().chain(&good[1..]).copied().collect()),
        Err(FragmentError::Malformed)
    );
    assert_eq!(of(47, good.clone()), Err(FragmentError::Room), "not eight bytes");
    assert_eq!(
        of(100, packet(&[], OFFSET, MORE_FRAGMENTS, &[7; 100])),
        Err(FragmentError::Room),
        "past the end"
    );
    let mut last = good;
    last[8] = 1;
    assert_eq!(of(100, last), Err(FragmentError::Hops));
}
