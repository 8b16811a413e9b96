//! Links and tunnels: one packet in every encapsulation, with the same path in both directions.

use super::*;
use crate::packet::TcpPacket;

fn tcp(reversed: bool) -> Vec<u8> {
    let (a, b) = if reversed { (80_u16, 4_000_u16) } else { (4_000, 80) };
    let head = [&a.to_be_bytes()[..], &b.to_be_bytes(), &[0, 0, 0, 1, 0, 0, 0, 2]].concat();
    [&head[..], &[0x50, 16, 1, 0, 0, 0, 0, 0], b"hello"].concat()
}

fn v4(protocol: u8, reversed: bool, inside: &[u8]) -> Vec<u8> {
    let mut ends = [[10, 0, 0, 1], [10, 0, 0, 2]];
    if reversed {
        ends.reverse();
    }
    let total = (20 + inside.len() as u16).to_be_bytes();
    let head = [0x45, 0, total[0], total[1], 0, 7, 0, 0, 64, protocol, 0, 0];
    [&head[..], &ends.concat(), inside].concat()
}

fn v6(next: u8, reversed: bool, inside: &[u8]) -> Vec<u8> {
    let mut ends = [[0x20; 16], [0x21; 16]];
    if reversed {
        ends.reverse();
    }
    let length = (inside.len() as u16).to_be_bytes();
    [&[0x60, 0, 0, 0, length[0], length[1], next, 64][..], &ends.concat(), inside].concat()
}

fn ethernet(kind: u16, inside: &[u8]) -> Vec<u8> {
    // Short frames are padded on the wire.
    [&[2; 12][..], &kind.to_be_bytes(), inside, &[0; 8]].concat()
}

/// A subnetwork header before IPv4.
const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

fn plain(reversed: bool) -> Vec<u8> {
    ethernet(0x0800, &v4(6, reversed, &tcp(reversed)))
}

fn udp(port: u16, head: &[u8], inside: &[u8]) -> Vec<u8> {
    let length = (8 + head.len() + inside.len()) as u16;
    let fields = [40_000_u16, port, length, 0].map(u16::to_be_bytes);
    [&fields.concat()[..], head, inside].concat()
}

/// Finds the TCP packet; returns its payload length and path.
fn found(link: u16, bytes: &[u8]) -> Result<(u32, u64), NonTcpFrame> {
    let frame = CapturedFrame { time_ns: 0, link, bytes, original_len: bytes.len() as u32 };
    let carried = match find_segment(&frame)? {
        CarriedSegment::Tcp(carried) => carried,
        CarriedSegment::Udp(_) => return Err(NonTcpFrame::NotTcp(17)),
        CarriedSegment::Notice(_) => return Err(NonTcpFrame::NotTcp(1)),
    };
    let packet = TcpPacket::read(&carried, 0, 1).map_err(|_| NonTcpFrame::Broken)?;
    assert_eq!(packet.source.port.min(packet.destination.port), 80);
    Ok((packet.length, packet.path))
}

type FrameWrapper = fn(bool) -> (u16, Vec<u8>);

