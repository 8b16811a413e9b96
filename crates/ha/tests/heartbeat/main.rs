//! Two members with a heartbeat, over a service network and paths that lose, delay, reorder and split one by one, with
//! crashes, clocks that jump, targets that fail, and somebody who repeats what was said. From a seed; another run of one:
//! `STEELYARD_SEED=n cargo test -p ha --test heartbeat`.
//!
//! What must hold at every step:
//! - two members answer for the address only as long as what they say needs to be heard, while they hear each other by
//!   the service network or by any path;
//! - while both live and some path works, the address is not moved by the service network alone;
//! - after everything has healed exactly one member answers, within the stated time and from then on, and it is the one
//!   that reaches more, or else the one with the higher priority where taking over is allowed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

#[path = "../simulation/dice.rs"]
mod dice;
mod member;
mod world;

use dice::{SeededRandom, seeds};
use world::{FailureKind, HeartbeatSimulation};

/// Seeds of a run in the gate; `tests/prove` takes more.
const SEEDS: u64 = 80;

#[test]
fn one_member_answers_whatever_fails() {
    let mut taken = 0;
    let mut withheld = 0;
    let mut replayed = 0;
    for seed in seeds(SEEDS) {
        let mut world = HeartbeatSimulation::new(SeededRandom::new(seed), FailureKind::Everything);
        world.run();
        taken += world.sum(|counts| counts.takeovers);
        withheld += world.sum(|counts| counts.blocked_takeovers);
        replayed += world.replayed;
    }
    println!(
        "proof: {} seeds, {taken} takings, {withheld} times withheld, {replayed} packets repeated",
        seeds(SEEDS).count()
    );
}

#[test]
fn a_service_network_that_fails_alone_moves_nothing() {
    let mut withheld = 0;
    for seed in seeds(SEEDS) {
        let mut world = HeartbeatSimulation::new(SeededRandom::new(seed), FailureKind::Service);
        world.run();
        withheld += world.sum(|counts| counts.blocked_takeovers);
    }
    assert!(withheld > 0);
    println!(
        "proof: {} seeds of a failing service network, {withheld} times withheld",
        seeds(SEEDS).count()
    );
}

#[test]
fn who_reaches_more_has_the_address() {
    let mut taken = 0;
    for seed in seeds(SEEDS) {
        let mut world = HeartbeatSimulation::new(SeededRandom::new(seed), FailureKind::Reach);
        world.run();
        taken += world.sum(|counts| counts.takeovers);
    }
    println!("proof: {} seeds of failing targets, {taken} takings", seeds(SEEDS).count());
}
