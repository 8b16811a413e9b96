//! Two members and a witness, over a network that loses, repeats, delays, reorders and splits between any of them.
//! Members crash and pause, the witness forgets, and clocks run up to two per cent too fast or too slow. Runs are
//! seeded; to repeat one: `STEELYARD_SEED=n cargo test -p ha --test witness`.
//!
//! What must hold:
//! - at no step do two members answer for the address, whatever fails;
//! - after two of the three hear each other again exactly one member answers, within the stated time and from then on:
//!   both members without the witness, one member and the witness, or both members that hear only the witness.

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
use world::{SettledOutcome, WitnessSimulation};

/// Seeds of an ordinary run, which keep the test short; `tests/prove` runs more.
const SEEDS: u64 = 80;

#[test]
fn never_two_and_one_wherever_two_of_three_agree() {
    let mut takeovers = 0;
    let mut alone = 0;
    let mut withheld = 0;
    let mut served = 0;
    let mut steps = 0;
    for seed in seeds(SEEDS) {
        let calm = [
            SettledOutcome::Well,
            SettledOutcome::NoWitness,
            SettledOutcome::Split,
            SettledOutcome::OneMember,
        ][seed as usize % 4];
        let mut world = WitnessSimulation::new(SeededRandom::new(seed), calm);
        world.run();
        takeovers += world.sum(|counts| counts.takeovers);
        alone += world.sum(|counts| counts.lost_quorum);
        withheld += world.sum(|counts| counts.blocked_takeovers);
        served += world.served;
        steps += world.steps;
    }
    let count = seeds(SEEDS).count();
    assert!(count < 20 || (alone > 0 && withheld > 0), "nothing was put to the test");
    println!(
        "proof: {count} seeds of a witness, {takeovers} takings, {alone} times given up alone, {withheld} times withheld, \
         one answered in {} of 100 steps of trouble, never two",
        100 * served / steps.max(1)
    );
}
