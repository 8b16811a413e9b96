//! DNS responses follow the health verdicts.

use model::snapshot::ServerState;
use tests::e2e::wait;

use super::setup::{NameServerSetup, ZONE};

// Rows: I44
#[test]
fn a_server_that_dies_is_gone_from_answers_within_a_time_to_live() {
    let Some(mut world) = NameServerSetup::open(ZONE) else { return };
    world.resolve();
    let both = || {
        let answers: std::collections::BTreeSet<String> =
            (0..8).map(|_| world.dig(&["www.gslb.example", "A", "+short"])).collect();
        answers.len()
    };
    assert_eq!(both(), 2);
    // The resolver caches a response for a second at most.
    let kept = world.resolved("www.gslb.example", "A");
    let ttl: u32 = kept
        .split_whitespace()
        .nth(1)
        .and_then(|ttl| ttl.parse().ok())
        .unwrap_or_else(|| panic!("{kept}"));
    assert!(ttl <= 1, "{kept}");
    drop(world.origins[0].take());
    wait::until("a is down", || world.balancer.server("a").state == ServerState::Down);
    // The daemon rebuilds the zone data after the verdict. From then on, no response contains the server.
    wait::until("we answer without it", || {
        world
            .balancer
            .status()
            .names
            .unwrap()
            .names
            .iter()
            .any(|it| it.name == "www.gslb.example" && it.up == 1)
    });
    for _ in 0..8 {
        assert_eq!(world.dig(&["www.gslb.example", "A", "+short"]), "127.0.0.12");
    }
    wait::until("the resolver has forgotten it", || {
        world.resolved("www.gslb.example", "A").contains("127.0.0.12")
    });
    for _ in 0..8 {
        assert!(!world.resolved("www.gslb.example", "A").contains("127.0.0.11"));
    }
    let told = world.steelyard(&["explain", "name", "www.gslb.example", "--from", "192.0.2.1"]);
    assert!(told.contains("1 of 2 may be given") && told.contains("not given: down"), "{told}");
    drop(world.origins[1].take());
    wait::until("none is left, and all are given", || {
        world
            .balancer
            .status()
            .names
            .unwrap()
            .names
            .iter()
            .any(|it| it.name == "www.gslb.example" && it.fallback)
    });
    assert!(world.dig(&["www.gslb.example", "A", "+short"]).starts_with("127.0.0.1"));
}
