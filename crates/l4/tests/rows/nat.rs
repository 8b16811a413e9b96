//! Rows of `nat`: translation both ways, states and their times, reuse of ports, removed servers.

use l4::abi::{self, Method, Outcome};

use super::packet::{
    ACK, FIN, RST, ReceivedPacket, SYN, TCP, THEIRS, TestPacket, UDP, checksum, pseudo, read_ip,
    tcp, udp,
};
use super::usual::{CLIENT4, CLIENT6, VIP4, VIP6};
use super::world::{DROP, DatapathTestbed, TX, ip, link};

/// A service a family with one server each, on port 8080, and one return address.
fn world() -> Option<DatapathTestbed> {
    let world = DatapathTestbed::new()?;
    for (index, address, server, back) in [
        (0, "203.0.113.10", "10.0.0.1", "10.0.0.254"),
        (1, "2001:db8:2::10", "fd00::1", "fd00::fe"),
    ] {
        world.service(index, Method::Nat);
        world.listen(address, 80, TCP, index);
        world.listen(address, 80, UDP, index);
        let mut entry = world.server(index, server, 8080);
        entry.service = index;
        world.plane.servers.set(&index, &entry).unwrap();
        world.share(index, &[back], index * 1024, 256);
        world.pool(index, &[index]);
    }
    Some(world)
}

/// Sends a client's packet and returns what the server receives.
fn out(world: &DatapathTestbed, text: &str, packet: &TestPacket) -> ReceivedPacket {
    read_ip(&world.expect(text, &packet.bytes(), Outcome::Forwarded, TX)[14..])
}

/// The server's answer to a packet.
fn answer(seen: &ReceivedPacket, flags: u8) -> TestPacket {
    let end = |address, port| std::net::SocketAddr::new(address, port).to_string();
    let from = end(seen.dst, seen.dport);
    let to = end(seen.src, seen.sport);
    if seen.proto == TCP { tcp(&from, &to, flags) } else { udp(&from, &to) }
}

/// Sends a server's answer and returns what the client receives.
fn back(world: &DatapathTestbed, text: &str, packet: &TestPacket) -> (Vec<u8>, ReceivedPacket) {
    let frame = world.expect(text, &packet.bytes(), Outcome::Returned, TX);
    let seen = read_ip(&frame[14..]);
    (frame, seen)
}

#[test]
fn both_ways_are_translated() {
    let Some(world) = world() else { return };
    let rows = [
        ("TCP", tcp(CLIENT4, VIP4, SYN), "10.0.0.1", "10.0.0.254", 0),
        ("UDP", udp(CLIENT4, VIP4), "10.0.0.1", "10.0.0.254", 0),
        (
            "UDP unsummed",
            TestPacket { unsummed: true, ..udp(CLIENT4, VIP4) },
            "10.0.0.1",
            "10.0.0.254",
            0,
        ),
        (
            "options",
            TestPacket { options: vec![1; 8], ..tcp(CLIENT4, VIP4, SYN) },
            "10.0.0.1",
            "10.0.0.254",
            0,
        ),
        ("IPv6 TCP", tcp(CLIENT6, VIP6, SYN), "fd00::1", "fd00::fe", 1),
        ("IPv6 UDP", udp(CLIENT6, VIP6), "fd00::1", "fd00::fe", 1),
    ];
    for (text, packet, server, return_address, index) in rows {
        let frame = world.expect(text, &packet.bytes(), Outcome::Forwarded, TX);
        assert_eq!(frame[..6], link(index), "{text}");
        let seen = read_ip(&frame[14..]);
        assert_eq!((seen.src, seen.dst), (ip(return_address), ip(server)), "{text}");
        assert_eq!((seen.dport, seen.ttl), (8080, 63), "{text}");
        assert!(seen.sport >= 1025, "{text}");
        let reply = answer(&seen, SYN | ACK);
        let (frame, seen) = back(&world, text, &reply);
        assert_eq!(frame[..6], THEIRS, "{text}: to whom it came from");
        let ends = (seen.src, seen.sport, seen.dst, seen.dport);
        assert_eq!(ends, (packet.dst, packet.dport, packet.src, packet.sport), "{text}");
        assert_eq!(seen.transport[reply_payload(&seen)..], packet.payload, "{text}");
    }
}

fn reply_payload(seen: &ReceivedPacket) -> usize {
    if seen.proto == TCP { 20 } else { 8 }
}

