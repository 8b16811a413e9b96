//! Finds a packet's connection: a flat table by both ends and the path, in either direction.
//!
//! The hash is keyed at random for each run, so that no capture can be made to collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use crate::packet::{TcpEndpoint, TcpPacket};

/// Stands for every path. A path is a hash, so that another path equals it once in 2^64.
const ANY_PATH: u64 = u64::MAX;

/// Both ends in order, and the path.
#[derive(Clone, Copy)]
struct ConnectionKey {
    low: TcpEndpoint,
    high: TcpEndpoint,
    path: u64,
}

/// The result of the last search, which the next packet often repeats.
#[derive(Clone, Copy, Debug)]
struct LastLookup {
    key: ConnectionKey,
    place: u32,
}

/// The table: places of connections by key.
#[derive(Debug)]
pub struct ConnectionTable {
    places: HashMap<ConnectionKey, u32, KeyedHashBuilder>,
    /// The last lookup: packets come in trains.
    last: Option<LastLookup>,
}

impl Default for ConnectionTable {
    fn default() -> ConnectionTable {
        let seed = || RandomState::new().hash_one(0_u8);
        let keyed = KeyedHashBuilder { seed: seed(), factor: seed() | 1 };
        ConnectionTable { places: HashMap::with_hasher(keyed), last: None }
    }
}

impl ConnectionTable {
    /// The place of a packet's connection.
    #[inline]
    pub fn find(&mut self, packet: &TcpPacket<'_>) -> Option<u32> {
        let key = ConnectionKey::from_packet(packet);
        if let Some(last) = self.last
            && last.key == key
        {
            return Some(last.place);
        }
        let place = self.places.get(&key).copied()?;
        self.last = Some(LastLookup { key, place });
        Some(place)
    }

    /// The place of the last connection between a packet's ends, whatever its path.
    pub fn find_any_path(&self, packet: &TcpPacket<'_>) -> Option<u32> {
        let key = ConnectionKey { path: ANY_PATH, ..ConnectionKey::from_packet(packet) };
        self.places.get(&key).copied()
    }

    /// Gives a packet's connection a place; replaces an earlier one.
    pub fn insert(&mut self, packet: &TcpPacket<'_>, place: u32) {
        let key = ConnectionKey::from_packet(packet);
        self.places.insert(key, place);
        self.places.insert(ConnectionKey { path: ANY_PATH, ..key }, place);
        self.last = None;
    }

    /// Gives connections other places; those that get none are forgotten.
    pub fn move_places(&mut self, new_place: impl Fn(u32) -> Option<u32>) {
        self.places.retain(|_, place| match new_place(*place) {
            Some(new) => {
                *place = new;
                true
            }
            None => false,
        });
        self.places.shrink_to_fit();
        self.last = None;
    }

    /// Adds another path of a connection.
    pub fn add_path(&mut self, packet: &TcpPacket<'_>, place: u32) {
        self.places.insert(ConnectionKey::from_packet(packet), place);
        self.last = None;
    }
}

impl ConnectionKey {
    #[inline]
    fn from_packet(packet: &TcpPacket<'_>) -> ConnectionKey {
        let a = packet.source;
        let b = packet.destination;
        // Any order serves; one of numbers costs least.
        let rank = |end: TcpEndpoint| (u128::from_ne_bytes(end.address), end.port);
        let (low, high) = if rank(a) <= rank(b) { (a, b) } else { (b, a) };
        ConnectionKey { low, high, path: packet.path }
    }

    /// The key in words, which are compared and hashed faster than bytes.
    #[inline]
    fn words(&self) -> [u64; 6] {
        let low = u128::from_ne_bytes(self.low.address);
        let high = u128::from_ne_bytes(self.high.address);
        let ports = u64::from(self.low.port) << 16 | u64::from(self.high.port);
        [low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64, ports, self.path]
    }
}

impl PartialEq for ConnectionKey {
    #[inline]
    fn eq(&self, other: &ConnectionKey) -> bool {
        let pairs = self.words().into_iter().zip(other.words());
        // Without a branch for each word.
        pairs.fold(0, |differs, (mine, theirs)| differs | (mine ^ theirs)) == 0
    }
}

impl Eq for ConnectionKey {}

impl Hash for ConnectionKey {
    #[inline]
    fn hash<H: Hasher>(&self, to: &mut H) {
        let [a, b, c, d, ports, path] = self.words();
        for word in [a, b, c, d, ports ^ path.rotate_left(32)] {
            to.write_u64(word);
        }
    }
}

impl std::fmt::Debug for ConnectionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}-{:?}/{:x}", self.low, self.high, self.path)
    }
}

/// Makes hashers that multiply and fold, keyed.
#[derive(Clone, Copy, Debug)]
struct KeyedHashBuilder {
    seed: u64,
    factor: u64,
}

struct FoldHasher {
    state: u64,
    factor: u64,
}

impl BuildHasher for KeyedHashBuilder {
    type Hasher = FoldHasher;

    fn build_hasher(&self) -> FoldHasher {
        FoldHasher { state: self.seed, factor: self.factor }
    }
}

impl Hasher for FoldHasher {
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
