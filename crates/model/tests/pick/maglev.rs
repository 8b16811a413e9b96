//! Maglev: the published numbers, even shares, few moves.

use model::config::BalancePolicy;
use model::hash::{self, HashPurpose};
use model::id::ServerId;
use model::load_balancing::maglev::{MaglevMember, build_table};
use model::load_balancing::{PickResult, Rng, ServerPicker};
use proptest::prelude::*;
use serde_json::Value;

use super::{pick, pick_after, view};

const SIZE: u32 = 16_381;

fn members(weights: &[u16]) -> Vec<MaglevMember> {
    let named = weights.iter().enumerate();
    named.map(|(at, weight)| MaglevMember { name: format!("s{at}"), weight: *weight }).collect()
}

/// FNV-1a of entries as 32-bit little-endian numbers: stands for a table too long to write down.
fn digest(entries: &[u32]) -> u64 {
    entries.iter().flat_map(|entry| entry.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}

#[test]
fn published_vectors() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/maglev.json")).unwrap();
    assert_eq!(vectors["key"].as_str().unwrap().as_bytes(), hash::KEY);
    let names = vectors["names"].as_array().unwrap();
    for row in names {
        let name = row["name"].as_str().unwrap();
        assert_eq!(hash::hash_name(name, HashPurpose::Offset), number(&row["offset"]), "{name}");
        assert_eq!(hash::hash_name(name, HashPurpose::Stride), number(&row["stride"]), "{name}");
    }
    let clients = vectors["clients"].as_array().unwrap();
    for row in clients {
        let address = row["address"].as_str().unwrap();
        assert_eq!(hash::hash_client(address.parse().unwrap()), number(&row["hash"]), "{address}");
    }
    let tables = vectors["tables"].as_array().unwrap();
    for row in tables {
        let members: Vec<(String, u16)> = serde_json::from_value(row["members"].clone()).unwrap();
        let members: Vec<MaglevMember> =
            members.into_iter().map(|(name, weight)| MaglevMember { name, weight }).collect();
        let entries = build_table(&members, row["size"].as_u64().unwrap() as u32);
        let first: Vec<u32> = serde_json::from_value(row["first"].clone()).unwrap();
        assert_eq!(entries[..first.len()], first, "{members:?}");
        assert_eq!(digest(&entries), number(&row["fnv1a"]), "{members:?}");
    }
    assert!(names.len() >= 4 && clients.len() >= 4 && tables.len() >= 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_entry_has_an_owner_and_shares_follow_weights(
        weights in prop::collection::vec(prop_oneof![Just(1u16), 0..=256u16], 1..60),
    ) {
        let members = members(&weights);
        let entries = build_table(&members, SIZE);
        let all: u64 = weights.iter().map(|w| u64::from(*w)).sum();
        if all == 0 {
            prop_assert!(entries.is_empty());
            return Ok(());
        }
        prop_assert_eq!(entries.len(), SIZE as usize);
        let mut counts = vec![0f64; weights.len()];
        entries.iter().for_each(|owner| counts[*owner as usize] += 1.0);
        for (count, weight) in counts.iter().zip(&weights) {
            // Entries that rounding removes from light servers go to all by weight: less than one entry a server.
            let share = f64::from(*weight) / all as f64;
            let (ideal, slack) = (f64::from(SIZE) * share, 2.0 + weights.len() as f64 * share);
            prop_assert!((count - ideal).abs() <= slack, "{count} for {ideal}");
        }
    }

    #[test]
    fn the_order_of_members_does_not_matter(weights in prop::collection::vec(1..=9u16, 2..20), seed: u64) {
        let members = members(&weights);
        let mut shuffled: Vec<usize> = (0..members.len()).collect();
        let mut rng = Rng::new(seed);
        (1..shuffled.len()).rev().for_each(|at| shuffled.swap(at, rng.below(at as u64 + 1) as usize));
        let other: Vec<MaglevMember> = shuffled.iter().map(|at| members[*at].clone()).collect();
        let straight = build_table(&members, 2039);
        let turned: Vec<u32> =
            build_table(&other, 2039).into_iter().map(|at| shuffled[at as usize] as u32).collect();
        prop_assert_eq!(straight, turned);
    }
}

/// The share of entries that moved although their owner is still there.
fn moved(before: &[MaglevMember], after: &[MaglevMember]) -> f64 {
    let old = build_table(before, SIZE);
    let new = build_table(after, SIZE);
    let stays = |name: &str| after.iter().any(|other| other.name == name);
    let needless = old.iter().zip(&new).filter(|(old, new)| {
        let owner = &before[**old as usize].name;
        stays(owner) && *owner != after[**new as usize].name
    });
    needless.count() as f64 / f64::from(SIZE)
}

#[test]
fn removing_one_server_moves_few_clients_of_others() {
    for (count, limit) in [(2, 0.0), (10, 0.04), (100, 0.03), (1000, 0.03)] {
        let before = members(&vec![1; count]);
        for gone in [0, count / 2, count - 1] {
            let mut after = before.clone();
            after.remove(gone);
            let share = moved(&before, &after);
            assert!(
                share <= limit,
                "{count} servers: {:.2} % of entries moved needlessly",
                share * 100.0
            );
        }
    }
}

#[test]
fn a_client_stays_and_steps_on_when_its_server_was_tried() {
    let view = view::pool(BalancePolicy::Maglev { size: SIZE }, &[1; 10]);
    let mut chooser = ServerPicker::new(&view, 1);
    let mut rng = Rng::new(1);
    let mut second = [0u32; 10];
    for number in 0..2000 {
        let PickResult::Server(first) = pick(&mut chooser, &view, number, &mut rng) else {
            panic!()
        };
        assert_eq!(pick(&mut chooser, &view, number, &mut rng), PickResult::Server(first));
        let tried = [ServerId(first as u32)];
        let next = pick_after(&mut chooser, &view, number, &tried, &mut rng);
        assert_eq!(next, pick_after(&mut chooser, &view, number, &tried, &mut rng));
        let PickResult::Server(next) = next else { panic!() };
        assert_ne!(next, first);
        second[next] += 1;
    }
    assert!(
        second.iter().all(|hits| *hits > 100),
        "clients of one server do not all step to the same: {second:?}"
    );
}

#[test]
fn workers_and_networks_agree() {
    let view = view::pool(BalancePolicy::Source { mask4: 24, mask6: 64 }, &[1; 50]);
    let mut one = ServerPicker::new(&view, 1);
    let mut other = ServerPicker::new(&view, 2);
    let mut rng = Rng::new(1);
    for network in 0..200u32 {
        let choice = pick(&mut one, &view, network << 8, &mut rng);
        for host in [1, 77, 255] {
            assert_eq!(pick(&mut other, &view, network << 8 | host, &mut rng), choice);
        }
    }
}

#[test]
fn another_address_under_the_same_name_keeps_the_clients() {
    let before = view::pool(BalancePolicy::Maglev { size: SIZE }, &[1; 5]);
    let mut after = view::pool(BalancePolicy::Maglev { size: SIZE }, &[1; 5]);
    after.servers[2].id = ServerId(99);
    after.servers.swap(0, 4);
    let mut chooser = ServerPicker::new(&before, 1);
    let mut rng = Rng::new(1);
    let chosen: Vec<PickResult> =
        (0..500).map(|n| pick(&mut chooser, &before, n, &mut rng)).collect();
    chooser.refresh(&after);
    for (number, old) in chosen.into_iter().enumerate() {
        let new = pick(&mut chooser, &after, number as u32, &mut rng);
        let (PickResult::Server(old), PickResult::Server(new)) = (old, new) else { panic!() };
        assert_eq!(before.servers[old].config.name, after.servers[new].config.name);
    }
}
