//! Rows of ICMP: errors follow their connection in both directions, the datapath sends 'too big', and the host answers
//! echo.

use std::net::IpAddr;

use l4::abi::{self, Interface, Method, Outcome};

use super::packet::{SYN, TestPacket, checksum, pseudo, read_ip, tcp, udp};
use super::usual::{BACKS, CLIENT4, CLIENT6, SERVERS, VIP4, VIP6, both};
use super::world::{DROP, PASS, TX, ip, link};

/// An ICMP message with a right checksum.
pub fn icmp(src: &str, dst: &str, kind: u8, code: u8, quoted: &[u8]) -> TestPacket {
    let end =
        |text: &str| if text.contains(':') { format!("[{text}]:0") } else { format!("{text}:0") };
    let mut packet = udp(&end(src), &end(dst));
    let v4 = packet.src.is_ipv4();
    packet.proto = if v4 { 1 } else { 58 };
    let mut message = [&[kind, code, 0, 0, 0, 0, 5, 0], quoted].concat();
    let head = pseudo(packet.src, packet.dst, 58, message.len());
    let sum = if v4 { checksum(&[&message]) } else { checksum(&[&head, &message]) };
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    packet.payload = message;
    packet
}

/// Verifies an ICMP message's checksums and takes the quoted packet out.
pub fn quoted(frame: &[u8]) -> (IpAddr, IpAddr, Vec<u8>) {
    let seen = read_ip(&frame[14..]);
    let head = pseudo(seen.src, seen.dst, 58, seen.transport.len());
    let sum = if seen.proto == 1 {
        checksum(&[&seen.transport])
    } else {
        checksum(&[&head, &seen.transport])
    };
    assert_eq!(sum, 0, "ICMP checksum");
    (seen.src, seen.dst, seen.transport[8..].to_vec())
}

/// A packet from the service to the client, as a router quotes it.
fn on_its_way(vip: &str, client: &str, tcp_: bool) -> Vec<u8> {
    if tcp_ { tcp(vip, client, 16).ip() } else { udp(vip, client).ip() }
}

#[test]
fn errors_reach_the_server_of_the_connection() {
    for method in [Method::Mac, Method::Nat] {
        let Some(world) = both(method) else { return };
        for (vip, client, router, server, kinds) in [
            (VIP4, CLIENT4, "198.51.100.1", 0, [(3, 4), (3, 1), (11, 0), (12, 0)]),
            (VIP6, CLIENT6, "2001:db8:9::1", 1, [(2, 0), (1, 3), (3, 0), (4, 0)]),
        ] {
            let address = vip.trim_end_matches(":80").trim_matches(['[', ']']);
            for over_tcp in [true, false] {
                let first = if over_tcp { tcp(client, vip, SYN) } else { udp(client, vip) };
                world.expect("flow", &first.bytes(), Outcome::Forwarded, TX);
                for (kind, code) in kinds {
                    let text = format!("{} {vip} {kind}/{code} {over_tcp}", method.name());
                    let message = on_its_way(vip, client, over_tcp);
                    let packet = icmp(router, address, kind, code, &message);
                    let out = world.expect(&text, &packet.bytes(), Outcome::ErrorForwarded, TX);
                    assert_eq!(out[..6], link(server), "{text}");
                    let (src, dst, inner) = quoted(&out);
                    assert_eq!(src, ip(router), "{text}");
                    if method == Method::Mac {
                        assert_eq!((dst, inner), (ip(address), message), "{text}");
                        continue;
                    }
                    let inner = read_ip(&inner);
                    let own = SERVERS[server as usize];
                    let back = BACKS[server as usize];
                    assert_eq!((dst, inner.src, inner.dst), (ip(own), ip(own), ip(back)), "{text}");
                    assert_eq!(inner.sport, 80, "{text}");
                }
            }
        }
    }
}

#[test]
fn errors_about_ours_reach_the_client() {
    let Some(world) = both(Method::Nat) else { return };
    for (client, vip, server, router, kind) in
        [(CLIENT4, VIP4, "10.0.0.1", "10.0.0.77", 3), (CLIENT6, VIP6, "fd00::1", "fd00::77", 1)]
    {
        let first = udp(client, vip);
        let out = world.expect("flow", &first.bytes(), Outcome::Forwarded, TX);
        let back = read_ip(&out[14..]).src.to_string();
        for from in [server, router] {
            let packet = icmp(from, &back, kind, 4, &out[14..]);
            let out = world.expect(from, &packet.bytes(), Outcome::ErrorReturned, TX);
            let (src, dst, inner) = quoted(&out);
            assert_eq!(dst, first.src, "{from}");
            assert_eq!(
                src, first.dst,
                "{from}: what comes from behind is said in the service's name"
            );
            let inner = read_ip(&inner);
            let ends = (inner.src, inner.sport, inner.dst, inner.dport);
            assert_eq!(ends, (first.src, first.sport, first.dst, first.dport), "{from}");
        }
    }
}

