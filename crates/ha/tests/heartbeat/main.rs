//! Two members with a heartbeat, over a service network and paths that lose, delay, reorder and split independently.
//! Members crash, clocks jump, targets fail, and an attacker replays packets. Runs are seeded; to repeat one:
//! `STEELYARD_SEED=n cargo test -p ha --test heartbeat`.
//!
//! At every step:
//! - two members that hear each other over the service network or any path both answer for the address only as long as
//!   one message takes;
//! - while both live and some path works, a failure of the service network alone does not move the address;
//! - after everything has healed exactly one member answers, within the stated time and from then on. It is the member
//!   that reaches more, or else the one with the higher priority where preemption is on.

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

/// Seeds of an ordinary run, which keep the test short; `tests/prove` runs more.
const SEEDS: u64 = 80;

// Rows: I33
#[test]
fn one_member_answers_whatever_fails() {
    let mut takeovers = 0;
    let mut withheld = 0;
    let mut replayed = 0;
    for seed in seeds(SEEDS) {
        let mut world = HeartbeatSimulation::new(SeededRandom::new(seed), FailureKind::Everything);
        world.run();
        takeovers += world.sum(|counts| counts.takeovers);
        withheld += world.sum(|counts| counts.blocked_takeovers);
        replayed += world.replayed;
    }
    println!(
        "proof: {} seeds, {takeovers} takings, {withheld} times withheld, {replayed} packets repeated",
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

// Rows: I34
#[test]
fn who_reaches_more_has_the_address() {
    let mut takeovers = 0;
    for seed in seeds(SEEDS) {
        let mut world = HeartbeatSimulation::new(SeededRandom::new(seed), FailureKind::Reach);
        world.run();
        takeovers += world.sum(|counts| counts.takeovers);
    }
    println!("proof: {} seeds of failing targets, {takeovers} takings", seeds(SEEDS).count());
}
