//! Rows of 'too big' errors about a tunnel's outer packet: the client learns the MTU for its packets, at once and
//! later.

use std::net::IpAddr;

use l4::abi::{self, Interface, Method, Outcome, Wrap};

use super::errors::{icmp, quoted};
use super::packet::{SYN, TestPacket, tcp, udp};
use super::usual::{ENDS, OUTERS, SERVERS, both};
use super::world::{DROP, DatapathTestbed, PASS, TX, ip, mapped};

/// The MTU in the ICMP errors.
const ROOM: u32 = 1280;
/// Routers behind us, by family.
const ROUTERS: [&str; 2] = ["10.0.0.77", "fd00::77"];
/// Ticks for which the datapath uses it.
const BELIEVED: u64 = 2235;

/// Tunnels with one encapsulation to servers of one family, for clients of both.
fn world(wrap: Wrap, family: usize) -> Option<DatapathTestbed> {
    let world = both(Method::Tunnel)?;
    set(&world, wrap, family);
    let native = Interface { flags: abi::INTERFACE_NATIVE, mtu: 1500, ..Interface::default() };
    world.plane.interfaces.set(&1, &native).unwrap();
    Some(world)
}

fn set(world: &DatapathTestbed, wrap: Wrap, family: usize) {
    for index in [0, 1] {
        world.change_server(index, |server| {
            server.addr = mapped(ip(SERVERS[family]));
            server.outer = mapped(ip(OUTERS[family]));
            server.wrap = wrap as u8;
            server.wrap_port = 6080;
        });
    }
}

/// Bytes around a client's packet.
fn around(wrap: Wrap, family: usize) -> u32 {
    [20, 40][family] + [0, 4, 8][wrap as usize]
}

/// A router's error about an outer packet, with the quoted part of that packet.
fn too_big(family: usize, outer: &[u8]) -> TestPacket {
    let (kind, code) = [(3, 4), (2, 0)][family];
    icmp(ROUTERS[family], OUTERS[family], kind, code, outer)
}

