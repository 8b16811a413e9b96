//! Rows of packets that lie, end early or are random: each ends in a named outcome, and the sums stay right.

use l4::abi::{Method, Outcome, Wrap};

use super::packet::{SYN, TCP, TestPacket, UDP, tcp, udp};
use super::usual::{CLIENT4, CLIENT6, VIP4, VIP6, both};
use super::world::{DROP, DatapathTestbed, PASS};

/// The usual plane, with clamped segments and tunnels of every header there is.
fn world(method: Method) -> Option<DatapathTestbed> {
    let world = both(method)?;
    for index in [0, 1] {
        world.change_service(index, |service| service.mss = 1200);
        world.change_server(index, |server| {
            server.wrap = Wrap::Gue as u8;
            server.wrap_port = 6080;
        });
    }
    Some(world)
}

fn shapes() -> Vec<TestPacket> {
    let v4 = tcp(CLIENT4, VIP4, SYN);
    let v6 = tcp(CLIENT6, VIP6, SYN);
    vec![
        TestPacket { tcp_options: vec![2, 4, 5, 0xb4, 1, 3, 3, 7], ..v4.clone() },
        udp(CLIENT4, VIP4),
        TestPacket { tags: vec![(0x88a8, 5), (0x8100, 6)], options: vec![1; 40], ..v4.clone() },
        TestPacket { extensions: vec![(0, vec![0; 8]), (60, vec![0; 8])], ..v6.clone() },
        udp(CLIENT6, VIP6),
        TestPacket { fragment: Some((0, true)), ..udp(CLIENT4, VIP4) },
        TestPacket { fragment: Some((0, true)), ..udp(CLIENT6, VIP6) },
    ]
}

/// Sets the IP header's length to the packet's real length.
fn honest(packet: &mut [u8], l3: usize) {
    let length = packet.len() - l3;
    if packet.len() >= l3 + 20 && packet[l3] >> 4 == 4 {
        packet[l3 + 2..l3 + 4].copy_from_slice(&(length as u16).to_be_bytes());
    } else if packet.len() >= l3 + 40 {
        packet[l3 + 4..l3 + 6].copy_from_slice(&(length as u16 - 40).to_be_bytes());
    }
}

#[test]
fn cut_at_every_byte() {
    let Some(world) = world(Method::Nat) else { return };
    for (number, shape) in shapes().iter().enumerate() {
        let whole = shape.bytes();
        let l3 = 14 + shape.tags.len() * 4;
        for length in 14..whole.len() {
            let mut cut = whole[..length].to_vec();
            let before = world.counts();
            let received = world.received();
            let (verdict, _) = world.send_bytes(&cut);
            assert_eq!(
                (verdict, world.moved(&before)),
                (DROP, vec![Outcome::TooShort]),
                "{number} {length}"
            );
            assert_eq!(world.received(), received + 1);
            if length <= l3 {
                continue;
            }
            honest(&mut cut, l3);
            let before = world.counts();
            world.send_bytes(&cut);
            assert_eq!(world.moved(&before).len(), 1, "{number}, honest {length}");
        }
    }
}

// Rows: C07
#[test]
fn headers_that_lie() {
    let Some(world) = world(Method::Nat) else { return };
    let v4 = tcp(CLIENT4, VIP4, SYN).bytes();
    let v6 = tcp(CLIENT6, VIP6, SYN).bytes();
    let datagram = udp(CLIENT4, VIP4).bytes();
    let with = |bytes: &[u8], at: usize, value: u8| {
        let mut out = bytes.to_vec();
        out[at] = value;
        out
    };
    let nine = TestPacket { extensions: vec![(60, vec![0; 8]); 9], ..tcp(CLIENT6, VIP6, SYN) };
    let rows = [
        ("IPv4 that says 5", with(&v4, 14, 0x55), Outcome::BadHeader, DROP),
        ("IPv6 that says 4", with(&v6, 14, 0x40), Outcome::BadHeader, DROP),
        ("header of 4 words", with(&v4, 14, 0x44), Outcome::BadHeader, DROP),
        ("header beyond the packet", with(&v4, 14, 0x4f), Outcome::BadHeader, DROP),
        ("length below the header", with(&v4, 17, 19), Outcome::BadHeader, DROP),
        ("length beyond the frame", with(&v4, 16, 4), Outcome::TooShort, DROP),
        ("IPv6 length beyond the frame", with(&v6, 18, 4), Outcome::TooShort, DROP),
        ("TCP header of 4 words", with(&v4, 46, 0x40), Outcome::BadHeader, DROP),
        ("TCP header beyond the packet", with(&v4, 46, 0xf0), Outcome::BadHeader, DROP),
        ("UDP length of 7", with(&datagram, 39, 7), Outcome::BadHeader, DROP),
        ("nine extension headers", nine.bytes(), Outcome::TooManyExtensions, PASS),
        ("a tag that ends early", with(&v4, 12, 0x81)[..15].to_vec(), Outcome::TooShort, DROP),
    ];
    for (text, packet, outcome, verdict) in rows {
        let out = world.expect(text, &packet, outcome, verdict);
        assert_eq!(out, packet, "{text}: untouched");
    }
}

