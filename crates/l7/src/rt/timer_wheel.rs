//! A timer wheel.
//!
//! An entry is a hint: when its slot is due, the owner checks the actual deadline and, if that is later, inserts a new
//! entry. So postponing a deadline costs nothing. `take_due` returns the entries that are due.

use std::time::Duration;

use model::monotonic_time::MonotonicTime;

/// Width of a slot in nanoseconds: 4 ms.
/// A timeout is at most 4 ms late; timeouts of configurations are tens of milliseconds and more.
const SLOT: u64 = 4_000_000;
/// Number of slots: 8192 slots of 4 ms reach 32 s ahead. Later deadlines are put into the last slot and checked again
/// there.
const SLOTS: u64 = 8192;
const WORDS: usize = (SLOTS / 64) as usize;

/// The wheel; `T` identifies an owner.
#[derive(Debug)]
pub struct TimerWheel<T> {
    slots: Vec<Vec<T>>,
    occupied: [u64; WORDS],
    /// The number (not modulo) of the next slot to return.
    next: u64,
    /// No slot before this number has entries.
    earliest: u64,
}

/// An entry whose slot is due.
#[derive(Clone, Copy, Debug)]
pub struct DueTimer<T> {
    /// The time that `insert` returned for the entry.
    pub armed: MonotonicTime,
    pub owner: T,
}

impl<T: Copy> TimerWheel<T> {
    pub fn new(now: MonotonicTime) -> Self {
        let next = now.0 / SLOT;
        TimerWheel {
            slots: (0..SLOTS).map(|_| Vec::new()).collect(),
            occupied: [0; WORDS],
            next,
            earliest: u64::MAX,
        }
    }

    /// Inserts an entry and returns when it will be due: not before `at`, unless that is beyond the wheel's reach.
    pub fn insert(&mut self, at: MonotonicTime, owner: T) -> MonotonicTime {
        let slot = at.0.div_ceil(SLOT).clamp(self.next, self.next + SLOTS - 1);
        let index = (slot % SLOTS) as usize;
        self.slots[index].push(owner);
        self.occupied[index / 64] |= 1 << (index % 64);
        self.earliest = self.earliest.min(slot);
        MonotonicTime(slot * SLOT)
    }

    /// Time until an entry may be due.
    pub fn until_next(&self, now: MonotonicTime) -> Option<Duration> {
        (self.earliest != u64::MAX)
            .then(|| Duration::from_nanos((self.earliest * SLOT).saturating_sub(now.0)))
    }

    /// Returns the entries that are due at `now`.
    pub fn take_due(&mut self, now: MonotonicTime, into: &mut Vec<DueTimer<T>>) {
        let last = now.0 / SLOT;
        if self.earliest > last {
            self.next = self.next.max(last);
            return;
        }
        let mut slot = self.earliest.max(self.next);
        while slot <= last && slot < self.next + SLOTS {
            let index = (slot % SLOTS) as usize;
            if self.occupied[index / 64] & (1 << (index % 64)) != 0 {
                self.occupied[index / 64] &= !(1 << (index % 64));
                let armed = MonotonicTime(slot * SLOT);
                into.extend(self.slots[index].drain(..).map(|owner| DueTimer { armed, owner }));
            }
            slot += 1;
        }
        // The slot of `last` stays open for entries inserted at this time: they are due with the next call.
        self.next = last;
        self.earliest = self.scan(last);
    }

    fn scan(&self, from: u64) -> u64 {
        let start = (from % SLOTS) as usize;
        for step in 0..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            } else if step == WORDS {
                bits &= !(u64::MAX << (start % 64));
            }
            if bits != 0 {
                let index = (word * 64) as u64 + u64::from(bits.trailing_zeros());
                let ahead = (index + SLOTS - start as u64) % SLOTS;
                return from + ahead;
            }
        }
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_comes_up_early_and_all_comes_up(
            spans in prop::collection::vec(0u64..100_000_000_000, 1..50),
            step in 1_000_000u64..700_000_000,
        ) {
            let mut wheel = TimerWheel::new(MonotonicTime(12_345));
            let mut armed: Vec<MonotonicTime> = spans.iter().map(|s| MonotonicTime(12_345 + s)).collect();
            for (owner, at) in armed.iter().enumerate() {
                wheel.insert(*at, owner);
            }
            let mut now = MonotonicTime(12_345);
            let mut left = spans.len();
            let mut out = Vec::new();
            while left > 0 {
                now = MonotonicTime(now.0 + step);
                let due_before = wheel.until_next(now);
                wheel.take_due(now, &mut out);
                if due_before.is_some_and(|d| d > Duration::ZERO) {
                    prop_assert!(out.is_empty());
                }
                for DueTimer { owner, .. } in out.drain(..) {
                    if armed[owner] > now {
                        wheel.insert(armed[owner], owner);
                    } else {
                        prop_assert!(armed[owner] != MonotonicTime(0), "came up twice");
                        prop_assert!(now.0 - armed[owner].0 <= step + SLOT, "came up late");
                        armed[owner] = MonotonicTime(0);
                        left -= 1;
                    }
                }
                prop_assert!(now.0 < 300_000_000_000, "never came up");
            }
        }
    }
}
