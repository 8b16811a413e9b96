//! Every policy chooses the same link in the kernel and in the model.

use std::net::IpAddr;
use std::time::Duration;

use links::link_selection::{LinkSelector, PacketKey};
use model::config::LinkPolicy::{self, Failover, Flowlet, Hash, RoundRobin};
use model::monotonic_time::MonotonicTime;

use super::world::{BundleTestbed, NEXT, REDIRECT, frame};

const HOUR: Duration = Duration::from_secs(3_600);

/// A packet by its number: few flows of both families, with and without ports, one in four a fragment.
fn packet(number: u64) -> PacketKey {
    let word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = |shift: u32, mask: u64| (word >> shift) & mask;
    let last = bits(60, 3) as u8;
    let ends: [IpAddr; 2] = if bits(59, 1) == 0 {
        [[10, 1, 0, last].into(), [10, 2, 0, 9].into()]
    } else {
        [format!("fd00::{last}").parse().unwrap(), "fd01::9".parse().unwrap()]
    };
    let protocol = [6, 17, 132, 47][bits(57, 3) as usize];
    let with_ports = protocol != 47;
    let port = 1_000 + bits(50, 7) as u16;
    PacketKey {
        source: ends[0],
        destination: ends[1],
        protocol,
        source_port: if with_ports { port } else { 0 },
        destination_port: if with_ports { 443 } else { 0 },
        fragment: (bits(40, 3) == 0).then_some(bits(20, 15) as u32),
    }
}

#[test]
fn the_kernel_chooses_as_the_model_does() {
    let gaps = [(RoundRobin, HOUR), (Hash, HOUR), (Failover, HOUR), (Flowlet, HOUR)];
    for (policy, gap) in gaps {
        for capacities in [&[1, 1][..], &[2, 1], &[0, 1], &[5, 3, 0, 1], &[1; 8]] {
            let Some(world) = BundleTestbed::new() else { return };
            let schedule = world.bundle(policy, gap, capacities);
            let mut chooser = LinkSelector::default();
            for number in 0..120 {
                let packet = packet(number);
                let wanted =
                    chooser.select_link(policy, &schedule, gap, &packet, MonotonicTime(number));
                let (verdict, _, link) = world.send(&frame(&packet, 16));
                let row = format!("{policy:?} {capacities:?} {number} {packet:?}");
                assert_eq!((verdict, link), (REDIRECT, wanted), "{row}");
            }
        }
    }
}

#[test]
fn silence_lets_a_flow_change_links_and_a_dead_link_at_once() {
    let Some(world) = BundleTestbed::new() else { return };
    let packet = PacketKey { fragment: None, ..packet(1) };
    let link = || world.send(&frame(&packet, 0)).2.unwrap();
    world.bundle(Flowlet, HOUR, &[1, 1]);
    let first = link();
    assert_eq!([link(), link(), link()], [first; 3]);
    // A nanosecond of silence precedes each packet.
    world.bundle(Flowlet, Duration::from_nanos(1), &[1, 1]);
    assert_eq!([link(), link(), link(), link()], [1 - first, first, 1 - first, first]);
    let mut dead = [1, 1];
    dead[usize::from(first)] = 0;
    world.bundle(Flowlet, HOUR, &dead);
    assert_eq!(link(), 1 - first);
}

#[test]
fn packets_of_a_shorter_link_are_marked_and_held_while_somebody_holds_them() {
    let Some(world) = BundleTestbed::new() else { return };
    let hold = |policy: LinkPolicy| {
        world.entry(policy, HOUR, &[1, 1], |member| member.holds_packets = true)
    };
    hold(RoundRobin);
    let packet = PacketKey { fragment: None, ..packet(1) };
    let sent = frame(&packet, 0);
    let (verdict, _, link) = world.send(&sent);
    assert_eq!((verdict, link), (REDIRECT, Some(0)), "nobody holds");
    world.lease(u64::MAX);
    let (verdict, out, link) = world.send(&sent);
    assert_eq!((verdict, link), (NEXT, None));
    assert_eq!(out[..6], [0x02, 0x53, 0x59, 0x4c, 0x4b, 1], "marked with its link");
    assert_eq!(out[6..], sent[6..], "and nothing else changed");
    world.lease(1);
    assert_eq!(world.send(&sent).0, REDIRECT, "whoever held is gone");
    let kinds = world.counts().by_kind;
    assert_eq!((kinds["held"], kinds["not-held"]), (1, 2));
}
