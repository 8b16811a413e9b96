//! Rows of `nat` services that share a server and a return address, with one port and with all ports: every answer
//! finds its connection, and no port is used twice towards one port of the server.

use std::collections::BTreeSet;

use l4::abi::{self, Method, Outcome};

use super::packet::{ACK, ReceivedPacket, SYN, TCP, TestPacket, UDP, read_ip, tcp, udp};
use super::world::{DROP, DatapathTestbed, TX, ip, mapped};

const CLIENT: &str = "192.0.2.7:4000";
/// The service of one port, and the one of all ports.
const ONE: &str = "203.0.113.10:80";
const ALL: &str = "203.0.113.20:80";

/// Both services before one server, with `ports` ports each.
fn world(ports: u32) -> Option<DatapathTestbed> {
    let world = DatapathTestbed::new()?;
    for (index, address, listens, port) in [(0, "203.0.113.10", 80, 80), (1, "203.0.113.20", 0, 0)]
    {
        world.service(index, Method::Nat);
        for proto in [TCP, UDP] {
            world.listen(address, listens, proto, index);
        }
        let mut entry = world.server(index, "10.0.0.1", port);
        entry.service = index;
        world.plane.servers.set(&index, &entry).unwrap();
        world.share(index, &["10.0.0.254"], index * 1024, ports);
        world.pool(index, &[index]);
    }
    world.flag(abi::CONFIG_ANY_PORT | abi::CONFIG_PORT_PAIRS);
    Some(world)
}

fn out(world: &DatapathTestbed, packet: &TestPacket) -> ReceivedPacket {
    read_ip(&world.expect("to the server", &packet.bytes(), Outcome::Forwarded, TX)[14..])
}

/// The server's answer arrives at the client.
fn answered(world: &DatapathTestbed, asked: &TestPacket, got: &ReceivedPacket) {
    let end = |address, port| std::net::SocketAddr::new(address, port).to_string();
    let from = end(got.dst, got.dport);
    let to = end(got.src, got.sport);
    let answer = if got.proto == TCP { tcp(&from, &to, SYN | ACK) } else { udp(&from, &to) };
    let back = world.expect("answer", &answer.bytes(), Outcome::Returned, TX);
    let back = read_ip(&back[14..]);
    let ends = (back.src, back.sport, back.dst, back.dport);
    assert_eq!(ends, (asked.dst, asked.dport, asked.src, asked.sport));
}

#[test]
fn answers_find_connections_of_both_shares() {
    let Some(world) = world(64) else { return };
    for over_tcp in [true, false] {
        let mut ends = BTreeSet::new();
        let mut clients = Vec::new();
        for n in 1..=30 {
            for (vip, port) in [(ONE, 80), (ALL, 80), (ALL, 443)] {
                let mut packet = if over_tcp { tcp(CLIENT, vip, SYN) } else { udp(CLIENT, vip) };
                packet.sport = n;
                packet.dport = port;
                let got = out(&world, &packet);
                assert_eq!((got.dst, got.dport), (ip("10.0.0.1"), port));
                assert!(ends.insert((got.src, got.sport, got.dport)), "{got:?} was there before");
                clients.push((packet, got));
            }
        }
        for (packet, got) in &clients {
            answered(&world, packet, got);
        }
    }
}

/// Each share skips the ports in use by the other, however few ports there are.
#[test]
fn a_port_is_used_in_one_share_alone() {
    let Some(mut world) = world(8) else { return };
    let syn = |vip, n| TestPacket { sport: n, ..tcp(CLIENT, vip, SYN) };
    for n in 1..=8 {
        out(&world, &syn(if n % 2 == 0 { ONE } else { ALL }, n));
    }
    for vip in [ONE, ALL] {
        world.expect("all ports are in use", &syn(vip, 99).bytes(), Outcome::NoPort, DROP);
    }
    let other = TestPacket { dport: 443, ..syn(ALL, 1) };
    answered(&world, &other, &out(&world, &other));
    world.pass_ticks(21);
    let second_syn = syn(ONE, 99);
    answered(&world, &second_syn, &out(&world, &second_syn));
}