// Rows: C07
#[test]
fn an_unknown_packet_opens_nothing() {
    let Some(world) = world() else { return };
    for (text, flags) in [("ACK", ACK), ("FIN", FIN | ACK), ("RST", RST), ("SYN ACK", SYN | ACK)] {
        let packet = tcp(CLIENT4, VIP4, flags).bytes();
        assert_eq!(world.expect(text, &packet, Outcome::NoFlow, DROP), packet);
    }
    let stray = tcp("10.0.0.1:8080", "10.0.0.254:1025", ACK);
    world.expect("an answer to nothing", &stray.bytes(), Outcome::AnswerWithoutFlow, DROP);
    let beyond = tcp("10.0.0.1:8080", "10.0.0.254:9999", ACK);
    world.expect("no port of the share", &beyond.bytes(), Outcome::AnswerWithoutFlow, DROP);
}

/// A connection that both sides closed; returns its SYN and the server's copy of it.
fn closed(world: &DatapathTestbed) -> (TestPacket, ReceivedPacket) {
    let syn = tcp(CLIENT4, VIP4, SYN);
    let seen = out(world, "SYN", &syn);
    back(world, "SYN ACK", &answer(&seen, SYN | ACK));
    out(world, "ACK", &TestPacket { flags: ACK, seq: 1006, ..syn.clone() });
    out(world, "FIN", &TestPacket { flags: FIN | ACK, seq: 1006, ..syn.clone() });
    back(world, "FIN back", &answer(&seen, FIN | ACK));
    (syn, seen)
}

#[test]
fn a_port_is_used_again_only_by_the_rules() {
    let Some(mut world) = world() else { return };
    let (syn, seen) = closed(&world);
    let old = TestPacket { seq: 900, ..syn.clone() };
    world.expect("an old SYN", &old.bytes(), Outcome::PrematureReuse, DROP);
    let new = TestPacket { seq: 5000, ..syn.clone() };
    assert_eq!(out(&world, "a newer SYN", &new).sport, seen.sport);
    world.pass_ticks(21);
    let second_syn = TestPacket { seq: 1, ..syn };
    assert_ne!(
        out(&world, "after its time a SYN gets another port", &second_syn).sport,
        seen.sport
    );
}

/// A server with an old connection on this port answers a SYN with an ACK. The client resets that connection and
/// retransmits its SYN.
#[test]
fn a_syn_that_met_an_old_connection_may_come_again() {
    let Some(world) = world() else { return };
    let syn = tcp(CLIENT4, VIP4, SYN);
    let seen = out(&world, "SYN", &syn);
    back(&world, "an ACK of long ago", &answer(&seen, ACK));
    out(&world, "RST", &TestPacket { flags: RST, seq: 77_777, ..syn.clone() });
    assert_eq!(out(&world, "the SYN again", &syn).sport, seen.sport);
}

// Rows: I02, I03, C05
#[test]
fn each_state_has_its_own_time() {
    let Some(mut world) = world() else { return };
    let syn = tcp(CLIENT4, VIP4, SYN);
    let ack = TestPacket { flags: ACK, ..syn.clone() };
    let late = |world: &mut DatapathTestbed, text: &str, ticks: u64, packet: &TestPacket| {
        world.pass_ticks(ticks - 1);
        let no_flow_count = world.count(Outcome::NoFlow);
        world.pass_ticks(1);
        world.expect(text, &packet.bytes(), Outcome::NoFlow, DROP);
        assert_eq!(world.count(Outcome::NoFlow), no_flow_count + 1);
    };
    out(&world, "SYN", &syn);
    late(&mut world, "half-open", 20, &ack);
    out(&world, "SYN", &syn);
    out(&world, "ACK", &ack);
    world.pass_ticks(999);
    out(&world, "idle, not yet", &ack);
    late(&mut world, "idle", 1000, &ack);
    closed(&world);
    world.pass_ticks(99);
    out(&world, "closing, not yet", &ack);
    late(&mut world, "closing runs on", 1, &ack);
    let query = udp(CLIENT4, VIP4);
    let reply = out(&world, "UDP", &udp(CLIENT4, VIP4));
    world.pass_ticks(199);
    back(&world, "UDP, not yet", &answer(&reply, 0));
    world.pass_ticks(200);
    let stray = answer(&reply, 0).bytes();
    world.expect("UDP", &stray, Outcome::AnswerWithoutFlow, DROP);
    out(&world, "UDP opens anew", &query);
}