#[test]
fn every_random_packet_ends_once() {
    for method in [Method::Mac, Method::Nat, Method::Tunnel] {
        let Some(world) = world(method) else { return };
        let shapes: Vec<Vec<u8>> = shapes().iter().map(TestPacket::bytes).collect();
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random as usize
        };
        for round in 0..3000 {
            let mut packet = shapes[next() % shapes.len()].clone();
            for _ in 0..1 + next() % 4 {
                let at = 12 + next() % (packet.len() - 12);
                packet[at] = next() as u8;
            }
            if round % 3 == 0 {
                packet.truncate(14 + next() % (packet.len() - 14));
            }
            let (verdict, _) = world.send_bytes(&packet);
            assert!((1..=4).contains(&verdict), "{verdict} for {packet:02x?}");
        }
        let sum: u64 = world.counts().iter().sum();
        assert_eq!((sum, world.received()), (3000, 3000), "{}", method.name());
    }
}

#[test]
fn a_configuration_that_contradicts_itself() {
    let Some(world) = world(Method::Mac) else { return };
    world.listen("203.0.113.77", 80, TCP, 1 << 20);
    let packet = tcp(CLIENT4, "203.0.113.77:80", SYN).bytes();
    world.expect("no such service", &packet, Outcome::NoConfiguration, DROP);
    world.pool(0, &[1 << 20]);
    let packet = tcp(CLIENT4, VIP4, SYN).bytes();
    world.expect("no such server", &packet, Outcome::NoServer, DROP);
}

#[test]
fn room_before_the_packet_runs_out() {
    let Some(world) = world(Method::Tunnel) else { return };
    // The encapsulated packet matches the service again: each run encapsulates once more.
    world.listen("10.0.0.1", 6080, UDP, 0);
    let packet = udp(CLIENT4, VIP4).bytes();
    world.plane.program().unwrap().test_run(&packet, 0, 12).unwrap();
    assert!(world.count(Outcome::NoHeadroom) > 0);
    assert!(world.count(Outcome::Forwarded) >= 6);
}

// Rows: C02
#[test]
fn segments_are_clamped_at_even_and_odd_places() {
    let Some(world) = world(Method::Nat) else { return };
    let rows = [
        ("even", vec![2, 4, 0x05, 0xb4], 1200),
        ("odd", vec![1, 2, 4, 0x05, 0xb4, 1, 1, 1], 1200),
        ("small enough", vec![2, 4, 0x02, 0x18], 536),
        ("behind others", vec![1, 3, 3, 7, 1, 1, 2, 4, 0x05, 0xb4, 0, 0], 1200),
    ];
    for (port, (text, options, mss)) in rows.into_iter().enumerate() {
        let at = options.windows(2).position(|pair| pair == [2, 4]).unwrap();
        for (client, vip, l3) in [(CLIENT4, VIP4, 20), (CLIENT6, VIP6, 40)] {
            let syn = TestPacket {
                sport: port as u16 + 1,
                tcp_options: options.clone(),
                ..tcp(client, vip, SYN)
            };
            let out = world.expect(text, &syn.bytes(), Outcome::Forwarded, 3);
            let seen = super::packet::read_ip(&out[14..]);
            let value = u16::from_be_bytes([seen.transport[22 + at], seen.transport[23 + at]]);
            assert_eq!(value, mss, "{text} {l3}");
        }
    }
}
