//! Rows of hop limits that expire here: the ICMP error, how much of the packet it quotes, and its rate.

use l4::abi::{self, Method, Outcome};

use super::errors::{icmp, quoted};
use super::packet::{ACK, OURS, THEIRS, TestPacket, read_ip, udp};
use super::usual::{BACKS, ENDS, SERVERS, both, syn};
use super::world::{DROP, DatapathTestbed, TX, ip};

/// Sends a packet whose hop limit expires here, and checks the ICMP error.
fn expect_time_exceeded(world: &DatapathTestbed, text: &str, packet: &TestPacket) {
    let old = TestPacket { ttl: 1, ..packet.clone() };
    let out = world.expect(text, &old.bytes(), Outcome::TimeExceeded, TX);
    assert_eq!((&out[..6], &out[6..12]), (&THEIRS[..], &OURS[..]), "{text}: back to its sender");
    let l3 = 14 + packet.tags.len() * 4;
    let mut frame = out[..14].to_vec();
    frame.extend(&out[l3..]);
    let (_, dst, inner) = quoted(&frame);
    assert_eq!(dst, packet.src, "{text}");
    let says = if packet.src.is_ipv4() { [11, 0] } else { [3, 0] };
    let header = if packet.src.is_ipv4() { 20 } else { 40 };
    assert_eq!(frame[14 + header..16 + header], says, "{text}");
    assert_eq!(inner, old.ip()[..inner.len()], "{text}: quotes the packet");
    assert!(inner.len() >= header + 8, "{text}: {} bytes are quoted", inner.len());
}

#[test]
fn senders_are_notified() {
    for method in [Method::Nat, Method::Tunnel] {
        let Some(world) = both(method) else { return };
        for (client, vip) in ENDS {
            let first = syn(client, vip, 9);
            let rows = [
                ("a SYN", TestPacket { payload: Vec::new(), ..first.clone() }),
                ("a SYN with options", TestPacket { tcp_options: vec![1; 20], ..first.clone() }),
                ("data", TestPacket { flags: ACK, payload: vec![7; 400], ..first.clone() }),
                ("a short datagram", TestPacket { payload: vec![1], ..udp(client, vip) }),
                ("an empty datagram", TestPacket { payload: Vec::new(), ..udp(client, vip) }),
                ("a tagged one", TestPacket { tags: vec![(0x8100, 5)], ..first.clone() }),
                ("two tags", TestPacket { tags: vec![(0x88a8, 5), (0x8100, 6)], ..first }),
            ];
            for (text, packet) in rows {
                expect_time_exceeded(
                    &world,
                    &format!("{} {client} {text}", method.name()),
                    &packet,
                );
            }
        }
    }
}

#[test]
fn servers_get_errors_about_their_answers() {
    let Some(world) = both(Method::Nat) else { return };
    for (at, (client, vip)) in ENDS.into_iter().enumerate() {
        let seen = read_ip(&world.forwarded("query", &udp(client, vip))[14..]);
        let end =
            |ip: &str, port| std::net::SocketAddr::new(super::world::ip(ip), port).to_string();
        let answer = udp(&end(SERVERS[at], 80), &end(BACKS[at], seen.sport));
        expect_time_exceeded(&world, "an answer", &answer);
        let out = world.expect("in time", &answer.bytes(), Outcome::Returned, TX);
        assert_eq!(read_ip(&out[14..]).ttl, 63);
    }
}

#[test]
fn mac_takes_no_hop() {
    let Some(world) = both(Method::Mac) else { return };
    for (client, vip) in ENDS {
        let last = TestPacket { ttl: 1, ..syn(client, vip, 1) };
        let out = world.forwarded("the last hop", &last);
        assert_eq!(out[14..], last.ip());
    }
}

