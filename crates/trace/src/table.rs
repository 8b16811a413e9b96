//! Finds a packet's connection: a flat table by both ends and the path, whichever of them sent.
//!
//! The hash is keyed at random for each run, so that no capture can be made to collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use crate::packet::{Endpoint, Packet};

/// Both ends in order, and the path.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    low: Endpoint,
    high: Endpoint,
    path: u64,
}

/// The table: places of connections by key.
#[derive(Debug)]
pub struct Table {
    places: HashMap<Key, u32, Keyed>,
    /// The last one: packets come in trains.
    last: Option<(Key, u32)>,
}

impl Default for Table {
    fn default() -> Table {
        let seed = || RandomState::new().hash_one(0_u8);
        let keyed = Keyed { seed: seed(), factor: seed() | 1 };
        Table { places: HashMap::with_hasher(keyed), last: None }
    }
}

impl Table {
    /// The place of a packet's connection.
    #[inline]
    pub fn find(&mut self, packet: &Packet<'_>) -> Option<u32> {
        let key = Key::of(packet);
        if let Some((last, place)) = self.last
            && last == key
        {
            return Some(place);
        }
        let place = self.places.get(&key).copied()?;
        self.last = Some((key, place));
        Some(place)
    }

    /// Gives a packet's connection a place, a new one if it had another.
    pub fn put(&mut self, packet: &Packet<'_>, place: u32) {
        self.places.insert(Key::of(packet), place);
        self.last = None;
    }
}

impl Key {
    #[inline]
    fn of(packet: &Packet<'_>) -> Key {
        let (a, b) = (packet.source, packet.destination);
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        Key { low, high, path: packet.path }
    }
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, to: &mut H) {
        let halves = |address: [u8; 16]| {
            let whole = u128::from_ne_bytes(address);
            (whole as u64, (whole >> 64) as u64)
        };
        let (a, b) = halves(self.low.address);
        let (c, d) = halves(self.high.address);
        let ports = u64::from(self.low.port) << 16 | u64::from(self.high.port);
        for word in [a, b, c, d, ports ^ self.path.rotate_left(32)] {
            to.write_u64(word);
        }
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}-{:?}/{:x}", self.low, self.high, self.path)
    }
}

/// Makes hashers that multiply and fold, keyed.
#[derive(Clone, Copy, Debug)]
struct Keyed {
    seed: u64,
    factor: u64,
}

struct Fold {
    state: u64,
    factor: u64,
}

impl BuildHasher for Keyed {
    type Hasher = Fold;

    fn build_hasher(&self) -> Fold {
        Fold { state: self.seed, factor: self.factor }
    }
}

impl Hasher for Fold {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let wide = u128::from(self.state ^ word) * u128::from(self.factor);
        self.state = (wide as u64) ^ (wide >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.state.wrapping_mul(self.factor) ^ self.state >> 32
    }
}
