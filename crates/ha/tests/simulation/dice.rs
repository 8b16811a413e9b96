//! Random numbers from a seed (SplitMix64), not for secrets.

/// Seeds of a run: `gate` of them, as many as STEELYARD_SEEDS demands, or only STEELYARD_SEED.
pub fn seeds(gate: u64) -> impl Iterator<Item = u64> {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let one: Option<u64> = number("STEELYARD_SEED");
    let count = number("STEELYARD_SEEDS").unwrap_or(gate);
    let first = one.unwrap_or(0);
    first..first + if one.is_some() { 1 } else { count }
}

#[derive(Clone, Debug)]
pub struct SeededRandom {
    state: u64,
    /// The seed, for messages.
    pub seed: u64,
}

impl SeededRandom {
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom { state: seed, seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` up to but without `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }

    /// True in `chance` of a hundred cases.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.between(0, 100) < chance
    }
}