/// Every wrapping, by name.
const WRAPS: [(&str, FrameWrapper); 33] = [
    ("ethernet", |r| (1, ethernet(0x0800, &v4(6, r, &tcp(r))))),
    ("ethernet v6", |r| (1, ethernet(0x86dd, &v6(6, r, &tcp(r))))),
    ("vlan", |r| (1, ethernet(0x8100, &[&[0, 5, 8, 0][..], &v4(6, r, &tcp(r))].concat()))),
    ("qinq", |r| {
        let tags = [0, 9, 0x81, 0, 0, 5, 8, 0];
        (1, ethernet(0x88a8, &[&tags[..], &v4(6, r, &tcp(r))].concat()))
    }),
    ("pppoe", |r| {
        let head = [0x11, 0, 0, 3, 0, 60, 0, 0x21];
        (1, ethernet(0x8864, &[&head[..], &v4(6, r, &tcp(r))].concat()))
    }),
    ("mpls", |r| {
        let labels = [0, 1, 0, 64, 0, 2, 1, 64];
        (1, ethernet(0x8847, &[&labels[..], &v4(6, r, &tcp(r))].concat()))
    }),
    ("raw 12", |r| (12, v4(6, r, &tcp(r)))),
    ("raw 101", |r| (101, v6(6, r, &tcp(r)))),
    ("raw 228", |r| (228, v4(6, r, &tcp(r)))),
    ("null", |r| (0, [&[2, 0, 0, 0][..], &v4(6, r, &tcp(r))].concat())),
    ("loop", |r| (108, [&[0, 0, 0, 24][..], &v6(6, r, &tcp(r))].concat())),
    ("sll", |r| (113, [&[0; 14][..], &[8, 0], &v4(6, r, &tcp(r))].concat())),
    ("sll2", |r| (276, [&[8, 0][..], &[0; 18], &v4(6, r, &tcp(r))].concat())),
    ("4in4", |r| (1, ethernet(0x0800, &v4(4, r, &v4(6, r, &tcp(r)))))),
    ("6in4", |r| (1, ethernet(0x0800, &v4(41, r, &v6(6, r, &tcp(r)))))),
    ("4in6", |r| (1, ethernet(0x86dd, &v6(4, r, &v4(6, r, &tcp(r)))))),
    ("gre with a key", |r| {
        let head = [0x20, 0, 8, 0, 0, 0, 0, 42];
        (1, ethernet(0x0800, &v4(47, r, &[&head[..], &v4(6, r, &tcp(r))].concat())))
    }),
    ("vxlan", |r| {
        (1, ethernet(0x0800, &v4(17, r, &udp(4_789, &[8, 0, 0, 0, 0, 0, 9, 0], &plain(r)))))
    }),
    ("vxlan of linux", |r| (101, v4(17, r, &udp(8_472, &[8, 0, 0, 0, 0, 0, 9, 0], &plain(r))))),
    ("geneve", |r| (101, v4(17, r, &udp(6_081, &[0, 0, 0x65, 0x58, 0, 0, 9, 0], &plain(r))))),
    ("geneve with options", |r| {
        let head = [1, 0, 0x65, 0x58, 0, 0, 9, 0, 1, 2, 3, 4];
        (101, v4(17, r, &udp(6_081, &head, &plain(r))))
    }),
    ("erspan I", |r| (101, v4(47, r, &[&[0, 0, 0x88, 0xbe][..], &plain(r)].concat()))),
    ("erspan II", |r| {
        let head = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 5, 0, 0, 0, 0, 0, 0];
        (101, v4(47, r, &[&head[..], &plain(r)].concat()))
    }),
    ("erspan III", |r| {
        let head = [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        (101, v4(47, r, &[&head[..], &plain(r)].concat()))
    }),
    ("ppp", |r| (9, [&[0xff, 3, 0, 0x21][..], &v4(6, r, &tcp(r))].concat())),
    ("ppp in short", |r| (9, [&[0x21][..], &v4(6, r, &tcp(r))].concat())),
    ("hdlc of cisco", |r| (104, [&[0x0f, 0, 8, 0][..], &v4(6, r, &tcp(r))].concat())),
    ("pppoe alone", |r| (51, [&[0x11, 0, 0, 3, 0, 60, 0, 0x21][..], &v4(6, r, &tcp(r))].concat())),
    ("fddi", |r| (10, [&[0x50; 13][..], &SNAP, &v4(6, r, &tcp(r))].concat())),
    ("802.3", |r| (1, ethernet(0x40, &[&SNAP[..], &v4(6, r, &tcp(r))].concat()))),
    ("802.11", |r| {
        let mut head = [0; 26];
        head[0] = 0x88;
        (105, [&head[..], &SNAP, &v4(6, r, &tcp(r))].concat())
    }),
    ("nflog", |r| {
        let packet = v4(6, r, &tcp(r));
        let length = (packet.len() as u16 + 4).to_le_bytes();
        let head = [2, 0, 0, 0, 8, 0, 1, 0, 0, 0, 0, 0, length[0], length[1], 9, 0];
        (239, [&head[..], &packet].concat())
    }),
    ("pktap", |r| {
        let mut head = [0; 108];
        head[0] = 108;
        head[8] = 1;
        (258, [&head[..], &plain(r)].concat())
    }),
];

#[test]
fn every_wrapping_is_peeled_and_has_one_path_both_ways() {
    let mut paths = std::collections::BTreeSet::new();
    for (name, wrap) in WRAPS {
        let there = wrap(false);
        let back = wrap(true);
        let one = found(there.0, &there.1).unwrap_or_else(|other| panic!("{name}: {other:?}"));
        assert_eq!(one.0, 5, "{name}: padding counted as payload");
        assert_eq!(found(back.0, &back.1), Ok(one), "{name}: another path back");
        paths.insert(one.1);
    }
    assert_eq!(paths.len(), 8, "tags and ends of tunnels are told apart, the rest has the path 0");
}

#[test]
fn a_cut_frame_is_broken_wherever_it_is_cut() {
    for (name, wrap) in WRAPS {
        let (link, bytes) = wrap(false);
        let whole = found(link, &bytes);
        for end in 0..bytes.len() {
            let cut = found(link, &bytes[..end]);
            assert!(cut.is_err() || cut == whole, "{name} cut at {end}: {cut:?}");
        }
    }
}

#[test]
fn lengths_left_to_the_card_are_those_of_the_wire() {
    let mut packet = v4(6, false, &tcp(false));
    packet[2..4].copy_from_slice(&[0, 0]);
    assert_eq!(found(101, &packet).map(|found| found.0), Ok(5));
}

#[test]
fn frames_without_tcp_have_a_reason() {
    assert_eq!(found(1, &ethernet(0x0806, &[0; 28])), Err(NonTcpFrame::NotIp(0x0806)));
    assert_eq!(found(1, &ethernet(0x0800, &v4(17, false, &[0; 8]))), Err(NonTcpFrame::NotTcp(17)));
    assert_eq!(found(147, &[0; 60]), Err(NonTcpFrame::Link(147)));
    let mut later = v4(6, false, &tcp(false));
    later[7] = 9;
    assert_eq!(found(12, &later), Err(NonTcpFrame::Fragment));
    let mut deep = v4(6, false, &tcp(false));
    for _ in 0..30 {
        deep = v4(4, false, &deep);
    }
    assert_eq!(found(12, &deep), Err(NonTcpFrame::TooDeep));
}
