//! Tables of hashed entries, as `bpf/flow.h` has them: two buckets of four entries for a key, claimed and changed by
//! compare-and-swap.

use std::io;
use std::net::{IpAddr, SocketAddr};

use bpf::{MapValue, MappedArray};

use crate::abi::{self, State};
use crate::plan::encoding::to_mapped_bytes;

/// The keys of hashes.
pub type FlowHashSecret = [u64; 4];

const SLOTS_IN_BUCKET: usize = abi::WAYS_IN_BUCKET as usize;
/// Words of a bucket: one for each fingerprint, and one for each entry.
const BUCKET: usize = 2 * SLOTS_IN_BUCKET;
/// A claimed entry that is not filled in yet.
const CLAIM: u64 = 1;
/// Attempts at an entry that the datapath changes at the same time: bounds the wait.
/// Each attempt fails only when the datapath changed the same entry in between.
const TRIES: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEntry {
    /// The hash of its key.
    pub fingerprint: u64,
    /// The index of its server.
    pub server: u32,
    /// The connection's state; unused for sticky clients.
    pub state: State,
    /// Ticks until the entry expires.
    pub ttl_ticks: u32,
}

impl FlowEntry {
    /// The low half of the entry's word.
    pub(super) fn low_word(&self) -> u32 {
        (self.state as u32) << 28 | self.server & 0xfff_ffff
    }
}

/// The result of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutResult {
    /// The entry is in the table now.
    Done,
    /// Another entry has the same key or position, and was not changed.
    Occupied,
    /// There is no room.
    Full,
}

/// The hash of a connection from the client's side, equal to `flow_fingerprint` of the datapath. `proto` separates
/// families of keys.
pub fn flow_fingerprint(
    secret: &FlowHashSecret,
    source: SocketAddr,
    to: SocketAddr,
    proto: u32,
) -> u64 {
    let words = |ip: IpAddr| -> [u64; 4] {
        let bytes = to_mapped_bytes(ip);
        std::array::from_fn(|at| u64::from(<u32 as MapValue>::read(&bytes[at * 4..])))
    };
    let src = words(source.ip());
    let dst = words(to.ip());
    let raw = |port: u16| u64::from(u16::from_ne_bytes(port.to_be_bytes()));
    let mut hash = secret[0];
    if source.is_ipv4() {
        hash = mix(hash, src[3] << 32 | dst[3], secret[1]);
    } else {
        hash = mix(hash, src[0] << 32 | src[1], secret[1]);
        hash = mix(hash, src[2] << 32 | src[3], secret[2]);
        hash = mix(hash, dst[0] << 32 | dst[1], secret[3]);
        hash = mix(hash, dst[2] << 32 | dst[3], secret[1]);
    }
    hash = mix(hash, u64::from(proto) << 32 | raw(source.port()) << 16 | raw(to.port()), secret[2]);
    mix(hash, 0, secret[3]) | 2
}

fn mix(hash: u64, word: u64, key: u64) -> u64 {
    let hash = (hash ^ word).wrapping_mul(key | 1);
    hash ^ hash >> 32
}

fn entry_word(fingerprint: u64, low: u32, deadline: u32) -> u64 {
    u64::from(deadline) << 40 | (fingerprint >> 24 & 0xff) << 32 | u64::from(low)
}

/// Ticks until the deadline of a word, which has 24 bits. Zero or less means expired.
fn remaining_ticks(word: u64, tick: u32) -> i32 {
    ((((word >> 40) as u32) << 8).wrapping_sub(tick << 8) as i32) >> 8
}

#[derive(Debug)]
pub(super) struct FlowHashTable {
    words: MappedArray,
    mask: u64,
}

impl FlowHashTable {
    pub fn new(table: &bpf::TypedMap<u32, abi::Bucket>) -> io::Result<FlowHashTable> {
        let buckets = table.capacity() as usize;
        let words = MappedArray::new(table, buckets * abi::Bucket::SIZE)?;
        Ok(FlowHashTable { words, mask: (buckets as u64).saturating_sub(1) })
    }

    pub fn places(&self) -> usize {
        self.words.word_count() / 2
    }

    /// The index of an entry's fingerprint; its word follows in the second half of the bucket.
    fn word_index(place: usize) -> usize {
        place / SLOTS_IN_BUCKET * BUCKET + place % SLOTS_IN_BUCKET
    }

    pub fn is_used(&self, place: u32) -> bool {
        self.words.load(FlowHashTable::word_index(place as usize)) > CLAIM
    }

    pub fn entry(&self, place: u32, tick: u32) -> Option<FlowEntry> {
        let at = FlowHashTable::word_index(place as usize);
        let fingerprint = self.words.load(at);
        let word = self.words.load(at + SLOTS_IN_BUCKET);
        // The entry may have been reused between both reads.
        let whole = fingerprint > CLAIM && word >> 32 & 0xff == fingerprint >> 24 & 0xff;
        let left = u32::try_from(remaining_ticks(word, tick)).ok().filter(|left| *left > 0)?;
        let state = State::of(word as u32 >> 28).unwrap_or(State::Free);
        let entry =
            FlowEntry { fingerprint, server: word as u32 & 0xfff_ffff, state, ttl_ticks: left };
        (whole && self.words.load(at) == fingerprint).then_some(entry)
    }

