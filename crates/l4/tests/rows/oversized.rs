//! Rows of packets that exceed a tunnel's MTU. If the sender allows fragments, they are passed to a running daemon.
//! Otherwise the sender gets an error.

use std::time::Duration;

use l4::abi::{self, Method, Outcome, Wrap};
use l4::oversized::{OversizedPacket, OversizedReader};

use super::packet::{TestPacket, UDP, udp};
use super::usual::{CLIENT4, CLIENT6, OUTERS, SERVERS, VIP4, VIP6, both};
use super::world::{DROP, DatapathTestbed, TX, ip, mapped};

/// MTUs of 1,400 bytes behind links of 9,000, with an encapsulation; the daemon fragments.
fn narrow() -> Option<(DatapathTestbed, OversizedReader)> {
    let world = both(Method::Tunnel)?;
    let native =
        abi::Interface { flags: abi::INTERFACE_NATIVE, mtu: 9_000, ..abi::Interface::default() };
    world.plane.interfaces.set(&1, &native).unwrap();
    (0..2).for_each(|index| world.next_hop(index, 1, 1_400, abi::NEXT_HOP_OK));
    alive(&world);
    let ring = OversizedReader::open(&world.plane.oversized().unwrap().ring).unwrap();
    Some((world, ring))
}

fn alive(world: &DatapathTestbed) {
    let alive = (world.now >> abi::TICK_SHIFT) as u32;
    world.plane.oversized().unwrap().alive_tick.set(&0, &alive).unwrap();
}

fn large(client: &str, vip: &str, bytes: usize) -> TestPacket {
    TestPacket { payload: vec![7; bytes], keep_whole: false, ..udp(client, vip) }
}

fn handed(ring: &OversizedReader) -> Vec<OversizedPacket> {
    ring.wait_for_packets(Duration::ZERO).into_iter().map(|one| one.unwrap()).collect()
}

pub fn reach() -> Option<()> {
    let (world, _ring) = narrow()?;
    world.expect("handed over", &large(CLIENT4, VIP4, 1_400).bytes(), Outcome::Fragmented, DROP);
    Some(())
}

#[test]
fn what_its_sender_lets_others_cut_is_handed_over_with_all_that_wraps_it() {
    let Some((world, ring)) = narrow() else { return };
    for wrap in Wrap::ALL {
        world.change_server(0, |server| {
            server.wrap = wrap as u8;
            server.wrap_port = 6080;
        });
        let whole = TestPacket { tos: 0x2e, ..large(CLIENT4, VIP4, 1_400) };
        let first = TestPacket { fragment: Some((0, true)), id: wrap as u16 + 1, ..whole.clone() };
        let later = TestPacket { fragment: Some((1_408, true)), ..first.clone() };
        let jumbo = large(CLIENT4, VIP4, 8_900);
        for packet in [whole, first, later, jumbo] {
            world.expect(wrap.name(), &packet.bytes(), Outcome::Fragmented, DROP);
            let [one] = &handed(&ring)[..] else { panic!("one packet was handed over") };
            assert_eq!(one.packet, packet.ip(), "as the client sent it");
            let head = one.head;
            assert_eq!((head.outer, head.server), (mapped(ip(OUTERS[0])), mapped(ip(SERVERS[0]))));
            assert_eq!((head.room, head.wrap, head.wrap_port), (1_400, wrap as u8, 6080));
            assert_eq!(head.tos, packet.tos);
            assert!(l4::oversized::fragment_packet(one).unwrap().len() > 1);
        }
    }
    let bytes: u64 =
        world.plane.server_counts.each_cpu(&0).unwrap().iter().map(|row| row.bytes_in).sum();
    // A later fragment has no header of UDP.
    assert_eq!(bytes, 3 * (2 * 1_428 + 1_420 + 8_928), "its server's bytes");
}

#[test]
fn senders_are_notified_where_nobody_makes_fragments_or_they_allow_none() {
    let Some((mut world, ring)) = narrow() else { return };
    let cut = large(CLIENT4, VIP4, 1_400);
    let whole = TestPacket { keep_whole: true, ..cut.clone() };
    world.expect("may not be cut", &whole.bytes(), Outcome::TooBig, TX);
    world.expect("IPv6", &large(CLIENT6, VIP6, 1_400).bytes(), Outcome::TooBig, TX);
    // Its clock is finer than the datapath's, so it may be a tick ahead.
    let next = (world.now >> abi::TICK_SHIFT) as u32 + 1;
    world.plane.oversized().unwrap().alive_tick.set(&0, &next).unwrap();
    world.expect("a tick ahead", &cut.bytes(), Outcome::Fragmented, DROP);
    alive(&world);
    world.pass_ticks(u64::from(abi::FRAGMENTER_TICKS));
    world.expect("not silent for long", &cut.bytes(), Outcome::Fragmented, DROP);
    world.pass_ticks(1);
    world.expect("silent", &cut.bytes(), Outcome::TooBig, TX);
    world.plane.oversized().unwrap().alive_tick.set(&0, &0).unwrap();
    world.expect("nobody", &cut.bytes(), Outcome::TooBig, TX);
    assert_eq!(handed(&ring).len(), 2);
    assert_eq!(cut.proto, UDP);
}

#[test]
fn more_than_are_taken_in_a_tick_or_fit_the_ring_are_reported() {
    let Some((mut world, ring)) = narrow() else { return };
    let cut = large(CLIENT4, VIP4, 1_400);
    let mut sent_packets = 0;
    while world.send(&cut).0 == DROP {
        sent_packets += 1;
        assert!(sent_packets < 2_000, "the ring has no end");
    }
    assert!(sent_packets > 500, "{sent_packets}");
    world.expect("full", &cut.bytes(), Outcome::TooBig, TX);
    assert_eq!(handed(&ring).len(), sent_packets);
    world.pass_ticks(1);
    let mut sent_packets = 0;
    let mut seen = 0;
    while world.send(&cut).0 == DROP {
        sent_packets += 1;
        assert!(sent_packets <= abi::FRAGMENTED_LIMIT, "a tick has no end");
        seen += handed(&ring).len();
    }
    assert_eq!((sent_packets, seen), (abi::FRAGMENTED_LIMIT, abi::FRAGMENTED_LIMIT as usize));
    world.pass_ticks(1);
    world.expect("the next tick", &cut.bytes(), Outcome::Fragmented, DROP);
}
