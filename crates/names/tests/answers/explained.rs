//! The explanation agrees with the answer.

use std::net::IpAddr;

use model::snapshot::ServerState::Down;
use names::domain::DomainName;
use names::explain::{NameExplanation, explain};

use super::world::ResponderTestbed;

fn explanation(world: &ResponderTestbed, name: &str, kind: u16, from: &str) -> NameExplanation {
    explain(&world.zone_data, &DomainName::parse(name).unwrap(), kind, from.parse().unwrap())
}

#[test]
fn shares_are_those_of_the_answers() {
    let mut world = ResponderTestbed::new();
    for (name, from) in [
        ("www.gslb.example.org", "203.0.113.7"),
        ("weighted.gslb.example.org", "203.0.113.7"),
        ("first.gslb.example.org", "203.0.113.7"),
        ("near.gslb.example.org", "192.0.2.7"),
        ("near.gslb.example.org", "203.0.113.7"),
        ("kept.gslb.example.org", "203.0.113.7"),
        ("alias.gslb.example.org", "203.0.113.7"),
    ] {
        world.from = from.parse().unwrap();
        let explained = explanation(&world, name, 1, from);
        let queries = 400;
        let mut hits: Vec<f64> = vec![0.0; explained.candidates.len()];
        for _ in 0..queries {
            let addresses = world.addresses(name);
            let first = addresses.iter().find_map(|text| text.parse::<IpAddr>().ok()).unwrap();
            let at = explained.candidates.iter().position(|it| it.addresses.contains(&first));
            hits[at.unwrap()] += 1.0 / f64::from(queries);
        }
        for (hit, row) in hits.iter().zip(&explained.candidates) {
            assert!((hit - row.share).abs() < 0.02, "{name}: {} {hit} {row:?}", row.name);
        }
    }
}

#[test]
fn the_reason_is_in_the_steps() {
    let mut world = ResponderTestbed::new();
    let has = |explained: &NameExplanation, text: &str| {
        explained.steps.iter().any(|step| step.contains(text))
    };
    world.set(&[("a", Down)]);
    let some = explanation(&world, "www.gslb.example.org", 1, "192.0.2.1");
    assert!(has(&some, "2 of 3 may be given") && has(&some, "each address in turn"), "{some:?}");
    assert_eq!((some.candidates[0].up, some.candidates[0].reason.as_str()), (false, "down"));
    world.set(&[("a", Down), ("b", Down), ("c", Down)]);
    assert!(has(
        &explanation(&world, "www.gslb.example.org", 1, "192.0.2.1"),
        "all are given as if they were"
    ));
    assert!(has(&explanation(&world, "last.gslb.example.org", 1, "192.0.2.1"), "198.51.100.9"));
    let near = explanation(&world, "near.gslb.example.org", 1, "192.0.2.1");
    assert!(has(&near, "192.0.2.1 lies in 192.0.2.0/24, which prefers east") && near.scope == 24);
    assert!(has(&explanation(&world, "nothing.gslb.example.org", 1, "192.0.2.1"), "NXDOMAIN"));
    assert!(explanation(&world, "www.example.com", 1, "192.0.2.1").zone.is_none());
    assert!(has(&explanation(&world, "away.gslb.example.org", 1, "192.0.2.1"), "not ours"));
    assert!(has(&explanation(&world, "b.www.gslb.example.org", 1, "192.0.2.1"), "one alone"));
}
