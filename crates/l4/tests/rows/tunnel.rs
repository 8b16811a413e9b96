//! Rows of `tunnel`: every wrap and every pair of families, byte by byte.

use l4::abi::{self, Method, Outcome, Wrap};

use super::packet::{OURS, SYN, TCP, TestPacket, checksum, tcp, udp};
use super::usual::{CLIENT4, CLIENT6, VIP4, VIP6};
use super::world::{DatapathTestbed, PASS, TX, ip, link, mapped};

/// A service of both families whose one server is `server`, wrapped in `wrap`.
fn world(wrap: Wrap, server: &str) -> Option<DatapathTestbed> {
    let world = DatapathTestbed::new()?;
    for (index, address) in [(0, "203.0.113.10"), (1, "2001:db8:2::10")] {
        world.service(index, Method::Tunnel);
        world.listen(address, 80, TCP, index);
        world.listen(address, 80, 17, index);
        world.pool(index, &[0]);
    }
    set(&world, wrap, server);
    Some(world)
}

fn set(world: &DatapathTestbed, wrap: Wrap, server: &str) {
    let mut entry = world.server(0, server, 0);
    let outer = if ip(server).is_ipv4() { "10.0.0.250" } else { "fd00::fa" };
    entry.outer = mapped(ip(outer));
    entry.wrap = wrap as u8;
    entry.wrap_port = 6080;
    world.plane.servers.set(&0, &entry).unwrap();
}

/// The expected inner packet: one hop less.
fn inside(packet: &TestPacket) -> Vec<u8> {
    TestPacket { ttl: packet.ttl - 1, ..packet.clone() }.ip()
}

// Rows: I06
#[test]
fn each_wrap_and_pair_of_families() {
    let Some(world) = world(Wrap::Ipip, "10.0.0.1") else { return };
    let packets = [
        ("IPv4", tcp(CLIENT4, VIP4, SYN)),
        ("IPv6", tcp(CLIENT6, VIP6, SYN)),
        ("UDP", udp(CLIENT4, VIP4)),
        ("tagged", TestPacket { tags: vec![(0x8100, 5)], ..tcp(CLIENT4, VIP4, SYN) }),
        (
            "two tags",
            TestPacket { tags: vec![(0x88a8, 5), (0x8100, 6)], ..tcp(CLIENT6, VIP6, SYN) },
        ),
        ("TOS", TestPacket { tos: 0x2e, keep_whole: false, ..tcp(CLIENT4, VIP4, SYN) }),
    ];
    for wrap in Wrap::ALL {
        for (server, header) in [("10.0.0.1", 20), ("fd00::1", 40)] {
            set(&world, wrap, server);
            for (text, packet) in &packets {
                let text = format!("{text} in {} to {server}", wrap.name());
                let out = world.expect(&text, &packet.bytes(), Outcome::Forwarded, TX);
                let l3 = 14 + packet.tags.len() * 4;
                assert_eq!(out[..6], link(0), "{text}");
                assert_eq!(out[6..12], OURS, "{text}");
                let extra = [0, 4, 8][wrap as usize];
                assert_eq!(out[l3 + header + extra..], inside(packet), "{text}");
                outer(&text, &out[l3..], packet, wrap);
                let tags: Vec<u8> = packet.bytes()[12..l3 - 2].to_vec();
                assert_eq!(out[12..l3 - 2], tags, "{text}: tags");
                let kind = if header == 20 { [8, 0] } else { [0x86, 0xdd] };
                assert_eq!(out[l3 - 2..l3], kind, "{text}: the outer family");
            }
        }
    }
}

/// Checks the outer headers.
fn outer(text: &str, ip: &[u8], packet: &TestPacket, wrap: Wrap) {
    let v4 = ip[0] >> 4 == 4;
    let inner = if packet.src.is_ipv4() { 4 } else { 41 };
    let proto = [inner, 47, 17][wrap as usize];
    let header = if v4 { 20 } else { 40 };
    if v4 {
        assert_eq!(checksum(&[&ip[..20]]), 0, "{text}");
        let length = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        assert_eq!((length, ip[8], ip[9], ip[1]), (ip.len(), 64, proto, packet.tos), "{text}");
        assert_eq!(ip[6] & 0x40, 0x40, "{text}: may not be fragmented");
        assert_eq!(ip[12..20], [10, 0, 0, 250, 10, 0, 0, 1], "{text}");
    } else {
        let length = usize::from(u16::from_be_bytes([ip[4], ip[5]]));
        assert_eq!((length + 40, ip[6], ip[7]), (ip.len(), proto, 64), "{text}");
        assert_eq!((ip[0] & 15) << 4 | ip[1] >> 4, packet.tos, "{text}");
    }
    if wrap == Wrap::Gue {
        let udp = &ip[header..];
        let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
        assert!(port(0) >= 0xc000, "{text}: a source port of the flow");
        assert_eq!((port(2), usize::from(port(4))), (6080, udp.len()), "{text}");
    }
    if wrap == Wrap::Gre {
        let kind = if packet.src.is_ipv4() { [8, 0] } else { [0x86, 0xdd] };
        assert_eq!(ip[header..header + 4], [0, 0, kind[0], kind[1]], "{text}");
    }
}

#[test]
fn gue_spreads_flows_over_source_ports() {
    let Some(world) = world(Wrap::Gue, "10.0.0.1") else { return };
    let port = |sport: u16| {
        let packet = TestPacket { sport, ..tcp(CLIENT4, VIP4, SYN) };
        let out = world.expect("SYN", &packet.bytes(), Outcome::Forwarded, TX);
        u16::from_be_bytes([out[34], out[35]])
    };
    let ports: std::collections::BTreeSet<u16> = (1..200).map(port).collect();
    assert!(ports.len() > 180, "{}", ports.len());
    assert_eq!(port(5), port(5), "one flow, one port");
}

#[test]
fn what_is_here_already_is_not_wrapped() {
    let Some(world) = world(Wrap::Ipip, "10.0.0.1") else { return };
    let syn = tcp(CLIENT4, VIP4, SYN);
    world.server_flags(0, abi::SERVER_SERVES + abi::SERVER_TAKES + abi::SERVER_LOCAL);
    let out = world.expect("the server is here", &syn.bytes(), Outcome::Collocated, PASS);
    assert_eq!(out, syn.bytes());
}
