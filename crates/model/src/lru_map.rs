//! A map with a maximum size: when it is full, the entry that was renewed longest ago is removed.
//!
//! Every operation takes constant time. It knows no time: callers that store times in the entries find the oldest
//! first.

use std::collections::HashMap;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub struct LruMap<V> {
    index: HashMap<u64, u32>,
    slots: Vec<LruEntry<V>>,
    newest: u32,
    oldest: u32,
    capacity: usize,
}

#[derive(Debug)]
struct LruEntry<V> {
    key: u64,
    value: V,
    newer: u32,
    older: u32,
}

impl<V> LruMap<V> {
    /// An empty map for at most `most` entries, at least one.
    pub fn new(most: usize) -> LruMap<V> {
        let most = most.clamp(1, NONE as usize);
        LruMap {
            index: HashMap::new(),
            slots: Vec::new(),
            newest: NONE,
            oldest: NONE,
            capacity: most,
        }
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns an entry without changing the order.
    pub fn get(&self, key: u64) -> Option<&V> {
        let place = self.index.get(&key)?;
        self.slots.get(*place as usize).map(|slot| &slot.value)
    }

    /// Returns an entry and makes it the newest.
    pub fn touch(&mut self, key: u64) -> Option<&mut V> {
        let place = *self.index.get(&key)?;
        if self.newest != place {
            self.unlink(place);
            self.link_newest(place);
        }
        self.slots.get_mut(place as usize).map(|slot| &mut slot.value)
    }

    /// Inserts the newest entry and replaces an earlier one of its key. Returns the entry that was removed.
    pub fn insert(&mut self, key: u64, value: V) -> Option<V> {
        if let Some(held) = self.touch(key) {
            *held = value;
            return None;
        }
        if self.slots.len() < self.capacity {
            let place = self.slots.len() as u32;
            self.slots.push(LruEntry { key, value, newer: NONE, older: NONE });
            self.index.insert(key, place);
            self.link_newest(place);
            return None;
        }
        let place = self.oldest;
        self.unlink(place);
        let slot = self.slots.get_mut(place as usize)?;
        let gone = std::mem::replace(&mut slot.value, value);
        let old = std::mem::replace(&mut slot.key, key);
        self.index.remove(&old);
        self.index.insert(key, place);
        self.link_newest(place);
        Some(gone)
    }

    /// The entry that was renewed longest ago.
    pub fn oldest(&self) -> Option<&V> {
        self.slots.get(self.oldest as usize).map(|slot| &slot.value)
    }

    /// Every entry with its key, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        self.slots.iter().map(|slot| (slot.key, &slot.value))
    }

    /// Entries in a range of slots, in no order; slots not yet used are skipped.
    pub fn values_in_slots(&self, from: usize, places: usize) -> impl Iterator<Item = &V> {
        self.slots.iter().skip(from).take(places).map(|slot| &slot.value)
    }

    fn unlink(&mut self, place: u32) {
        let Some((newer, older)) =
            self.slots.get(place as usize).map(|slot| (slot.newer, slot.older))
        else {
            return;
        };
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn link_newest(&mut self, place: u32) {
        let before = self.newest;
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.newer = NONE;
            slot.older = before;
        }
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.newer = place,
            None => self.oldest = place,
        }
        self.newest = place;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_list_in_which_the_oldest_goes_first(
            most in 1_usize..6,
            steps in proptest::collection::vec((any::<bool>(), 0_u64..9, any::<u32>()), 0..200),
        ) {
            let mut bounded = LruMap::new(most);
            // Newest first.
            let mut list: VecDeque<(u64, u32)> = VecDeque::new();
            for (puts, key, value) in steps {
                let at = list.iter().position(|(held, _)| *held == key);
                let held = at.and_then(|at| list.remove(at));
                if puts {
                    list.push_front((key, value));
                    let gone = if list.len() > most { list.pop_back() } else { None };
                    prop_assert_eq!(bounded.insert(key, value), gone.map(|(_, value)| value));
                } else {
                    if let Some(held) = held {
                        list.push_front(held);
                    }
                    prop_assert_eq!(bounded.touch(key).copied(), held.map(|(_, value)| value));
                }
                prop_assert_eq!(bounded.len(), list.len());
                prop_assert_eq!(bounded.oldest(), list.back().map(|(_, value)| value));
                for (key, value) in &list {
                    prop_assert_eq!(bounded.get(*key), Some(value));
                }
                let parts = bounded.values_in_slots(0, 2).chain(bounded.values_in_slots(2, usize::MAX)).count();
                prop_assert_eq!(parts, list.len());
            }
        }
    }
}
