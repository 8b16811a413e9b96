//! Rows of indexes: none is reused while a connection may still refer to it.

use super::explanations::words;
use super::maps::SimulatedMaps;
use super::pictures::{PlannerFixture, pool, service};

fn mac(servers: &[&str]) -> String {
    service("web", "mac", "203.0.113.10:80", "") + &pool("web", servers, "")
}

fn nat(servers: &[&str]) -> String {
    service("web", "nat", "203.0.113.10:80", "") + &pool("web", servers, "source = \"10.0.0.254\"")
}

#[test]
fn a_server_that_left_keeps_its_index_while_it_has_connections() {
    let mut bench = PlannerFixture::new();
    let two = ["10.0.0.1:80", "10.0.0.2:80"];
    bench.change(&mac(&two));
    bench.change(&mac(&two[1..]));
    assert_eq!(bench.planner.draining_servers(), [0]);
    for _ in 0..5 {
        let (writes, forgotten) = bench.sweep(&[(0, 1), (1, 3)], &[]);
        assert_eq!((words(&writes), forgotten), (vec![], vec![]), "a connection is there");
    }
    let new = words(&bench.change(&mac(&["10.0.0.2:80", "10.0.0.3:80"])).writes);
    assert_eq!(new[0], "server 2 10.0.0.3:0 of 0 takes+serves", "an index that nobody had");
    assert_eq!(bench.sweep(&[(1, 3)], &[]).1, Vec::<u32>::new(), "one sweep may have missed it");
    assert_eq!(bench.sweep(&[(0, 1), (1, 3)], &[]).1, Vec::<u32>::new(), "it had");
    assert_eq!(bench.sweep(&[(1, 3)], &[]).1, Vec::<u32>::new());
    let (writes, forgotten) = bench.sweep(&[(1, 3)], &[]);
    assert_eq!((words(&writes), forgotten), (vec!["drop server 0".to_owned()], vec![0]));
    let four = ["10.0.0.2:80", "10.0.0.3:80", "10.0.0.4:80"];
    let reused = words(&bench.change(&mac(&four)).writes);
    assert_eq!(reused[0], "server 0 10.0.0.4:0 of 0 takes+serves");
}

#[test]
fn who_comes_back_in_time_has_its_connections() {
    for config in [mac, nat] {
        let mut bench = PlannerFixture::new();
        let two = ["10.0.0.1:80", "10.0.0.2:80"];
        let mut maps = SimulatedMaps::default();
        maps.apply(&bench.change(&config(&two)).writes);
        maps.apply(&bench.change(&config(&two[1..])).writes);
        maps.apply(&bench.sweep(&[(0, 7)], &[]).0);
        maps.apply(&bench.change(&config(&two)).writes);
        let address = "10.0.0.1:80".parse().unwrap();
        assert_eq!(bench.planner.server_index("web", address), Some(0));
        assert_eq!(bench.planner.draining_servers(), Vec::<u32>::new());
        maps.apply(&bench.sweep(&[], &[]).0);
        maps.apply(&bench.sweep(&[], &[]).0);
        assert_eq!(bench.planner.server_index("web", address), Some(0), "it is in use");
    }
}

#[test]
fn a_service_that_left_keeps_its_index_as_long_as_its_servers() {
    let mut bench = PlannerFixture::new();
    bench.change(&mac(&["10.0.0.1:80"]));
    bench.change("");
    let other =
        service("other", "mac", "203.0.113.11:80", "") + &pool("other", &["10.0.0.1:80"], "");
    bench.sweep(&[(0, 1)], &[]);
    bench.change(&other);
    assert_eq!(bench.planner.service_index("other"), Some(1), "index 0 has a connection");
    bench.sweep(&[], &[]);
    let (writes, _) = bench.sweep(&[], &[]);
    assert_eq!(words(&writes), ["drop server 0", "drop service 0"]);
    let both = other + &mac(&["10.0.0.2:80"]);
    bench.change(&both);
    assert_eq!(bench.planner.service_index("web"), Some(0), "it is free again");
}

#[test]
fn ports_return_when_their_share_is_unused() {
    let mut bench = PlannerFixture::new();
    let two = ["10.0.0.1:80", "10.0.0.2:80"];
    let mut maps = SimulatedMaps::default();
    maps.apply(&bench.change(&nat(&two)).writes);
    maps.apply(&bench.change(&nat(&two[1..])).writes);
    let (writes, _) = bench.sweep(&[(0, 1)], &[]);
    assert_eq!(words(&writes), Vec::<String>::new(), "answers of its connection are found");
    bench.sweep(&[], &[]);
    let (writes, _) = bench.sweep(&[], &[]);
    assert_eq!(words(&writes), ["drop share4 10.0.0.1:80 10.0.0.254", "drop server 0"]);
    maps.apply(&writes);
    let change = bench.change(&nat(&["10.0.0.2:80", "10.0.0.3:80"]));
    assert!(change.obstacles.is_empty(), "{:?}", change.obstacles);
    maps.apply(&change.writes);
}
