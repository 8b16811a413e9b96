//! Rows of a restart: the next process finds its indexes in the maps and removes unclaimed entries.

use super::explanations::words;
use super::maps::SimulatedMaps;
use super::pictures::{PlannerFixture, pool, service};

fn config(names: &[&str]) -> String {
    let all: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let octet = name.bytes().last().unwrap();
            let servers = [format!("10.0.{octet}.1:80"), format!("10.0.{octet}.2:80")];
            let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
            let forward = ["mac", "nat", "tunnel"][at % 3];
            service(name, forward, &format!("203.0.113.{octet}:80"), "") + &pool(name, &servers, "")
        })
        .collect();
    format!("[packets]\nreturn = [\"10.0.0.254\"]\n{}", all.concat())
}

/// Maps after a configuration, and the planner of the next process.
fn after(text: &str) -> (SimulatedMaps, PlannerFixture, PlannerFixture) {
    let mut first = PlannerFixture::new();
    let mut maps = SimulatedMaps::default();
    maps.apply(&first.change(text).writes);
    let mut next = PlannerFixture::new();
    next.planner.recover(maps.found());
    (maps, first, next)
}

#[test]
fn the_same_configuration_keeps_every_index() {
    let text = config(&["a", "b", "c"]);
    let (mut maps, first, mut next) = after(&text);
    let before = maps.resolved();
    let change = next.change(&text);
    assert!(change.obstacles.is_empty(), "{:?}", change.obstacles);
    maps.apply(&change.writes);
    assert_eq!(maps.resolved(), before);
    for name in ["a", "b", "c"] {
        assert_eq!(next.planner.service_index(name), first.planner.service_index(name), "{name}");
        let octet = name.as_bytes()[0];
        for at in [1, 2] {
            let address = format!("10.0.{octet}.{at}:80").parse().unwrap();
            let new = next.planner.server_index(name, address);
            let old = first.planner.server_index(name, address);
            assert!(new.is_some() && new == old, "{name} {address}: {new:?} was {old:?}");
        }
    }
    assert_eq!(next.planner.draining_servers(), Vec::<u32>::new());
    maps.apply(&next.sweep(&[], &[]).0);
    maps.apply(&next.sweep(&[], &[]).0);
    assert_eq!(maps.resolved(), before, "nothing is given back that is in use");
    assert_eq!(words(&next.change(&text).writes), Vec::<String>::new(), "all is as it should be");
}

#[test]
fn a_service_is_known_by_where_it_listens() {
    let (mut maps, first, mut next) = after(&config(&["a", "b"]));
    let renamed =
        config(&["a", "b"]).replace(".b]", ".xb]").replace("pool = \"b\"", "pool = \"xb\"");
    maps.apply(&next.change(&renamed).writes);
    assert_eq!(next.planner.service_index("xb"), first.planner.service_index("b"));
}

#[test]
fn unclaimed_servers_leave_when_their_connections_end() {
    let (mut maps, _, mut next) = after(&config(&["a", "b", "c"]));
    let one = config(&["a"]);
    maps.apply(&next.change(&one).writes);
    assert_eq!(next.planner.draining_servers().len(), 4);
    let held: Vec<(u32, u32)> =
        next.planner.draining_servers().into_iter().map(|at| (at, 1)).collect();
    for _ in 0..4 {
        let (writes, forgotten) = next.sweep(&held, &[]);
        assert_eq!(forgotten, Vec::<u32>::new());
        maps.apply(&writes);
    }
    next.sweep(&[], &[]);
    let (writes, forgotten) = next.sweep(&[], &[]);
    assert_eq!(forgotten.len(), 4);
    maps.apply(&writes);
    let descriptions = words(&writes);
    assert!(
        descriptions.iter().filter(|write| write.starts_with("drop service")).count() == 2,
        "{descriptions:#?}"
    );
    // The freed indexes are enough for the same number of services.
    let many = config(&["a", "d", "e", "f", "g", "h"]);
    let change = next.change(&many);
    assert!(change.obstacles.is_empty(), "{:?}", change.obstacles);
    maps.apply(&change.writes);
}
