//! Runs a target with seeds and with mutations of them, and tells a failure so that one line repeats it.
//!
//! `STEELYARD_FUZZ_TIMES` multiplies how many mutations each target gets, `STEELYARD_FUZZ_RUNS` sets it for all alike;
//! `STEELYARD_FUZZ_SEED` sets the first number of them.

use crate::mutate::{Draw, mutate};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A target and what feeds it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Its name in what is printed.
    pub name: &'a str,
    /// Inputs that mutations begin with.
    pub seeds: &'a [Vec<u8>],
    /// What mutations insert.
    pub words: &'a [&'a [u8]],
    /// Mutations when nothing is set: about a second's worth in a debug build, so that all targets take about as long.
    pub runs: u64,
}

/// Runs `judge` with every seed, then with mutations.
///
/// # Panics
///
/// With the target's name, the number of the mutation and the escaped input, when the target does.
pub fn drive(target: Target, judge: impl Fn(&[u8])) {
    let Target { name, seeds, words, runs } = target;
    let runs = setting("STEELYARD_FUZZ_RUNS", runs * setting("STEELYARD_FUZZ_TIMES", 1));
    let first = setting("STEELYARD_FUZZ_SEED", 0);
    for seed in seeds {
        run(name, "a seed", seed, &judge);
    }
    for number in first..first + runs {
        let input = mutate(&mut Draw::new(number), seeds, words);
        run(name, &format!("STEELYARD_FUZZ_RUNS=1 STEELYARD_FUZZ_SEED={number}"), &input, &judge);
    }
    println!("proof: {name}: {} seeds and {runs} mutations from number {first}", seeds.len());
}

fn run(name: &str, which: &str, input: &[u8], judge: &impl Fn(&[u8])) {
    if catch_unwind(AssertUnwindSafe(|| judge(input))).is_err() {
        panic!("{name} failed ({which}) with b\"{}\"", input.escape_ascii());
    }
}

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.parse().unwrap_or_else(|_| panic!("{name} is a number, not {value}")),
        Err(_) => default,
    }
}