    fn bucket(&self, fingerprint: u64, second: bool) -> usize {
        let at = if second { fingerprint >> 34 ^ fingerprint >> 2 } else { fingerprint >> 2 };
        (at & self.mask) as usize * BUCKET
    }

    pub fn find(&self, fingerprint: u64) -> Option<usize> {
        let entries = self.entries(fingerprint);
        entries.into_iter().find(|at| self.words.load(*at) == fingerprint)
    }

    fn entries(&self, fingerprint: u64) -> [usize; 2 * SLOTS_IN_BUCKET] {
        let buckets = [self.bucket(fingerprint, false), self.bucket(fingerprint, true)];
        std::array::from_fn(|at| buckets[at / SLOTS_IN_BUCKET] + at % SLOTS_IN_BUCKET)
    }

    /// The low half of a fingerprint's word.
    pub fn find_low_word(&self, fingerprint: u64) -> Option<u32> {
        let word = self.words.load(self.find(fingerprint)? + SLOTS_IN_BUCKET);
        (word >> 32 & 0xff == fingerprint >> 24 & 0xff).then_some(word as u32)
    }

    /// Enters a word for a fingerprint. An existing word is only changed with `over`, or when it has expired. Without
    /// room, the entry that expires first is evicted.
    pub fn put(
        &self,
        fingerprint: u64,
        low: u32,
        deadline: u32,
        tick: u32,
        over: bool,
    ) -> PutResult {
        let word = entry_word(fingerprint, low, deadline);
        for _ in 0..TRIES {
            if let Some(at) = self.find(fingerprint) {
                let old = self.words.load(at + SLOTS_IN_BUCKET);
                if !over && remaining_ticks(old, tick) > 0 {
                    return PutResult::Occupied;
                }
                if self.words.compare_exchange(at + SLOTS_IN_BUCKET, old, word) {
                    return PutResult::Done;
                }
                continue;
            }
            let rest = |at: &usize| match self.words.load(*at) {
                0 => i32::MIN,
                CLAIM => i32::MAX,
                _ => remaining_ticks(self.words.load(*at + SLOTS_IN_BUCKET), tick),
            };
            let Some(at) = self.entries(fingerprint).into_iter().min_by_key(rest) else { break };
            let old = self.words.load(at);
            if old != CLAIM && self.claim(at, old, fingerprint, word) {
                return PutResult::Done;
            }
        }
        PutResult::Full
    }

    /// Enters a word for a fingerprint only where there is room: entries here do not expire.
    pub fn put_free(&self, fingerprint: u64, low: u32) -> PutResult {
        let word = entry_word(fingerprint, low, 1);
        for _ in 0..TRIES {
            if let Some(at) = self.find(fingerprint) {
                self.words.store(at + SLOTS_IN_BUCKET, word);
                return PutResult::Done;
            }
            // Filling the emptier bucket first delays the moment when both buckets are full.
            let full = |bucket: usize| {
                (0..SLOTS_IN_BUCKET).filter(|at| self.words.load(bucket + at) != 0).count()
            };
            let one = self.bucket(fingerprint, false);
            let other = self.bucket(fingerprint, true);
            let bucket = if full(other) < full(one) { other } else { one };
            let Some(at) = (bucket..bucket + SLOTS_IN_BUCKET).find(|at| self.words.load(*at) == 0)
            else {
                break;
            };
            if self.claim(at, 0, fingerprint, word) {
                return PutResult::Done;
            }
        }
        PutResult::Full
    }

    fn claim(&self, at: usize, old: u64, fingerprint: u64, word: u64) -> bool {
        if !self.words.compare_exchange(at, old, CLAIM) {
            return false;
        }
        self.words.store(at + SLOTS_IN_BUCKET, word);
        self.words.store(at, fingerprint);
        true
    }

    /// Removes a fingerprint's entry if it has this word.
    pub fn forget(&self, fingerprint: u64, low: u32) {
        if let Some(at) =
            self.find(fingerprint).filter(|at| self.words.load(*at + SLOTS_IN_BUCKET) as u32 == low)
        {
            // An entry that changed meanwhile is another one, and stays.
            let _ = self.words.compare_exchange(at, fingerprint, 0);
        }
    }

    pub fn clear(&self) {
        for bucket in (0..self.words.word_count()).step_by(BUCKET) {
            (bucket..bucket + SLOTS_IN_BUCKET).for_each(|at| self.words.store(at, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_24_bits_of_a_deadline() {
        let fingerprint = 0x1234_5678_9abc_def2;
        assert_eq!(remaining_ticks(entry_word(fingerprint, 7, 100), 90), 10);
        assert_eq!(remaining_ticks(entry_word(fingerprint, 7, 100), 101), -1);
        assert_eq!(remaining_ticks(entry_word(fingerprint, 7, 0x100_0005), 0xff_ffff), 6);
        assert_eq!(entry_word(fingerprint, 7, 1) >> 32 & 0xff, fingerprint >> 24 & 0xff);
    }
}
