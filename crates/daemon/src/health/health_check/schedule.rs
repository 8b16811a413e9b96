//! What is due when: a heap of moments with one live entry a key.
//!
//! Moving or removing a key leaves its old entry behind; it is skipped when its turn comes and swept when such
//! entries outnumber the live ones. It reads no clock.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

use model::monotonic_time::MonotonicTime;

/// A key with the moment at which it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScheduledEntry<K> {
    pub at: MonotonicTime,
    pub key: K,
}

/// Keys and their moments.
#[derive(Debug)]
pub struct DeadlineSchedule<K> {
    heap: BinaryHeap<Reverse<ScheduledEntry<K>>>,
    live: HashMap<K, MonotonicTime>,
}

impl<K> Default for DeadlineSchedule<K> {
    fn default() -> Self {
        DeadlineSchedule { heap: BinaryHeap::new(), live: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash + Ord> DeadlineSchedule<K> {
    /// Puts `key` at `at`, wherever it was before.
    pub fn set(&mut self, key: K, at: MonotonicTime) {
        if self.live.insert(key.clone(), at) != Some(at) {
            self.heap.push(Reverse(ScheduledEntry { at, key }));
            self.drop_stale();
        }
    }

    pub fn remove(&mut self, key: &K) {
        self.live.remove(key);
        self.drop_stale();
    }

    /// Whether `key` waits for its moment.
    pub fn contains(&self, key: &K) -> bool {
        self.live.contains_key(key)
    }

    pub fn next_due(&mut self) -> Option<MonotonicTime> {
        while let Some(Reverse(ScheduledEntry { at, key })) = self.heap.peek() {
            if self.live.get(key) == Some(at) {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes out the earliest key that is due at `now`, with its moment.
    pub fn pop(&mut self, now: MonotonicTime) -> Option<ScheduledEntry<K>> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse(due) = self.heap.pop()?;
        self.live.remove(&due.key);
        Some(due)
    }

    fn drop_stale(&mut self) {
        if self.heap.len() > 64 + 2 * self.live.len() {
            let live = &self.live;
            self.heap.retain(|Reverse(entry)| live.get(&entry.key) == Some(&entry.at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_moved_key_comes_once_and_a_removed_one_never() {
        let mut schedule = DeadlineSchedule::default();
        schedule.set("a", MonotonicTime(10));
        schedule.set("b", MonotonicTime(20));
        schedule.set("a", MonotonicTime(30));
        schedule.set("c", MonotonicTime(5));
        schedule.remove(&"c");
        assert_eq!(schedule.next_due(), Some(MonotonicTime(20)));
        assert_eq!(schedule.pop(MonotonicTime(19)), None);
        assert_eq!(
            schedule.pop(MonotonicTime(40)),
            Some(ScheduledEntry { at: MonotonicTime(20), key: "b" })
        );
        assert_eq!(
            schedule.pop(MonotonicTime(40)),
            Some(ScheduledEntry { at: MonotonicTime(30), key: "a" })
        );
        assert_eq!(schedule.next_due(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_agrees_with_a_sorted_list(orders in prop::collection::vec((0u8..20, 0u64..50, any::<bool>()), 0..400)) {
            let (mut schedule, mut plain) = (DeadlineSchedule::default(), HashMap::new());
            for (key, at, remove) in orders {
                if remove {
                    schedule.remove(&key);
                    plain.remove(&key);
                } else {
                    schedule.set(key, MonotonicTime(at));
                    plain.insert(key, MonotonicTime(at));
                }
                prop_assert!(schedule.heap.len() <= 66 + 2 * plain.len());
            }
            let mut sorted: Vec<_> = plain.into_iter().map(|(key, at)| ScheduledEntry { at, key }).collect();
            sorted.sort_unstable();
            let drained: Vec<_> = std::iter::from_fn(|| schedule.pop(MonotonicTime::NEVER)).collect();
            prop_assert_eq!(drained, sorted);
        }
    }
}
