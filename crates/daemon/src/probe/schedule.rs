//! What is due when: a heap of moments with one live entry a key.
//!
//! Moving or removing a key leaves its old entry behind; it is skipped when its turn comes and swept when such
//! entries outnumber the live ones. It reads no clock.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

use model::moment::Moment;

/// Keys and their moments.
#[derive(Debug)]
pub struct Schedule<K> {
    heap: BinaryHeap<Reverse<(Moment, K)>>,
    live: HashMap<K, Moment>,
}

impl<K> Default for Schedule<K> {
    fn default() -> Self {
        Schedule { heap: BinaryHeap::new(), live: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash + Ord> Schedule<K> {
    /// Puts `key` at `at`, wherever it was before.
    pub fn set(&mut self, key: K, at: Moment) {
        if self.live.insert(key.clone(), at) != Some(at) {
            self.heap.push(Reverse((at, key)));
            self.sweep();
        }
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &K) {
        self.live.remove(key);
        self.sweep();
    }

    /// Whether `key` waits for its moment.
    pub fn contains(&self, key: &K) -> bool {
        self.live.contains_key(key)
    }

    /// The earliest moment.
    pub fn earliest(&mut self) -> Option<Moment> {
        while let Some(Reverse((at, key))) = self.heap.peek() {
            if self.live.get(key) == Some(at) {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes out the earliest key that is due at `now`, with its moment.
    pub fn pop(&mut self, now: Moment) -> Option<(Moment, K)> {
        if self.earliest()? > now {
            return None;
        }
        let Reverse((at, key)) = self.heap.pop()?;
        self.live.remove(&key);
        Some((at, key))
    }

    fn sweep(&mut self) {
        if self.heap.len() > 64 + 2 * self.live.len() {
            let live = &self.live;
            self.heap.retain(|Reverse((at, key))| live.get(key) == Some(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_moved_key_comes_once_and_a_removed_one_never() {
        let mut schedule = Schedule::default();
        schedule.set("a", Moment(10));
        schedule.set("b", Moment(20));
        schedule.set("a", Moment(30));
        schedule.set("c", Moment(5));
        schedule.remove(&"c");
        assert_eq!(schedule.earliest(), Some(Moment(20)));
        assert_eq!(schedule.pop(Moment(19)), None);
        assert_eq!(schedule.pop(Moment(40)), Some((Moment(20), "b")));
        assert_eq!(schedule.pop(Moment(40)), Some((Moment(30), "a")));
        assert_eq!(schedule.earliest(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_agrees_with_a_sorted_list(orders in prop::collection::vec((0u8..20, 0u64..50, any::<bool>()), 0..400)) {
            let (mut schedule, mut plain) = (Schedule::default(), HashMap::new());
            for (key, at, remove) in orders {
                if remove {
                    schedule.remove(&key);
                    plain.remove(&key);
                } else {
                    schedule.set(key, Moment(at));
                    plain.insert(key, Moment(at));
                }
                prop_assert!(schedule.heap.len() <= 66 + 2 * plain.len());
            }
            let mut sorted: Vec<_> = plain.into_iter().map(|(key, at)| (at, key)).collect();
            sorted.sort_unstable();
            let drained: Vec<_> = std::iter::from_fn(|| schedule.pop(Moment::NEVER)).collect();
            prop_assert_eq!(drained, sorted);
        }
    }
}