/// The MTU in an error.
fn reported_mtu(frame: &[u8]) -> u32 {
    let v4 = frame[14] >> 4 == 4;
    let at = if v4 { 14 + 20 + 6 } else { 14 + 40 + 4 };
    let bytes = &frame[at..at + if v4 { 2 } else { 4 }];
    bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

/// Checks an error to a client about its packet, which has one hop less after encapsulation.
fn is_about(text: &str, frame: &[u8], packet: &TestPacket, hops: u8, room: u32) {
    let (src, dst, inner): (IpAddr, IpAddr, Vec<u8>) = quoted(frame);
    assert_eq!((src, dst), (packet.dst, packet.src), "{text}: in the service's name");
    let sent = TestPacket { ttl: packet.ttl - hops, ..packet.clone() }.ip();
    assert_eq!(inner, sent[..inner.len()], "{text}: quotes the client's packet");
    assert!(inner.len() >= if packet.src.is_ipv4() { 28 } else { 48 }, "{text}");
    assert_eq!(reported_mtu(frame), room, "{text}: what is left");
}

#[test]
fn clients_get_the_mtu_left_in_a_tunnel() {
    let Some(mut world) = world(Wrap::Ipip, 0) else { return };
    for wrap in Wrap::ALL {
        for family in [0, 1] {
            set(&world, wrap, family);
            let left = ROOM - around(wrap, family);
            for (client, vip) in ENDS {
                let text = format!("{vip} in {} over IPv{}", wrap.name(), [4, 6][family]);
                let large = |first: TestPacket| TestPacket {
                    payload: vec![7; ROOM as usize - 30],
                    ..first
                };
                world.forwarded(&text, &tcp(client, vip, SYN));
                for packet in [tcp(client, vip, 16), udp(client, vip)].map(large) {
                    let out = world.forwarded(&text, &packet);
                    let error = too_big(family, &out[14..]);
                    let frame = world.expect(&text, &error.bytes(), Outcome::ErrorReturned, TX);
                    assert_eq!(frame[..6], error.from, "{text}: back to whom it came from");
                    is_about(&text, &frame, &packet, 1, left);
                    let second_error = world.expect(&text, &packet.bytes(), Outcome::TooBig, TX);
                    is_about(&text, &second_error, &packet, 0, left);
                    let head = packet.ip().len() - packet.payload.len();
                    let payload = vec![7; left as usize - head];
                    let fits = TestPacket { payload, ..packet.clone() };
                    world.forwarded(&text, &fits);
                    world.pass_ticks(BELIEVED);
                    world.forwarded("it may be wide again", &tcp(client, vip, SYN));
                    world.forwarded("it may be wide again", &packet);
                }
            }
        }
    }
}

#[test]
fn routers_quote_as_much_as_they_like() {
    let Some(world) = world(Wrap::Gue, 0) else { return };
    for (client, vip) in ENDS {
        let packet = TestPacket { payload: vec![7; 1200], ..udp(client, vip) };
        let out = world.forwarded(vip, &packet);
        let inner = 20 + 8 + packet.ip().len() - packet.transport().len();
        for (text, bytes) in [("all", out.len() - 14), ("576 in all", 548), ("ports", inner + 8)] {
            let error = too_big(0, &out[14..14 + bytes]);
            let frame = world.expect(text, &error.bytes(), Outcome::ErrorReturned, TX);
            is_about(text, &frame, &packet, 1, ROOM - 28);
        }
        let error = too_big(0, &out[14..14 + inner]);
        world.expect("less", &error.bytes(), Outcome::ErrorNotOurs, PASS);
    }
}

#[test]
fn tags_are_left_behind() {
    let Some(world) = world(Wrap::Ipip, 0) else { return };
    let packet = TestPacket { payload: vec![7; 1200], ..udp(ENDS[0].0, ENDS[0].1) };
    let out = world.forwarded("datagram", &packet);
    for tags in [vec![(0x8100, 5)], vec![(0x88a8, 5), (0x8100, 6)]] {
        let error = TestPacket { tags, ..too_big(0, &out[14..]) };
        let frame = world.expect("tagged", &error.bytes(), Outcome::ErrorReturned, TX);
        is_about("tagged", &frame, &packet, 1, ROOM - 20);
    }
}

#[test]
fn only_routers_of_our_tunnels_set_their_mtu() {
    let Some(world) = world(Wrap::Ipip, 0) else { return };
    for (family, (client, vip)) in ENDS.into_iter().enumerate() {
        set(&world, Wrap::Ipip, family);
        let packet = TestPacket { payload: vec![7; 1200], ..udp(client, vip) };
        let out = world.forwarded("datagram", &packet);
        let header = [20, 40][family];
        // The outer packet begins at 14: its ends, its protocol, and the packet inside.
        let changed = |at: usize, text: &'static str| {
            let mut outer = out[14..].to_vec();
            outer[at] ^= 1;
            (text, too_big(family, &outer), Outcome::ErrorNotOurs)
        };
        let ends = [12, 8][family];
        let inside = header + [20, 40][family];
        let mut rows = vec![
            changed(ends + [3, 15][family], "another source"),
            changed(ends + [7, 31][family], "another server"),
            changed([9, 6][family], "another protocol"),
            changed(inside + 1, "no such connection"),
            changed(inside + 3, "no such service"),
        ];
        let unreachable = icmp(ROUTERS[family], OUTERS[family], [3, 1][family], 1, &out[14..]);
        rows.push(("another error", unreachable, Outcome::ErrorNotOurs));
        for (text, error, outcome) in rows {
            let text = format!("{text}, IPv{}", [4, 6][family]);
            let same = world.expect(&text, &error.bytes(), outcome, PASS);
            assert_eq!(same, error.bytes(), "{text}: the host has it as it came");
        }
        world.forwarded("nothing was believed", &packet);
    }
}

/// An MTU below the protocol's minimum counts as the minimum.
#[test]
fn the_accepted_tunnel_mtu_has_a_floor() {
    let Some(world) = world(Wrap::Gre, 0) else { return };
    for (family, floor) in [(0, 576), (1, 1280)] {
        set(&world, Wrap::Gre, family);
        let packet = TestPacket { payload: vec![7; 1300], ..udp(ENDS[0].0, ENDS[0].1) };
        let out = world.forwarded("datagram", &packet);
        let mut error = too_big(family, &out[14..]).bytes();
        let at = [14 + 20 + 6, 14 + 40 + 6][family];
        error[at..at + 2].copy_from_slice(&68u16.to_be_bytes());
        let frame = world.expect("68 bytes", &error, Outcome::ErrorReturned, TX);
        assert_eq!(reported_mtu(&frame), floor - around(Wrap::Gre, family));
        error[at..at + 2].copy_from_slice(&0u16.to_be_bytes());
        world.expect("nothing", &error, Outcome::ErrorNotOurs, PASS);
    }
}

#[test]
fn too_many_errors_are_not_passed_on() {
    let Some(world) = world(Wrap::Ipip, 0) else { return };
    let packet = TestPacket { payload: vec![7; 1200], ..udp(ENDS[0].0, ENDS[0].1) };
    let out = world.forwarded("datagram", &packet);
    let error = too_big(0, &out[14..]).bytes();
    for _ in 0..abi::REPLIES_LIMIT {
        world.expect("told", &error, Outcome::ErrorReturned, TX);
    }
    world.expect("one too many", &error, Outcome::Oversize, DROP);
}
