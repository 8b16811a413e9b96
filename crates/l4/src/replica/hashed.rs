//! Tables of hashed entries, as `bpf/flow.h` has them: two buckets of four entries for a key, claimed and changed by
//! compare-and-swap.

use std::io;
use std::net::IpAddr;

use bpf::{Mapped, Value};

use crate::abi::{self, State};
use crate::plan::form::address;

/// The keys of hashes.
pub type Secret = [u64; 4];

const WAYS: usize = abi::WAYS_IN_BUCKET as usize;
/// Words of a bucket: as many hashes as words.
const BUCKET: usize = 2 * WAYS;
/// A claimed entry that is not filled in yet.
const CLAIM: u64 = 1;
/// Attempts at an entry that the datapath changes at the same time.
const TRIES: u32 = 4;

/// An entry that lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The hash of its key.
    pub print: u64,
    /// The index of its server.
    pub server: u32,
    /// Where the connection is; of clients that stick it says nothing.
    pub state: State,
    /// Ticks until it is forgotten.
    pub left: u32,
}

impl Entry {
    /// The low half of its word in `flows`.
    pub(super) fn low(&self) -> u32 {
        (self.state as u32) << 28 | self.server & 0xfff_ffff
    }
}

/// What became of an entry that was to be entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is there now.
    Done,
    /// Another one of its key, or in its place, was there and stays.
    Kept,
    /// There is no room.
    Full,
}

/// The hash of a connection as its client sees it, as `print_of` of the datapath. `proto` separates families of keys.
pub fn print_of(
    secret: &Secret,
    (source, source_port): (IpAddr, u16),
    (to, port): (IpAddr, u16),
    proto: u32,
) -> u64 {
    let words = |ip: IpAddr| -> [u64; 4] {
        let bytes = address(ip);
        std::array::from_fn(|at| u64::from(<u32 as Value>::read(&bytes[at * 4..])))
    };
    let (src, dst) = (words(source), words(to));
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
    hash = mix(hash, u64::from(proto) << 32 | raw(source_port) << 16 | raw(port), secret[2]);
    mix(hash, 0, secret[3]) | 2
}

fn mix(hash: u64, word: u64, key: u64) -> u64 {
    let hash = (hash ^ word).wrapping_mul(key | 1);
    hash ^ hash >> 32
}

fn word_of(print: u64, low: u32, deadline: u32) -> u64 {
    u64::from(deadline) << 40 | (print >> 24 & 0xff) << 32 | u64::from(low)
}

/// Ticks until the deadline of a word, which has 24 bits; not positive: it is over.
fn left(word: u64, tick: u32) -> i32 {
    ((((word >> 40) as u32) << 8).wrapping_sub(tick << 8) as i32) >> 8
}

/// A table.
#[derive(Debug)]
pub(super) struct Hashed {
    words: Mapped,
    mask: u64,
}

impl Hashed {
    pub fn new(table: &bpf::Table<u32, abi::Bucket>) -> io::Result<Hashed> {
        let buckets = table.capacity() as usize;
        let words = Mapped::new(table, buckets * abi::Bucket::SIZE)?;
        Ok(Hashed { words, mask: (buckets as u64).saturating_sub(1) })
    }

    pub fn places(&self) -> usize {
        self.words.words() / 2
    }

    /// The words of an entry: its hash stands there, its word behind it.
    fn at(place: usize) -> usize {
        place / WAYS * BUCKET + place % WAYS
    }

    pub fn used(&self, place: u32) -> bool {
        self.words.load(Hashed::at(place as usize)) > CLAIM
    }

    pub fn entry(&self, place: u32, tick: u32) -> Option<Entry> {
        let at = Hashed::at(place as usize);
        let print = self.words.load(at);
        let word = self.words.load(at + WAYS);
        // Between both it may have become another's.
        let whole = print > CLAIM && word >> 32 & 0xff == print >> 24 & 0xff;
        let left = u32::try_from(left(word, tick)).ok().filter(|left| *left > 0)?;
        let state = State::of(word as u32 >> 28).unwrap_or(State::Free);
        let entry = Entry { print, server: word as u32 & 0xfff_ffff, state, left };
        (whole && self.words.load(at) == print).then_some(entry)
    }

