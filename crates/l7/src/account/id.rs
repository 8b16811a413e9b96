//! Ids of exchanges: 64 bits, written as 16 hexadecimal digits.
//!
//! The upper 10 bits are the worker's number, the rest counts up from the worker's start in microseconds since 1970.
//! Two ids of one machine are the same only if a worker finished more than a million exchanges in each second of
//! its life, or the wall clock was set back over a restart. The digits tell the worker and bound the time; they
//! are no secret and prove nothing.

use std::cell::Cell;
use std::fmt;

/// Bits of the counting part.
const COUNT_BITS: u32 = 54;

/// An id.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id([u8; 16]);

impl Id {
    /// Its 16 digits.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The number that the digits are.
    pub fn number(&self) -> u64 {
        u64::from_str_radix(self.as_str(), 16).unwrap_or_default()
    }

    fn of(number: u64) -> Id {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        Id(std::array::from_fn(|at| DIGITS[(number >> (60 - 4 * at)) as usize & 15]))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Makes the ids of one worker.
#[derive(Debug)]
pub struct Ids {
    worker: u64,
    next: Cell<u64>,
}

impl Ids {
    /// For worker `worker` (modulo 1024) that starts `start_micros` microseconds after 1970.
    pub fn new(worker: usize, start_micros: u64) -> Ids {
        Ids { worker: (worker as u64) << COUNT_BITS, next: Cell::new(start_micros) }
    }

    /// The next one.
    #[inline]
    pub fn next(&self) -> Id {
        let count = self.next.get();
        self.next.set(count.wrapping_add(1));
        Id::of(self.worker | (count & ((1 << COUNT_BITS) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn digits() {
        assert_eq!(Id::of(0x0123_4567_89ab_cdef).as_str(), "0123456789abcdef");
        assert_eq!(Id::of(u64::MAX - 1).number(), u64::MAX - 1);
        let ids = Ids::new(3, 5);
        assert_eq!(ids.next().to_string(), "00c0000000000005");
        assert_eq!(ids.next().to_string(), "00c0000000000006");
    }

    #[test]
    fn workers_and_restarts_do_not_meet() {
        // 3 starts, 20 ms apart, of 4 workers that each do 500,000 exchanges a second meanwhile.
        let start = 1_800_000_000_000_000;
        let mut seen = HashSet::new();
        for restart in 0..3 {
            for worker in 0..4 {
                let ids = Ids::new(worker, start + restart * 20_000);
                assert!((0..10_000).all(|_| seen.insert(ids.next())));
            }
        }
    }
}
