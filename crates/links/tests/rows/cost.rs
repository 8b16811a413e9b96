//! The cost of choosing a link compared with a plain redirect. It prints and asserts nothing, because machines differ.
//! Slow.

use std::time::Duration;

use bpf::load::ProgramHandle;
use links::link_selection::PacketKey;
use model::config::LinkPolicy::{Failover, Flowlet, Hash, RoundRobin};

use super::world::{BundleTestbed, frame};

#[test]
#[allow(clippy::print_stdout, reason = "figures are what it is for")]
fn nanoseconds_a_packet() {
    let long = std::env::var_os("STEELYARD_LONG").is_some();
    let Some(world) = BundleTestbed::new() else { return };
    let packet = PacketKey {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        protocol: 6,
        source_port: 1,
        destination_port: 2,
        fragment: None,
    };
    let frame = frame(&packet, 1_400);
    let repeat = if long { 2_000_000 } else { 1_000 };
    let plain = world.plain();
    let least = |program: &ProgramHandle<'_>| {
        let rounds = (0..5).map(|_| program.test_run_egress(&frame, repeat).unwrap().time);
        rounds.min().unwrap().as_nanos()
    };
    let floor = least(&plain.program("plain").unwrap());
    println!("plain redirect: {floor} ns a packet");
    for policy in [Failover, Hash, RoundRobin, Flowlet] {
        world.bundle(policy, Duration::from_secs(1), &[1, 1]);
        let cost = least(&world.plane.program().unwrap());
        println!("{}: {cost} ns a packet, {} above", policy.name(), cost.saturating_sub(floor));
    }
}
