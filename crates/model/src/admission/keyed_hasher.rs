//! Hashes of small numbers for the tables of connections. Each takes a few instructions and uses random keys of its
//! table, so that attackers cannot choose clients whose hashes collide.
//!
//! Two multiplications whose halves are folded (as in wyhash). The hashes never leave the process.

use std::hash::{BuildHasher, Hasher, RandomState};

#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedBuildHasher {
    start: u64,
    key: u64,
    last: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedHasher {
    state: u64,
    key: u64,
    last: u64,
}

impl Default for KeyedBuildHasher {
    fn default() -> Self {
        let random = RandomState::new();
        // Odd, so that the multiplication is a bijection.
        KeyedBuildHasher {
            start: random.hash_one(0),
            key: random.hash_one(1) | 1,
            last: random.hash_one(2) | 1,
        }
    }
}

impl BuildHasher for KeyedBuildHasher {
    type Hasher = KeyedHasher;

    #[inline]
    fn build_hasher(&self) -> KeyedHasher {
        KeyedHasher { state: self.start, key: self.key, last: self.last }
    }
}

impl Hasher for KeyedHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(eight));
        }
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.state = folded_multiply(self.state ^ number, self.key);
    }

    #[inline]
    fn finish(&self) -> u64 {
        folded_multiply(self.state ^ self.key, self.last)
    }
}

#[inline]
fn folded_multiply(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_spread_evenly_and_differently_under_each_key() {
        let keyed = KeyedBuildHasher::default();
        let mut parts = [0_u32; 16];
        for number in 0..16_000_u64 {
            parts[(keyed.hash_one(number << 32) >> 60) as usize] += 1;
        }
        assert!(parts.iter().all(|part| (800..1200).contains(part)), "{parts:?}");
        let other = KeyedBuildHasher::default();
        assert!((0..64_u64).filter(|n| keyed.hash_one(n) == other.hash_one(n)).count() < 2);
    }

    #[test]
    fn bytes_that_differ_anywhere_differ() {
        let keyed = KeyedBuildHasher::default();
        let mut seen = std::collections::HashSet::new();
        for at in 0..20 {
            let mut bytes = [0_u8; 20];
            bytes[at] = 1;
            let mut hasher = keyed.build_hasher();
            hasher.write(&bytes);
            assert!(seen.insert(hasher.finish()), "byte {at}");
        }
    }
}
