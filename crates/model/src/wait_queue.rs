//! The wait queue: higher classes leave first, within a class in order of arrival.
//!
//! It reads no clock and wakes no request; its owner and `load_shedding` limit its length.

use std::collections::VecDeque;

use crate::monotonic_time::MonotonicTime;

/// A priority class, 0–9: a higher one leaves a queue first, a lower one is shed first.
pub type PriorityClass = u8;

/// One digit, so that a request's header field can carry the class.
pub const HIGHEST_CLASS: PriorityClass = 9;

/// The class of requests without a configured one.
pub const DEFAULT_CLASS: PriorityClass = 5;

#[derive(Debug)]
pub struct PriorityWaitQueue<T> {
    entries: VecDeque<QueueEntry<T>>,
}

#[derive(Debug)]
pub struct QueueEntry<T> {
    pub class: PriorityClass,
    pub since: MonotonicTime,
    pub item: T,
}

impl<T> Default for PriorityWaitQueue<T> {
    fn default() -> Self {
        PriorityWaitQueue { entries: VecDeque::new() }
    }
}

impl<T> PriorityWaitQueue<T> {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry after all entries of its class and above.
    pub fn push(&mut self, class: PriorityClass, since: MonotonicTime, who: T) {
        let at = self.entries.partition_point(|entry| entry.class >= class);
        self.entries.insert(at, QueueEntry { class, since, item: who });
    }

    /// All entries, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|entry| &entry.item)
    }

    /// The entries ahead of a new entry of this class.
    pub fn entries_ahead(&self, class: PriorityClass) -> impl Iterator<Item = &T> {
        self.entries.iter().take_while(move |entry| entry.class >= class).map(|entry| &entry.item)
    }

    pub fn remove(&mut self, which: impl Fn(&T) -> bool) -> Option<QueueEntry<T>> {
        let at = self.entries.iter().position(|entry| which(&entry.item))?;
        self.entries.remove(at)
    }

    /// The class of the last entry.
    pub fn last_class(&self) -> Option<PriorityClass> {
        self.entries.back().map(|entry| entry.class)
    }

    /// Removes the last entry: the newest of the lowest class.
    pub fn pop_last(&mut self) -> Option<QueueEntry<T>> {
        self.entries.pop_back()
    }

    /// Since when the longest waiting entry of any class waits. Costs a search or two per class.
    pub fn oldest_since(&self) -> Option<MonotonicTime> {
        let mut oldest: Option<MonotonicTime> = None;
        let mut at = 0;
        while let Some(first) = self.entries.get(at) {
            oldest = Some(oldest.map_or(first.since, |before| before.min(first.since)));
            at = self.entries.partition_point(|entry| entry.class >= first.class);
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_balancing::Rng;

    #[test]
    fn higher_classes_leave_first_and_each_in_order() {
        let mut line = PriorityWaitQueue::default();
        for (at, class) in [5, 5, 9, 0, 5, 9, 0].into_iter().enumerate() {
            line.push(class, MonotonicTime(at as u64), at);
        }
        assert_eq!(line.iter().copied().collect::<Vec<_>>(), [2, 5, 0, 1, 4, 3, 6]);
        assert_eq!(line.entries_ahead(5).count(), 5);
        assert_eq!(line.entries_ahead(6).copied().collect::<Vec<_>>(), [2, 5]);
        assert_eq!(line.oldest_since(), Some(MonotonicTime(0)));
        assert_eq!(line.pop_last().map(|entry| entry.item), Some(6));
        assert_eq!((line.last_class(), line.len()), (Some(0), 6));
    }

    #[test]
    fn whatever_comes_and_goes_the_order_and_the_oldest_are_those_of_a_plain_list() {
        for seed in 1..40 {
            let mut rng = Rng::new(seed);
            let mut line = PriorityWaitQueue::default();
            let mut plain = Vec::<(PriorityClass, u64)>::new();
            for now in 0..300 {
                match rng.below(4) {
                    0 | 1 => {
                        let class = rng.below(10) as PriorityClass;
                        line.push(class, MonotonicTime(now), now);
                        plain.push((class, now));
                        plain.sort_by_key(|(class, at)| (HIGHEST_CLASS - class, *at));
                    }
                    2 => assert_eq!(
                        line.pop_last().map(|entry| entry.item),
                        plain.pop().map(|entry| entry.1)
                    ),
                    _ if plain.is_empty() => (),
                    _ => {
                        let gone = plain.remove(rng.below(plain.len() as u64) as usize);
                        assert_eq!(
                            line.remove(|at| *at == gone.1).map(|entry| entry.class),
                            Some(gone.0)
                        );
                    }
                }
                assert!(line.iter().eq(plain.iter().map(|(_, at)| at)), "seed {seed}");
                let oldest = plain.iter().map(|(_, at)| MonotonicTime(*at)).min();
                assert_eq!((line.oldest_since(), line.len()), (oldest, plain.len()), "seed {seed}");
            }
        }
    }
}
