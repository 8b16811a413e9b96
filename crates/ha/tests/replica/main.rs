//! Two members, one of which has connections and replicates them over a network that loses, repeats, delays, reorders
//! and splits. Runs are seeded; to repeat one: `STEELYARD_SEED=n cargo test -p ha --test replica`.
//!
//! What must hold:
//! - no packet replaces an entry by an older one, in whatever order packets arrive;
//! - after the network has healed, the other member has every entry, and both report that;
//! - the number of packets in flight, and the memory for them, stay within the window;
//! - a member whose process or tables begin anew gets everything.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

#[path = "../simulation/dice.rs"]
mod dice;
mod world;

use dice::{SeededRandom, seeds};
use world::ReplicaSimulation;

/// Seeds of an ordinary run, which keep the test short; `tests/prove` runs more.
const SEEDS: u64 = 60;

#[test]
fn the_other_member_has_every_entry_as_it_is_here() {
    let mut sent = 0;
    let mut resent = 0;
    let mut syncs = 0;
    let mut late = 0;
    for seed in seeds(SEEDS) {
        let mut world = ReplicaSimulation::new(SeededRandom::new(seed));
        world.run();
        sent += world.partner_counters().sent;
        resent += world.partner_counters().resent;
        syncs += world.partner_counters().syncs;
        late += world.late;
    }
    println!(
        "proof: {} seeds, {sent} records, {resent} told anew, {syncs} times of everything, {late} packets overtaken",
        seeds(SEEDS).count()
    );
    assert!(seeds(SEEDS).count() == 1 || resent > 0 && late > 0, "nothing was lost or overtaken");
}
