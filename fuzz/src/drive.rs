//! Runs a target with its initial inputs and with blind mutations. A failure prints a line that reproduces it.
//!
//! `STEELYARD_FUZZ_TIMES` multiplies the number of mutations of each target, and `STEELYARD_FUZZ_RUNS` sets it for all
//! targets. `STEELYARD_FUZZ_SEED` is the number of the first mutation.

use crate::corpus_files;
use crate::mutate::{SplitMix, mutate};
use crate::target::FuzzTarget;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a target with its seeds, its stored corpus and its regressions, and then with mutations of these.
///
/// # Panics
///
/// The target panics. The message has the target's name, the number of the mutation and the escaped input.
pub fn drive(target: &FuzzTarget) {
    let FuzzTarget { name, seeds, dictionary: words, runs, .. } = target;
    let runs = setting("STEELYARD_FUZZ_RUNS", runs * setting("STEELYARD_FUZZ_TIMES", 1));
    let first = setting("STEELYARD_FUZZ_SEED", 0);
    for one in corpus_files::regressions(name) {
        run(target, &format!("the regression {}", one.name), &one.input);
    }
    let kept = corpus_files::corpus(name);
    for input in seeds.iter().chain(&kept) {
        run(target, "a seed or the kept corpus", input);
    }
    let all = corpus_files::initial_inputs(target);
    for number in first..first + runs {
        let input = mutate(&mut SplitMix::new(number), &all, words);
        run(target, &format!("STEELYARD_FUZZ_RUNS=1 STEELYARD_FUZZ_SEED={number}"), &input);
    }
    let seeds = seeds.len();
    let kept = kept.len();
    println!("proof: {name}: {seeds} seeds, {kept} kept and {runs} mutations from number {first}");
}

fn run(target: &FuzzTarget, which: &str, input: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.function)(input))).is_err() {
        panic!("{} failed ({which}) with b\"{}\"", target.name, input.escape_ascii());
    }
}

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.parse().unwrap_or_else(|_| panic!("{name} is a number, not {value}")),
        Err(_) => default,
    }
}
