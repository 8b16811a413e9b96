//! A ring of words between one writer and one reader, without locks: passes a worker's samples to the control thread.
//!
//! The writer never waits: entries without room are counted and dropped. The ring does not interpret the words.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::counter::Count;

/// A ring of entries of `W` words.
#[derive(Debug)]
pub struct SpscRing<const W: usize> {
    words: Box<[[AtomicU64; W]]>,
    /// Entries written since the start; only the writer stores it.
    written: AtomicUsize,
    /// Entries read since the start; only the reader stores it.
    read: AtomicUsize,
    dropped: Count,
}

/// Default capacity: the entries of a worker between two reads by the control thread. Bounds the memory of the ring.
const ENTRIES: usize = 512;

impl<const W: usize> Default for SpscRing<W> {
    fn default() -> Self {
        SpscRing::new(ENTRIES)
    }
}

impl<const W: usize> SpscRing<W> {
    /// With room for `entries`, at least one.
    pub fn new(entries: usize) -> Self {
        let words = (0..entries.max(1)).map(|_| std::array::from_fn(|_| AtomicU64::new(0)));
        SpscRing {
            words: words.collect(),
            written: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            dropped: Count::default(),
        }
    }

    /// Appends an entry; false: the ring was full, and the entry was counted. Only one thread may call it.
    pub fn push(&self, entry: &[u64; W]) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        // Acquire: the reader has finished with the entry that this one replaces.
        let read = self.read.load(Ordering::Acquire);
        let place = self.words.get(written % self.words.len());
        let Some(place) = place.filter(|_| written.wrapping_sub(read) < self.words.len()) else {
            self.dropped.add(1);
            return false;
        };
        place.iter().zip(entry).for_each(|(word, value)| word.store(*value, Ordering::Relaxed));
        // Release: a reader that sees the new number also sees the words.
        self.written.store(written.wrapping_add(1), Ordering::Release);
        true
    }

    /// Whether less than half of the ring is in use. Only the writer's thread may rely on it.
    pub fn is_half_empty(&self) -> bool {
        let used =
            self.written.load(Ordering::Relaxed).wrapping_sub(self.read.load(Ordering::Acquire));
        used < self.words.len().div_ceil(2)
    }

    /// Removes the oldest entry. Only one thread may call it at a time.
    pub fn pop(&self) -> Option<[u64; W]> {
        let read = self.read.load(Ordering::Relaxed);
        // Acquire pairs with the Release of `push`: the words of every entry below this number are visible.
        if self.written.load(Ordering::Acquire) == read {
            return None;
        }
        let place = self.words.get(read % self.words.len())?;
        let entry = std::array::from_fn(|at| place[at].load(Ordering::Relaxed));
        // Release: the writer replaces the entry only after its words were read.
        self.read.store(read.wrapping_add(1), Ordering::Release);
        Some(entry)
    }

    pub fn dropped(&self) -> u64 {
        self.dropped.get()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        let ring = SpscRing::<2>::new(2);
        assert_eq!(ring.pop(), None);
        assert!(ring.push(&[1, 2]) && ring.push(&[3, 4]) && !ring.push(&[5, 6]));
        assert_eq!((ring.pop(), ring.dropped()), (Some([1, 2]), 1));
        assert!(ring.push(&[7, 8]));
        assert!(!ring.is_half_empty());
        assert_eq!([ring.pop(), ring.pop(), ring.pop()], [Some([3, 4]), Some([7, 8]), None]);
        assert!(ring.is_half_empty());
    }

    #[test]
    fn two_threads_see_every_entry_whole_and_in_order() {
        let ring = Arc::new(SpscRing::<3>::new(8));
        let writer = ring.clone();
        let pushed = std::thread::spawn(move || {
            (0..50_000u64).filter(|n| writer.push(&[*n, n * 3, n ^ 7])).count()
        });
        let mut last = None;
        let mut seen = 0;
        loop {
            let done = pushed.is_finished();
            while let Some([n, three, other]) = ring.pop() {
                assert!(three == n * 3 && other == n ^ 7 && last < Some(n), "{n}");
                last = Some(n);
                seen += 1;
            }
            if done {
                break;
            }
        }
        assert_eq!(seen, pushed.join().unwrap());
        assert_eq!(seen as u64 + ring.dropped(), 50_000);
    }
}
