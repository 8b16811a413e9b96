//! Rows of fragments: the first fragment decides, and later ones follow, with every method.

use l4::abi::{Method, Outcome};

use super::packet::{TestPacket, UDP, udp};
use super::usual::{CLIENT4, CLIENT6, VIP4, VIP6};
use super::world::{DROP, DatapathTestbed, PASS, TX, link};

fn world(method: Method) -> Option<DatapathTestbed> {
    let world = DatapathTestbed::new()?;
    for (index, vip, servers, back) in [
        (0, "203.0.113.10", ["10.0.0.1", "10.0.0.2"], "10.0.0.254"),
        (1, "2001:db8:2::10", ["fd00::1", "fd00::2"], "fd00::fe"),
    ] {
        world.service(index, method);
        world.listen(vip, 80, UDP, index);
        for (at, server) in servers.iter().enumerate() {
            let number = index * 2 + at as u32;
            let mut entry = world.server(number, server, 0);
            entry.service = index;
            world.plane.servers.set(&number, &entry).unwrap();
            world.share(number, &[back], number * 512, 64);
        }
        world.pool(index, &[index * 2, index * 2 + 1]);
    }
    Some(world)
}

fn pieces(packet: TestPacket, id: u16) -> (TestPacket, TestPacket) {
    let base = TestPacket { id, keep_whole: false, ..packet };
    let first = TestPacket { fragment: Some((0, true)), payload: vec![1; 64], ..base.clone() };
    let later = TestPacket { fragment: Some((72, false)), payload: vec![2; 40], ..base };
    (first, later)
}

#[test]
fn later_ones_follow_the_first() {
    for method in [Method::Mac, Method::Nat] {
        let Some(world) = world(method) else { return };
        for (round, packet) in
            [udp(CLIENT4, VIP4), udp(CLIENT6, VIP6), udp("192.0.2.9:1", VIP4)].iter().enumerate()
        {
            let (first, later) = pieces(packet.clone(), round as u16 + 1);
            let text = format!("{} {round}", method.name());
            let one = world.expect(&text, &first.bytes(), Outcome::Forwarded, TX);
            let two = world.expect(&text, &later.bytes(), Outcome::Forwarded, TX);
            assert_eq!(one[..12], two[..12], "{text}: the same server");
            let (from, to) = if packet.src.is_ipv4() { (26, 34) } else { (22, 54) };
            assert_eq!(one[from..to], two[from..to], "{text}: the same ends");
            assert_eq!(two[two.len() - 40..], [2; 40], "{text}");
        }
    }
}

#[test]
fn without_the_first_they_end_by_name() {
    let Some(mut world) = world(Method::Mac) else { return };
    let (first, later) = pieces(udp(CLIENT4, VIP4), 1);
    let (_, strange) = pieces(udp(CLIENT4, "203.0.113.99:80"), 1);
    let (_, strange6) = pieces(udp(CLIENT6, "[2001:db8::99]:80"), 1);
    let (host, host_later) = pieces(udp(CLIENT4, "203.0.113.10:53"), 5);
    world.expect("unknown", &later.bytes(), Outcome::FragmentUnknown, DROP);
    world.expect("not for us", &strange.bytes(), Outcome::NotOurs, PASS);
    world.expect("not for us, IPv6", &strange6.bytes(), Outcome::NotOurs, PASS);
    world.expect("a port of the host", &host.bytes(), Outcome::NotOurs, PASS);
    world.expect("the host gets the rest", &host_later.bytes(), Outcome::NotOurs, PASS);
    let out = world.expect("first", &first.bytes(), Outcome::Forwarded, TX);
    assert_eq!(out[..6], link(0));
    world.pass_ticks(113);
    world.expect("too late", &later.bytes(), Outcome::FragmentUnknown, DROP);
    let overlap = TestPacket { fragment: Some((8, false)), proto: 6, ..later };
    world.expect("over TCP's header", &overlap.bytes(), Outcome::BadFragment, DROP);
}

/// `ping -s 4000` to a service's address, and other fragments that match no service.
#[test]
fn fragments_of_other_protocols_are_the_hosts() {
    let Some(world) = world(Method::Mac) else { return };
    for (client, vip) in [(CLIENT4, VIP4), (CLIENT6, VIP6)] {
        let icmp = if client.starts_with('[') { 58 } else { 1 };
        let esp = 50;
        let gre = 47;
        for (id, proto) in [(41, icmp), (42, esp), (43, gre)] {
            let (mut first, mut later) = pieces(udp(client, vip), id);
            first.proto = proto;
            later.proto = proto;
            // An echo request, by its first byte.
            first.payload = vec![if proto == 1 { 8 } else { 128 }; 64];
            let text = format!("{client} protocol {proto}");
            world.expect(&text, &later.bytes(), Outcome::FragmentUnknown, DROP);
            world.expect(&text, &first.bytes(), Outcome::NotOurs, PASS);
            world.expect(&text, &later.bytes(), Outcome::NotOurs, PASS);
        }
    }
}

#[test]
fn a_servers_fragments_return() {
    let Some(world) = world(Method::Nat) else { return };
    let query = world.expect("query", &udp(CLIENT4, VIP4).bytes(), Outcome::Forwarded, TX);
    let port = u16::from_be_bytes([query[34], query[35]]);
    let (first, later) = pieces(udp("10.0.0.1:80", &format!("10.0.0.254:{port}")), 9);
    let one = world.expect("first", &first.bytes(), Outcome::Returned, TX);
    let two = world.expect("later", &later.bytes(), Outcome::Returned, TX);
    assert_eq!(one[26..34], [203, 0, 113, 10, 192, 0, 2, 7]);
    assert_eq!(one[26..34], two[26..34]);
    assert_eq!(super::packet::checksum(&[&two[14..34]]), 0);
}
