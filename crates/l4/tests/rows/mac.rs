//! Rows of `mac`.

use l4::abi::{Method, Outcome};

use super::packet::{ACK, FIN, OURS, SYN, TCP, TestPacket, UDP, tcp, udp};
use super::usual::{CLIENT4, CLIENT6, VIP4, VIP6};
use super::world::{DROP, DatapathTestbed, PASS, REDIRECT, TX, link};

/// Two services, one a family, TCP and UDP, with three servers each.
fn world() -> Option<DatapathTestbed> {
    let world = DatapathTestbed::new()?;
    for (index, address) in [(0, "203.0.113.10"), (1, "2001:db8:2::10")] {
        world.service(index, Method::Mac);
        world.listen(address, 80, TCP, index);
        world.listen(address, 80, UDP, index);
    }
    for (index, address) in
        ["10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2", "fd00::3"].iter().enumerate()
    {
        world.server(index as u32, address, 0);
    }
    world.pool(0, &[0, 1, 2]);
    world.pool(1, &[3, 4, 5]);
    Some(world)
}

/// The expected frame: the same with other link addresses.
fn towards(packet: &TestPacket, server: u32) -> Vec<u8> {
    TestPacket { to: link(server), from: OURS, ..packet.clone() }.bytes()
}

#[test]
fn each_shape_goes_on_unchanged() {
    let Some(world) = world() else { return };
    let v4 = tcp(CLIENT4, VIP4, SYN);
    let v6 = tcp(CLIENT6, VIP6, SYN);
    let rows = [
        ("SYN", v4.clone(), 0),
        ("the same flow's ACK", TestPacket { flags: ACK, ..v4.clone() }, 0),
        ("IPv6 SYN", v6.clone(), 3),
        ("IPv6 ACK", TestPacket { flags: ACK, ..v6.clone() }, 3),
        ("UDP", udp(CLIENT4, VIP4), 1),
        ("UDP again", udp(CLIENT4, VIP4), 1),
        ("IPv6 UDP", udp(CLIENT6, VIP6), 4),
        ("another client", tcp("192.0.2.8:4000", VIP4, SYN), 2),
        ("one VLAN tag", TestPacket { tags: vec![(0x8100, 5)], ..v4.clone() }, 0),
        ("two VLAN tags", TestPacket { tags: vec![(0x88a8, 5), (0x8100, 6)], ..v4.clone() }, 0),
        ("IPv4 options", TestPacket { options: vec![1; 40], ..v4.clone() }, 0),
        ("IPv6, one VLAN tag", TestPacket { tags: vec![(0x8100, 5)], ..v6.clone() }, 3),
        (
            "IPv6 extension headers",
            TestPacket {
                extensions: vec![(0, vec![0; 8]), (60, vec![0; 8]), (43, vec![0; 8])],
                ..v6.clone()
            },
            3,
        ),
        ("FIN", TestPacket { flags: FIN | ACK, ..v4.clone() }, 0),
    ];
    for (text, packet, server) in rows {
        let out = world.expect(text, &packet.bytes(), Outcome::Forwarded, TX);
        assert_eq!(out, towards(&packet, server), "{text}");
    }
}

#[test]
fn what_is_not_for_a_service_is_not_touched() {
    let Some(world) = world() else { return };
    let v4 = tcp(CLIENT4, VIP4, SYN);
    let mut arp = v4.bytes();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    let rows = [
        ("another port", tcp(CLIENT4, "203.0.113.10:81", SYN).bytes(), Outcome::NotOurs),
        ("another address", tcp(CLIENT4, "203.0.113.11:80", SYN).bytes(), Outcome::NotOurs),
        ("another protocol", TestPacket { proto: 50, ..v4.clone() }.bytes(), Outcome::NotOurs),
        ("IPv6 elsewhere", tcp(CLIENT6, "[2001:db8::1]:80", SYN).bytes(), Outcome::NotOurs),
        ("ARP", arp, Outcome::NotIp),
    ];
    for (text, packet, outcome) in rows {
        let out = world.expect(text, &packet, outcome, PASS);
        assert_eq!(out, packet, "{text}");
    }
}

#[test]
fn ways_decide_how_it_leaves() {
    let Some(world) = world() else { return };
    let syn = tcp(CLIENT4, VIP4, SYN);
    world.next_hop(0, 7, 0, 1);
    let out = world.expect("another interface", &syn.bytes(), Outcome::Forwarded, REDIRECT);
    assert_eq!(out, towards(&syn, 0));
    world.next_hop(0, 1, 0, 0);
    world.expect("unknown", &syn.bytes(), Outcome::NeighbourUnknown, DROP);
}