#[test]
fn the_client_may_keep_its_address() {
    let Some(world) = world() else { return };
    world.share(0, &["client"], 2048, 64);
    let syn = tcp(CLIENT4, VIP4, SYN);
    let seen = out(&world, "SYN", &syn);
    assert_eq!((seen.src, seen.sport, seen.dport), (syn.src, 4000, 8080));
    let (_, seen) = back(&world, "answer", &answer(&seen, SYN | ACK));
    assert_eq!((seen.src, seen.sport, seen.dport), (syn.dst, 80, 4000));
    let other = tcp("10.0.0.1:8080", "192.0.2.99:4000", ACK).bytes();
    let text = "the server's own business";
    world.expect(text, &other, Outcome::NotOurs, super::world::PASS);
}

// Rows: I29
#[test]
fn removed_servers_drain_or_reset() {
    let Some(world) = world() else { return };
    let syn = tcp(CLIENT4, VIP4, SYN);
    let ack = TestPacket { flags: ACK, ..syn.clone() };
    let seen = out(&world, "SYN", &syn);
    world.server_flags(0, abi::SERVER_SERVES);
    out(&world, "a drained server's flow goes on", &ack);
    back(&world, "both ways", &answer(&seen, ACK));
    let other = tcp("192.0.2.8:4000", VIP4, SYN);
    world.expect("nobody takes it", &other.bytes(), Outcome::NoServer, DROP);
    world.server_flags(0, abi::SERVER_RESETS);
    let frame = world.expect("reset", &ack.bytes(), Outcome::ResetSent, TX);
    let reset = read_ip(&frame[14..]);
    assert_eq!((reset.src, reset.dst, reset.sport), (syn.dst, syn.src, 80));
    assert_eq!((reset.transport[13], frame.len()), (RST, 54));
    assert_eq!(reset.transport[4..8], 2000u32.to_be_bytes());
    world.server_flags(0, 0);
    world.expect("down", &ack.bytes(), Outcome::NoFlow, DROP);
}

#[test]
fn ports_run_out() {
    let Some(world) = world() else { return };
    let syn = tcp(CLIENT4, VIP4, SYN);
    world.share(0, &["10.0.0.253"], 3000, 2);
    for port in [1, 2] {
        out(&world, "a port", &TestPacket { sport: port, ..syn.clone() });
    }
    world.expect("none left", &TestPacket { sport: 3, ..syn }.bytes(), Outcome::NoPort, DROP);
}

/// The packet as the stack has it before a device finishes its checksum: the field holds the pseudo header's sum.
fn unfinished(packet: &TestPacket) -> Vec<u8> {
    let mut bytes = packet.bytes();
    let header = if packet.src.is_ipv4() { 20 } else { 40 };
    let transport = bytes.len() - 14 - header;
    let head = pseudo(packet.src, packet.dst, packet.proto, transport);
    let at = 14 + header + if packet.proto == TCP { 16 } else { 6 };
    bytes[at..at + 2].copy_from_slice(&(!checksum(&[&head])).to_be_bytes());
    bytes
}

#[test]
fn a_checksum_that_a_device_finishes_stays_one() {
    let Some(world) = world() else { return };
    for packet in [tcp(CLIENT4, VIP4, SYN), udp(CLIENT4, VIP4), tcp(CLIENT6, VIP6, SYN)] {
        let text = format!("{} {}", packet.src, packet.proto);
        let bytes = unfinished(&packet);
        let out = world.expect(&text, &bytes, Outcome::Forwarded, TX);
        let header = if packet.src.is_ipv4() { 20 } else { 40 };
        let at = 14 + header + if packet.proto == TCP { 16 } else { 6 };
        let mut finished = out.clone();
        let sum = checksum(&[&out[14 + header..]]);
        finished[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        read_ip(&finished[14..]);
    }
    // A complete checksum that equals the pseudo header's sum by chance is still complete.
    let mut chance = tcp(CLIENT4, VIP4, SYN);
    chance.payload = vec![0; 8];
    let head = pseudo(chance.src, chance.dst, TCP, 28);
    let same = (!checksum(&[&head])).to_be_bytes();
    let mut bytes = (0..=u16::MAX).map(|word| {
        chance.payload[0..2].copy_from_slice(&word.to_be_bytes());
        chance.bytes()
    });
    let found = bytes.find(|bytes| bytes[50..52] == same).unwrap();
    read_ip(&world.expect("by chance", &found, Outcome::Forwarded, TX)[14..]);
}
