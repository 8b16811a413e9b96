//! Request ids: 64 bits, written as 16 hexadecimal digits. An id does not allow others to predict the next one.
//!
//! A worker counts up from its start time in microseconds since 1970, with its worker number in the high bits. A cipher
//! (Speck64/128) encrypts the result under a key of the process. Two ids of a process are equal only if a worker
//! averages more than a million exchanges per second over its lifetime. Ids of different processes are equal only by
//! chance.

use std::cell::Cell;
use std::fmt;
use std::sync::LazyLock;

use crate::rt::random;

/// Bits of the counter.
/// The other ten bits are for 1,024 workers. 54 bits of microseconds last 570 years.
const COUNT_BITS: u32 = 54;

/// Rounds of the cipher.
/// The number that Speck's authors give for 64-bit blocks and 128-bit keys.
const ROUNDS: usize = 27;

/// The key of Speck64/128 has 16 bytes. It is drawn at the start, so ids of two processes do not follow each other.
static OF_PROCESS: LazyLock<Cipher> = LazyLock::new(|| {
    let mut key = [0; 16];
    random::fill(&mut key);
    Cipher::new(key)
});

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId([u8; 16]);

impl RequestId {
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The id as a number.
    pub fn number(&self) -> u64 {
        u64::from_str_radix(self.as_str(), 16).unwrap_or_default()
    }

    fn from_number(number: u64) -> RequestId {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        RequestId(std::array::from_fn(|at| DIGITS[(number >> (60 - 4 * at)) as usize & 15]))
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Creates the ids of one worker.
#[derive(Debug)]
pub struct RequestIds {
    worker: u64,
    next: Cell<u64>,
    cipher: &'static Cipher,
}

impl RequestIds {
    /// For the worker number `worker` (modulo 1024) that starts `start_micros` microseconds after 1970.
    pub fn new(worker: usize, start_micros: u64) -> RequestIds {
        let worker = (worker as u64) << COUNT_BITS;
        RequestIds { worker, next: Cell::new(start_micros), cipher: &OF_PROCESS }
    }

    /// The next id. It is never 0, which means "no id" in traces.
    #[inline]
    pub fn next_id(&self) -> RequestId {
        loop {
            let count = self.next.get();
            self.next.set(count.wrapping_add(1));
            match self.cipher.encrypt_block(self.worker | (count & ((1 << COUNT_BITS) - 1))) {
                0 => {}
                number => return RequestId::from_number(number),
            }
        }
    }
}

/// Speck64/128 (Beaulieu et al., 2013): 27 rounds of additions, rotations and XORs, which need no special instructions.
struct Cipher([u32; ROUNDS]);

impl Cipher {
    fn new(key: [u8; 16]) -> Cipher {
        let word = |at: usize| {
            u32::from_le_bytes([key[4 * at], key[4 * at + 1], key[4 * at + 2], key[4 * at + 3]])
        };
        let mut first = word(0);
        let mut rest = [word(1), word(2), word(3)];
        Cipher(std::array::from_fn(|round| {
            let this = first;
            speck_round(&mut rest[round % 3], &mut first, round as u32);
            this
        }))
    }

    fn encrypt_block(&self, block: u64) -> u64 {
        let mut x = (block >> 32) as u32;
        let mut y = block as u32;
        self.0.iter().for_each(|key| speck_round(&mut x, &mut y, *key));
        u64::from(x) << 32 | u64::from(y)
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Cipher")
    }
}

fn speck_round(x: &mut u32, y: &mut u32, key: u32) {
    *x = x.rotate_right(8).wrapping_add(*y) ^ key;
    *y = y.rotate_left(3) ^ *x;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn digits() {
        assert_eq!(RequestId::from_number(0x0123_4567_89ab_cdef).as_str(), "0123456789abcdef");
        assert_eq!(RequestId::from_number(u64::MAX - 1).number(), u64::MAX - 1);
    }

    #[test]
    fn the_cipher_is_the_one_of_the_paper() {
        // Key 1b1a1918 13121110 0b0a0908 03020100, plaintext 3b726574 7475432d.
        let key = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
        assert_eq!(Cipher::new(key).encrypt_block(0x3b72_6574_7475_432d), 0x8c6f_a548_454e_028b);
    }

    #[test]
    fn ids_that_follow_each_other_have_nothing_in_common() {
        let ids = RequestIds::new(0, 1_800_000_000_000_000);
        let numbers: Vec<u64> = (0..2_000).map(|_| ids.next_id().number()).collect();
        let differ = numbers.windows(2).map(|two| (two[0] ^ two[1]).count_ones()).sum::<u32>();
        let mean = f64::from(differ) / 1_999.0;
        assert!((30.0..34.0).contains(&mean), "{mean} bits of 64");
        assert!(numbers.windows(2).filter(|two| two[0] < two[1]).count() < 1_200);
    }

    #[test]
    fn workers_and_restarts_do_not_meet() {
        // Three starts 20 ms apart, each with 4 workers that complete 500,000 exchanges per second.
        let start = 1_800_000_000_000_000;
        let mut seen = HashSet::new();
        for restart in 0..3 {
            for worker in 0..4 {
                let ids = RequestIds::new(worker, start + restart * 20_000);
                assert!((0..10_000).all(|_| seen.insert(ids.next_id())));
            }
        }
    }
}
