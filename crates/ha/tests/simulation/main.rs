//! Two or three members over a network that loses, repeats, delays, reorders and splits, with crashes, stops and clocks
//! that jump, from a seed. Another run of one: `STEELYARD_SEED=n cargo test -p ha --test simulation`.
//!
//! What must hold at every step:
//! - two members answer for the address only as long as one advertisement needs to be heard, while they hear each other;
//! - after the network has healed exactly one member answers, within the stated time and from then on;
//! - it is the one with the highest priority wherever taking over is allowed;
//! - as long as nothing but members fails, no two ever answer longer than the hold of one that was stopped, and once more
//!   for each that is stopped or killed meanwhile.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod dice;
mod world;

use dice::{Dice, seeds};
use world::{MEMBERS_FAIL, World};

/// Seeds of a run in the gate; `tests/prove` takes more.
const SEEDS: u64 = 200;

#[test]
fn one_member_answers_whatever_the_network_does() {
    let (mut split, mut taken, mut stalled) = (0, 0, 0);
    for seed in seeds(SEEDS) {
        let mut world = World::new(Dice::new(seed), true);
        world.run();
        split += world.splits();
        taken += world.sum(|counts| counts.taken);
        stalled += world.sum(|counts| counts.stalled);
    }
    println!(
        "proof: {} seeds, {taken} takings, {split} splits of the network, {stalled} stalls",
        seeds(SEEDS).count()
    );
}

#[test]
fn members_that_fail_never_leave_two_that_answer() {
    let mut taken = 0;
    for seed in seeds(SEEDS) {
        let mut world = World::new(Dice::new(seed ^ MEMBERS_FAIL), false);
        world.run();
        taken += world.sum(|counts| counts.taken);
    }
    println!("proof: {} seeds of failing members, {taken} takings", seeds(SEEDS).count());
}