#[test]
fn other_icmp_is_the_hosts() {
    let Some(world) = both(Method::Nat) else { return };
    let ours = on_its_way(VIP4, CLIENT4, true);
    let strange = on_its_way("198.51.100.9:80", CLIENT4, true);
    let rows = [
        ("echo", icmp("192.0.2.7", "203.0.113.10", 8, 0, b"ping"), Outcome::NotOurs, PASS),
        (
            "IPv6 echo",
            icmp("2001:db8::1", "2001:db8:2::10", 128, 0, b"ping"),
            Outcome::NotOurs,
            PASS,
        ),
        (
            "neighbour",
            icmp("2001:db8::1", "2001:db8:2::10", 135, 0, &[0; 20]),
            Outcome::NotOurs,
            PASS,
        ),
        ("no flow", icmp("192.0.2.1", "203.0.113.10", 3, 4, &ours), Outcome::ErrorNotOurs, PASS),
        (
            "no service",
            icmp("192.0.2.1", "203.0.113.10", 3, 4, &strange),
            Outcome::ErrorNotOurs,
            PASS,
        ),
        (
            "quotes little",
            icmp("192.0.2.1", "203.0.113.10", 3, 4, &ours[..20]),
            Outcome::ErrorNotOurs,
            PASS,
        ),
        (
            "quotes nothing",
            icmp("192.0.2.1", "203.0.113.10", 3, 4, &[]),
            Outcome::ErrorNotOurs,
            PASS,
        ),
    ];
    for (text, packet, outcome, verdict) in rows {
        let out = world.expect(text, &packet.bytes(), outcome, verdict);
        assert_eq!(out, packet.bytes(), "{text}");
    }
    let mut short = icmp("192.0.2.1", "203.0.113.10", 3, 4, &ours);
    short.payload.truncate(3);
    world.expect("no header", &short.bytes(), Outcome::TooShort, DROP);
}

// Rows: I46
#[test]
fn packets_that_do_not_fit_get_too_big() {
    for method in [Method::Mac, Method::Nat, Method::Tunnel] {
        let Some(world) = both(method) else { return };
        let native = Interface { flags: abi::INTERFACE_NATIVE, mtu: 1500, ..Interface::default() };
        world.plane.interfaces.set(&1, &native).unwrap();
        for (index, packet) in [udp(CLIENT4, VIP4), udp(CLIENT6, VIP6)].into_iter().enumerate() {
            world.next_hop(index as u32, 1, 1400, 1);
            let large = TestPacket { payload: vec![7; 1380], ..packet.clone() };
            let fits = TestPacket { payload: vec![7; 1300], ..packet.clone() };
            let text = format!("{} {index}", method.name());
            world.expect(&text, &fits.bytes(), Outcome::Forwarded, TX);
            let out = world.expect(&text, &large.bytes(), Outcome::TooBig, TX);
            assert_eq!(out[..6], large.from, "{text}: back to whom it came from");
            let (src, dst, inner) = quoted(&out);
            assert_eq!((src, dst), (packet.dst, packet.src), "{text}");
            assert_eq!(inner, large.ip()[..inner.len()], "{text}: quotes the packet");
            assert!(inner.len() >= 68, "{text}");
            let outer = [20, 40][index];
            let room = if method == Method::Tunnel { 1400 - outer } else { 1400 };
            let at = 14 + outer + if index == 0 { 6 } else { 4 };
            let said = if index == 0 {
                u32::from(u16::from_be_bytes([out[at], out[at + 1]]))
            } else {
                u32::from_be_bytes([out[at], out[at + 1], out[at + 2], out[at + 3]])
            };
            assert_eq!(said as usize, room, "{text}: the room there is");
        }
        let cut = TestPacket { payload: vec![7; 1390], keep_whole: false, ..udp(CLIENT4, VIP4) };
        world.expect("may be cut", &cut.bytes(), Outcome::TooBig, TX);
        let first = TestPacket { payload: vec![7; 64], fragment: Some((0, true)), ..cut.clone() };
        world.expect("first fragment", &first.bytes(), Outcome::Forwarded, TX);
        let later = TestPacket { fragment: Some((72, false)), ..cut };
        world.expect("nobody is told of a later one", &later.bytes(), Outcome::Oversize, DROP);
        let stack = Interface { flags: 0, ..native };
        world.plane.interfaces.set(&1, &stack).unwrap();
        let whole = TestPacket { payload: vec![7; 1390], ..udp(CLIENT4, VIP4) };
        world.expect("one packet in the stack", &whole.bytes(), Outcome::TooBig, TX);
        let many = TestPacket { payload: vec![7; 1500], ..udp(CLIENT4, VIP4) };
        world.expect("many in one frame", &many.bytes(), Outcome::Forwarded, TX);
        world.plane.interfaces.remove(&1).unwrap();
    }
}

#[test]
fn errors_go_through_the_tunnel_of_the_connection() {
    let Some(world) = both(Method::Tunnel) else { return };
    let routers = [("198.51.100.1", 3), ("2001:db8:9::1", 1)];
    for (at, ((client, vip), (router, kind))) in
        super::usual::ENDS.into_iter().zip(routers).enumerate()
    {
        let first = tcp(client, vip, SYN);
        world.forwarded("flow", &first);
        let error = icmp(router, &first.dst.to_string(), kind, 1, &on_its_way(vip, client, true));
        let out = world.expect("error", &error.bytes(), Outcome::ErrorForwarded, TX);
        let header = [20, 40][at];
        assert_eq!(out[14 + header..], TestPacket { ttl: 63, ..error.clone() }.ip(), "{router}");
        let strange =
            icmp(router, &first.dst.to_string(), kind, 1, &on_its_way(vip, client, false));
        world.expect("no such flow", &strange.bytes(), Outcome::ErrorNotOurs, PASS);
    }
}
