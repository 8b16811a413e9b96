//! Which address comes first, by each policy.

use std::collections::BTreeMap;

use hickory_proto::rr::RecordType;
use model::snapshot::ServerState::Down;

use super::world::ResponderTestbed;

fn counted(world: &mut ResponderTestbed, name: &str, queries: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for _ in 0..queries {
        let address = world.addresses(name).remove(0);
        *counts.entry(address).or_default() += 1;
    }
    counts
}

#[test]
fn turns_are_even_although_clients_ask_for_both_families() {
    let mut world = ResponderTestbed::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..100 {
        *counts.entry(world.addresses("www.gslb.example.org").remove(0)).or_default() += 1;
        world.ask("www.gslb.example.org", RecordType::AAAA);
    }
    assert_eq!(counts.values().copied().collect::<Vec<_>>(), [50, 50]);
}

#[test]
fn weights_are_kept_within_a_few_answers() {
    let mut world = ResponderTestbed::new();
    let counts = counted(&mut world, "weighted.gslb.example.org", 400);
    assert!((297..=303).contains(&counts["10.0.0.2"]), "{counts:?}");
}

#[test]
fn failover_is_the_order_of_the_file() {
    let mut world = ResponderTestbed::new();
    assert_eq!(world.addresses("first.gslb.example.org"), ["10.0.0.1", "10.0.0.2"]);
    world.set(&[("a", Down)]);
    assert_eq!(world.addresses("first.gslb.example.org"), ["10.0.0.2"]);
}

// Rows: I44
#[test]
fn the_nearest_is_the_region_s_and_others_share_by_weight() {
    let mut world = ResponderTestbed::new();
    let name = "near.gslb.example.org";
    world.from = "192.0.2.7".parse().unwrap();
    assert_eq!(counted(&mut world, name, 9).into_keys().collect::<Vec<_>>(), ["10.1.0.1"]);
    world.from = "198.51.100.7".parse().unwrap();
    assert_eq!(counted(&mut world, name, 9).into_keys().collect::<Vec<_>>(), ["10.2.0.1"]);
    world.from = "203.0.113.7".parse().unwrap();
    let counts = counted(&mut world, name, 400);
    assert!((297..=303).contains(&counts["10.2.0.1"]), "{counts:?}");
}

// Rows: I44
#[test]
fn a_network_keeps_its_address_and_networks_are_spread() {
    let mut world = ResponderTestbed::new();
    let name = "kept.gslb.example.org";
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for network in 0..200u8 {
        world.from = [10, 0, network, 1].into();
        let first = world.addresses(name);
        world.from = [10, 0, network, 200].into();
        assert_eq!(world.addresses(name), first);
        *counts.entry(first[0].clone()).or_default() += 1;
    }
    assert!(
        counts.len() == 4 && counts.values().all(|count| (30..=70).contains(count)),
        "{counts:?}"
    );
}
