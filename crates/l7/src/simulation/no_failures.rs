//! Seeded simulation of clients and servers in every mode: responses, records, and no mix-up between requests.

use std::collections::BTreeMap;
use std::time::Duration;

use super::client::{ClientOutcome, RequestNote};
use super::harness::seeds;
use super::scenarios::{Scenario, check_invariants, run};

const GOOD: &[&str] = &["plain", "chunked", "until-close", "hints", "closing", "silent-close"];
const ALL: &[&str] = &[
    "plain",
    "chunked",
    "until-close",
    "hints",
    "closing",
    "silent-close",
    "cut",
    "die",
    "garbage",
    "silent",
];

#[test]
fn healthy_servers_answer_every_request() {
    let mut small_bodies = 0_usize;
    let mut left_us = 0_usize;
    for seed in seeds(20) {
        let scene = Scenario {
            seed,
            clients: 8,
            modes: GOOD,
            idle: None,
            dead: seed % 3 == 0,
            leaving: false,
            streams: false,
            methods: &["GET", "HEAD", "PUT"],
        };
        let outcome = run(&scene);
        check_invariants(&scene, &outcome);
        let mut closed_by_us = BTreeMap::new();
        for RequestNote { planned, saw } in &outcome.notes {
            match saw {
                ClientOutcome::Answer(200, None) => {
                    small_bodies += usize::from((1..=1000).contains(&planned.upload));
                }
                // A large body was partly sent and released before the server closed, so it cannot be sent again.
                ClientOutcome::Answer(502, Some(_)) if planned.upload > 1000 => {}
                // A small body is sent and stored with its head, except for a few that arrived separately.
                ClientOutcome::Answer(502, Some(_)) if planned.upload > 0 => left_us += 1,
                // After a response that ends the connection, the client must repeat its pipelined requests.
                ClientOutcome::Nothing => *closed_by_us.entry(planned.id).or_insert(0) += 1,
                other => panic!("seed {seed}: {planned:?} saw {other:?}"),
            }
        }
        let ends = outcome.notes.iter().filter(|note| note.planned.mode == "until-close").count();
        assert!(closed_by_us.is_empty() || ends > 0, "seed {seed}: no answer for {closed_by_us:?}");
    }
    assert!(
        left_us * 1000 <= small_bodies.max(1000),
        "{left_us} of {small_bodies} small bodies could not be sent again"
    );
}

#[test]
fn servers_that_close_idle_connections_cost_no_request_and_duplicate_none() {
    for seed in seeds(12) {
        let scene = Scenario {
            seed,
            clients: 10,
            modes: &["plain", "chunked"],
            idle: Some(Duration::from_secs(1)),
            dead: false,
            leaving: false,
            streams: false,
            methods: &["GET", "POST"],
        };
        let outcome = run(&scene);
        check_invariants(&scene, &outcome);
        let seen: BTreeMap<u64, _> =
            outcome.notes.iter().map(|note| (note.planned.id, note)).collect();
        for note in seen.values() {
            let RequestNote { planned, saw } = note;
            // A lost POST with an incomplete body ends its connection, and the requests that were pipelined after it.
            let before =
                seen.range(..planned.id).rev().find(|(_, note)| note.saw != ClientOutcome::Nothing);
            let ended =
                before.is_some_and(|(_, post)| is_lost_post(post) && post.planned.upload > 0);
            assert!(
                matches!(saw, ClientOutcome::Answer(200, None))
                    || is_lost_post(note)
                    || (*saw == ClientOutcome::Nothing && ended),
                "seed {seed}: {planned:?} saw {saw:?}"
            );
        }
    }
}

fn is_lost_post(note: &RequestNote) -> bool {
    note.planned.method == "POST" && matches!(note.saw, ClientOutcome::Answer(502, Some(_)))
}

#[test]
fn whatever_peers_do_accounts_close_and_nothing_is_mixed() {
    for seed in seeds(30) {
        let scene = Scenario {
            seed,
            clients: 8,
            modes: ALL,
            idle: (seed % 2 == 0).then_some(Duration::from_millis(700)),
            dead: seed % 3 == 0,
            leaving: true,
            streams: false,
            methods: &["GET", "HEAD", "POST", "PUT"],
        };
        check_invariants(&scene, &run(&scene));
    }
}

#[test]
fn streams_of_one_connection_are_exchanges_of_their_own() {
    for seed in seeds(15) {
        let scene = Scenario {
            seed,
            clients: 6,
            modes: ALL,
            idle: (seed % 2 == 0).then_some(Duration::from_millis(700)),
            dead: seed % 3 == 0,
            leaving: false,
            streams: true,
            methods: &["GET", "HEAD", "POST", "PUT"],
        };
        let outcome = run(&scene);
        check_invariants(&scene, &outcome);
        for RequestNote { planned, saw } in &outcome.notes {
            let good =
                GOOD.contains(&planned.mode) && planned.method != "POST" && planned.upload == 0;
            assert!(
                !good || matches!(saw, ClientOutcome::Answer(200, None)),
                "seed {seed}: {planned:?} saw {saw:?}"
            );
        }
    }
}