    fn bucket(&self, print: u64, second: bool) -> usize {
        let at = if second { print >> 34 ^ print >> 2 } else { print >> 2 };
        (at & self.mask) as usize * BUCKET
    }

    /// Where the entry of a hash stands.
    pub fn find(&self, print: u64) -> Option<usize> {
        let entries = self.entries(print);
        entries.into_iter().find(|at| self.words.load(*at) == print)
    }

    fn entries(&self, print: u64) -> [usize; 2 * WAYS] {
        let buckets = [self.bucket(print, false), self.bucket(print, true)];
        std::array::from_fn(|at| buckets[at / WAYS] + at % WAYS)
    }

    /// The low half of a hash's word.
    pub fn low(&self, print: u64) -> Option<u32> {
        let word = self.words.load(self.find(print)? + WAYS);
        (word >> 32 & 0xff == print >> 24 & 0xff).then_some(word as u32)
    }

    /// Enters a word for a hash; one that is there is changed only where `over` says so or its time is over. Without room
    /// the one that ends first gives way.
    pub fn put(&self, print: u64, low: u32, deadline: u32, tick: u32, over: bool) -> Put {
        let word = word_of(print, low, deadline);
        for _ in 0..TRIES {
            if let Some(at) = self.find(print) {
                let old = self.words.load(at + WAYS);
                if !over && left(old, tick) > 0 {
                    return Put::Kept;
                }
                if self.words.exchange(at + WAYS, old, word) {
                    return Put::Done;
                }
                continue;
            }
            let rest = |at: &usize| match self.words.load(*at) {
                0 => i32::MIN,
                CLAIM => i32::MAX,
                _ => left(self.words.load(*at + WAYS), tick),
            };
            let Some(at) = self.entries(print).into_iter().min_by_key(rest) else { break };
            let old = self.words.load(at);
            if old != CLAIM && self.claim(at, old, print, word) {
                return Put::Done;
            }
        }
        Put::Full
    }

    /// Enters a word for a hash where there is room, and otherwise not: entries here have no time of their own.
    pub fn put_free(&self, print: u64, low: u32) -> Put {
        let word = word_of(print, low, 1);
        for _ in 0..TRIES {
            if let Some(at) = self.find(print) {
                self.words.store(at + WAYS, word);
                return Put::Done;
            }
            // The emptier bucket first keeps both from being full long before the table is.
            let full =
                |bucket: usize| (0..WAYS).filter(|at| self.words.load(bucket + at) != 0).count();
            let (one, other) = (self.bucket(print, false), self.bucket(print, true));
            let bucket = if full(other) < full(one) { other } else { one };
            let Some(at) = (bucket..bucket + WAYS).find(|at| self.words.load(*at) == 0) else {
                break;
            };
            if self.claim(at, 0, print, word) {
                return Put::Done;
            }
        }
        Put::Full
    }

    fn claim(&self, at: usize, old: u64, print: u64, word: u64) -> bool {
        if !self.words.exchange(at, old, CLAIM) {
            return false;
        }
        self.words.store(at + WAYS, word);
        self.words.store(at, print);
        true
    }

    /// Forgets the entry of a hash, if it says this.
    pub fn forget(&self, print: u64, low: u32) {
        if let Some(at) = self.find(print).filter(|at| self.words.load(*at + WAYS) as u32 == low) {
            let _ = self.words.exchange(at, print, 0);
        }
    }

    /// Forgets all.
    pub fn clear(&self) {
        for bucket in (0..self.words.words()).step_by(BUCKET) {
            (bucket..bucket + WAYS).for_each(|at| self.words.store(at, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_24_bits_of_a_deadline() {
        let print = 0x1234_5678_9abc_def2;
        assert_eq!(left(word_of(print, 7, 100), 90), 10);
        assert_eq!(left(word_of(print, 7, 100), 101), -1);
        assert_eq!(left(word_of(print, 7, 0x100_0005), 0xff_ffff), 6);
        assert_eq!(word_of(print, 7, 1) >> 32 & 0xff, print >> 24 & 0xff);
    }
}