#[test]
fn nobody_is_notified_too_often_or_of_errors() {
    let Some(mut world) = both(Method::Nat) else { return };
    let old = TestPacket { ttl: 1, ..syn(ENDS[0].0, ENDS[0].1, 1) }.bytes();
    for n in 0..abi::REPLIES_LIMIT {
        world.expect(&n.to_string(), &old, Outcome::TimeExceeded, TX);
    }
    let out = world.expect("one too many", &old, Outcome::TtlExpired, DROP);
    assert_eq!(out, old, "untouched");
    world.pass_ticks(1);
    world.expect("a tick later", &old, Outcome::TimeExceeded, TX);
    for (at, (client, vip)) in ENDS.into_iter().enumerate() {
        let first = udp(client, vip);
        world.forwarded("flow", &first);
        let (kind, router) = if at == 0 { (3, "198.51.100.1") } else { (1, "2001:db8:9::1") };
        let about = udp(vip, client).ip();
        let error = icmp(router, &first.dst.to_string(), kind, 1, &about);
        let last = TestPacket { ttl: 1, ..error };
        world.expect("an error", &last.bytes(), Outcome::TtlExpired, DROP);
        let base = TestPacket { id: 77, keep_whole: false, ..first };
        let head = TestPacket { fragment: Some((0, true)), payload: vec![1; 64], ..base.clone() };
        let rest = TestPacket { fragment: Some((72, false)), payload: vec![2; 40], ttl: 1, ..base };
        world.forwarded("a first fragment", &head);
        world.expect("a later one", &rest.bytes(), Outcome::TtlExpired, DROP);
    }
    // A header with options leaves no eight bytes to quote in so short a packet.
    let options = TestPacket {
        options: vec![1; 40],
        payload: Vec::new(),
        ttl: 1,
        ..udp(ENDS[0].0, ENDS[0].1)
    };
    assert_eq!(options.ip().len(), 68);
    expect_time_exceeded(
        &world,
        "a long header, quoted whole",
        &TestPacket { ttl: 64, ..options.clone() },
    );
    let short = TestPacket { options: vec![1; 36], ..options };
    world.expect("too short to be told of", &short.bytes(), Outcome::TtlExpired, DROP);
}

#[test]
fn servers_get_too_big_too() {
    let Some(world) = both(Method::Nat) else { return };
    let native =
        abi::Interface { flags: abi::INTERFACE_NATIVE, mtu: 1500, ..abi::Interface::default() };
    world.plane.interfaces.set(&1, &native).unwrap();
    for (at, (client, vip)) in ENDS.into_iter().enumerate() {
        let seen = read_ip(&world.forwarded("query", &udp(client, vip))[14..]);
        // The route to the client, as the kernel would resolve it.
        let way =
            abi::NextHop { to: THEIRS, from: OURS, ifindex: 1, mtu: 1400, state: abi::NEXT_HOP_OK };
        world.plane.learned.set(&7, &way).unwrap();
        let record = at as u32 * 1024 + super::usual::PORTS + u32::from(seen.sport) - 1025;
        let mut entry = world.plane.records.get(&record).unwrap().unwrap();
        entry.return_hop = 7 | ((world.now >> abi::TICK_SHIFT) as u32) << 12;
        world.plane.records.set(&record, &entry).unwrap();
        let end =
            |ip: &str, port| std::net::SocketAddr::new(super::world::ip(ip), port).to_string();
        let answer = udp(&end(SERVERS[at], 80), &end(BACKS[at], seen.sport));
        let large = TestPacket { payload: vec![7; 1380], ..answer.clone() };
        let out = world.expect("too big", &large.bytes(), Outcome::TooBig, TX);
        let (_, dst, inner) = quoted(&out);
        assert_eq!(dst, ip(SERVERS[at]), "the server that sent it is told");
        assert_eq!(inner, large.ip()[..inner.len()]);
        let fits = TestPacket { payload: vec![7; 1300], ..answer };
        world.expect("fits", &fits.bytes(), Outcome::Returned, TX);
    }
}