/// Errors about packets to the server find the connection too.
#[test]
fn errors_find_connections_of_both_shares() {
    let Some(world) = world(64) else { return };
    out(&world, &tcp(CLIENT, ONE, SYN));
    for vip in [ONE, ALL] {
        let asked = TestPacket { sport: 77, ..tcp(CLIENT, vip, SYN) };
        let frame = world.expect("SYN", &asked.bytes(), Outcome::Forwarded, TX);
        let router = super::errors::icmp("10.0.0.77", "10.0.0.254", 3, 1, &frame[14..]);
        let back = world.expect(vip, &router.bytes(), Outcome::ErrorReturned, TX);
        let inner = read_ip(&super::errors::quoted(&back).2);
        assert_eq!((inner.dst, inner.sport), (asked.dst, 77), "{vip}");
    }
}

// Rows: I03
/// Where no port is free, a connection that was idle for five minutes is evicted; no other one is.
#[test]
fn the_long_idle_give_way_where_no_port_is_free() {
    let Some(mut world) = world(4) else { return };
    world.change_service(0, |service| service.idle = 27_716);
    let open = |world: &DatapathTestbed, n: u16| {
        let syn = TestPacket { sport: n, ..tcp(CLIENT, ONE, SYN) };
        let got = out(world, &syn);
        answered(world, &syn, &got);
        out(world, &TestPacket { flags: ACK, ..syn });
        got.sport
    };
    let first: BTreeSet<u16> = (1..=4).map(|n| open(&world, n)).collect();
    world.pass_ticks(1_100);
    let syn = TestPacket { sport: 5, ..tcp(CLIENT, ONE, SYN) };
    world.expect("not yet", &syn.bytes(), Outcome::NoPort, DROP);
    let ack = |n| TestPacket { flags: ACK, sport: n, ..tcp(CLIENT, ONE, ACK) };
    out(&world, &ack(2));
    world.pass_ticks(30);
    let evicted = |world: &DatapathTestbed| -> u64 {
        world.plane.plane_counts.each_cpu(&0).unwrap().iter().map(|row| row.evicted).sum()
    };
    assert_eq!(evicted(&world), 0);
    let used_ports: BTreeSet<u16> = (5..=7).map(|n| open(&world, n)).collect();
    assert!(used_ports.is_subset(&first) && used_ports.len() == 3, "{used_ports:?} of {first:?}");
    assert_eq!(evicted(&world), 3);
    world.expect("nobody is idle", &TestPacket { sport: 8, ..syn }.bytes(), Outcome::NoPort, DROP);
    out(&world, &ack(2));
    world.expect("it gave way", &ack(1).bytes(), Outcome::NoFlow, DROP);
}

/// Each family has separate servers, by round robin and by rules. No server gets packets of another family.
#[test]
fn families_choose_among_their_own_servers() {
    let Some(world) = DatapathTestbed::new() else { return };
    world.service(0, Method::Nat);
    world.listen("203.0.113.10", 80, TCP, 0);
    world.listen("2001:db8:2::10", 80, TCP, 0);
    let flags = abi::SERVER_TAKES | abi::SERVER_SERVES | abi::SERVER_TRANSLATES;
    for (index, server, back) in
        [(0, "10.0.0.1", "10.0.0.254"), (1, "10.0.0.2", "10.0.0.254"), (2, "fd00::1", "fd00::fe")]
    {
        world.server(index, server, 80);
        world.share(index, &[back], index * 512, 64);
        world.server_flags(index, flags);
    }
    let mut first = world.pool(0, &[0, 1]);
    first.pool6 = 2;
    world.plane.pools.set(&0, &first).unwrap();
    world.pool(1, &[2]);
    let client = |n: u16, v4: bool| {
        let ends = if v4 { (CLIENT, ONE) } else { ("[2001:db8:1::7]:1", "[2001:db8:2::10]:80") };
        TestPacket { sport: n, ..tcp(ends.0, ends.1, SYN) }
    };
    let mut turns = Vec::new();
    for n in 1..=6 {
        assert_eq!(out(&world, &client(n, false)).dst, ip("fd00::1"));
        turns.push(out(&world, &client(n, true)).dst);
    }
    let two = [ip("10.0.0.1"), ip("10.0.0.2")];
    assert_eq!(turns, [two, two, two].concat(), "turns of a family are its own");
    // A table with a server of the wrong family only drops packets.
    world.pool(1, &[0]);
    let lost = client(99, false);
    world.expect("another family", &lost.bytes(), Outcome::NoServer, DROP);
    assert_eq!(mapped(ip("10.0.0.1"))[..10], [0; 10]);
}
