//! Two or three members over a network that loses, repeats, delays, reorders and splits, with crashes, stops and clocks
//! that jump. Runs are seeded; to repeat one: `STEELYARD_SEED=n cargo test -p ha --test simulation`.
//!
//! At every step:
//! - two members that hear each other both answer for the address only as long as one advertisement takes;
//! - after the network has healed exactly one member answers, within the stated time and from then on;
//! - soon after that every neighbour uses that member: hosts, and a router whose entry never expires. After a full
//!   split, this follows from the members' advertisements; after other faults, at the latest from the next
//!   announcement;
//! - the member with the highest priority answers wherever preemption is on;
//! - as long as only members fail, two members both answer at most for the hold of a stopped member. Each member that
//!   is stopped or killed meanwhile adds one such period.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod dice;
mod member;
mod neighbours;
mod world;

use std::time::Duration;

use dice::{SeededRandom, seeds};
use world::{MEMBERS_FAIL, VrrpSimulation};

/// Seeds of an ordinary run, which keep the test short; `tests/prove` runs more.
const SEEDS: u64 = 200;

/// Interval of announcements where packets may be lost.
const REFRESH: Duration = Duration::from_secs(2);

#[test]
fn one_member_answers_whatever_the_network_does() {
    let mut split = 0;
    let mut takeovers = 0;
    let mut stalled = 0;
    for seed in seeds(SEEDS) {
        let mut world = VrrpSimulation::new(SeededRandom::new(seed), true, Some(REFRESH));
        world.run();
        split += world.splits();
        takeovers += world.sum(|counts| counts.takeovers);
        stalled += world.sum(|counts| counts.stalled);
    }
    println!(
        "proof: {} seeds, {takeovers} takings, {split} splits of the network, {stalled} stalls",
        seeds(SEEDS).count()
    );
}

#[test]
fn members_that_fail_never_leave_two_that_answer() {
    let mut takeovers = 0;
    for seed in seeds(SEEDS) {
        let mut world = VrrpSimulation::new(SeededRandom::new(seed ^ MEMBERS_FAIL), false, None);
        world.run();
        takeovers += world.sum(|counts| counts.takeovers);
    }
    println!("proof: {} seeds of failing members, {takeovers} takings", seeds(SEEDS).count());
}

#[test]
fn after_a_split_all_neighbours_believe_the_active_member() {
    let mut given = 0;
    let mut notices = 0;
    for seed in seeds(SEEDS) {
        let mut world = VrrpSimulation::new(SeededRandom::new(seed), true, None);
        world.run_split();
        given += world.sum(|counts| counts.releases);
        notices += world.sum(|counts| counts.notices);
    }
    println!("proof: {} splits, {given} gave up, {notices} notices", seeds(SEEDS).count());
}
