//! Many flows and datagrams of all sizes: how evenly the links are used, and how much arrives.

use std::time::Duration;

use links::link_selection::PacketKey;
use links::schedule::{LinkSchedule, ScheduledLink};
use model::config::LinkPolicy;

use super::topology::{CLIENT, LinkTopology, SERVER, long, rate};
use super::traffic::{datagrams, requests};

const NEAR: Duration = Duration::from_millis(1);

/// Client ports of sixteen flows, twelve of which the hash assigns to the first link.
fn skewed() -> Vec<u16> {
    let turn = ScheduledLink { alive: true, capacity: 0 };
    let schedule = LinkSchedule::from_policy(LinkPolicy::Hash, &[turn, turn]);
    let link = |port: &u16| {
        let packet = PacketKey {
            source: CLIENT.into(),
            destination: SERVER.into(),
            protocol: 6,
            source_port: *port,
            destination_port: 9_000,
            fragment: None,
        };
        schedule.pick(packet.flow_hash())
    };
    let of =
        |wanted, many| (20_000..30_000).filter(move |port| link(port) == Some(wanted)).take(many);
    of(0, 12).chain(of(1, 4)).collect()
}

/// The ratio of the busier link's bytes to the other link's.
fn unevenness(policy: &str) -> Option<f64> {
    let world = LinkTopology::open(&[NEAR, NEAR], policy)?;
    let before = world.bytes();
    let rounds = if long() { 200 } else { 16 };
    requests(&world, &skewed(), 20_000, rounds, Duration::from_millis(50));
    // The daemon updates its counts four times a second.
    tests::e2e::wait::until("all requests are counted", || {
        let now = world.bytes();
        now.iter().zip(&before).map(|(now, before)| now - before).sum::<u64>()
            >= (16 * rounds * 20_000) as u64
    });
    let carried: Vec<f64> =
        world.bytes().iter().zip(&before).map(|(now, before)| (now - before) as f64).collect();
    Some(carried[0].max(carried[1]) / carried[0].min(carried[1]))
}

#[test]
fn flowlets_even_out_what_a_hash_skews() {
    let Some(hash) = unevenness("policy = \"hash\"") else { return };
    let Some(flowlet) = unevenness("policy = \"flowlet\"\ngap = \"20ms\"") else { return };
    println!("proof: 16 flows with pauses: hash {hash:.2} to 1, flowlets {flowlet:.2} to 1");
    assert!(hash > 2.0, "{hash}");
    assert!(flowlet < 1.1, "{flowlet}");
}

#[test]
fn datagrams_of_all_sizes_arrive_whole() {
    let Some(world) = LinkTopology::open(&[NEAR, NEAR], "policy = \"round-robin\"") else { return };
    for size in [64, 1_472, 4_096, 8_984, 10_000, 20_000, 30_000] {
        let mbit = 2.0 * rate() as f64 * if long() { 0.95 } else { 0.5 };
        let count = if long() { 20_000_000 / size } else { 1_000_000 / size };
        let count = count.clamp(20, if long() { 100_000 } else { 2_000 });
        let came = datagrams(&world, size, count as u32, mbit);
        println!(
            "proof: datagrams of {size} bytes, {:.0} Mbit/s of {}: {} of {count} came, {} overtaken, by {} at most",
            came.mbit,
            2 * rate(),
            came.received,
            came.overtaken,
            came.depth
        );
        assert_eq!(came.received, count as u32, "{size} bytes");
    }
}
