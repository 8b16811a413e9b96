//! A place for each worker, made when the worker first uses it: most workers never meet most servers.

use std::ops::Index;
use std::slice;
use std::sync::OnceLock;

/// Places of one value for each worker.
#[derive(Debug)]
pub struct WorkerSlots<T>(Box<[OnceLock<Box<OwnLines<T>>>]>);

/// Two workers' values share no cache line: processors fetch lines in pairs of 64 bytes.
#[derive(Debug, Default)]
#[repr(align(128))]
struct OwnLines<T>(T);

impl<T: Default> WorkerSlots<T> {
    pub fn new(workers: usize) -> WorkerSlots<T> {
        WorkerSlots((0..workers).map(|_| OnceLock::new()).collect())
    }

    /// The place of a worker, which is made if it is missing; `None`: there is no such worker.
    #[inline]
    pub fn get(&self, worker: usize) -> Option<&T> {
        Some(&self.0.get(worker)?.get_or_init(Box::default).0)
    }
}

impl<T> WorkerSlots<T> {
    /// The places that workers have used.
    pub fn iter(&self) -> UsedSlots<'_, T> {
        UsedSlots(self.0.iter())
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.0.len()
    }
}

impl<T: Default> Index<usize> for WorkerSlots<T> {
    type Output = T;

    #[inline]
    fn index(&self, worker: usize) -> &T {
        &self.0[worker].get_or_init(Box::default).0
    }
}

impl<'a, T> IntoIterator for &'a WorkerSlots<T> {
    type Item = &'a T;
    type IntoIter = UsedSlots<'a, T>;

    fn into_iter(self) -> UsedSlots<'a, T> {
        self.iter()
    }
}

/// The places that workers have used, in the order of workers.
#[derive(Debug)]
pub struct UsedSlots<'a, T>(slice::Iter<'a, OnceLock<Box<OwnLines<T>>>>);

impl<T> Clone for UsedSlots<'_, T> {
    fn clone(&self) -> Self {
        UsedSlots(self.0.clone())
    }
}

impl<'a, T> Iterator for UsedSlots<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.0.find_map(|slot| slot.get().map(|own| &own.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Count;

    #[test]
    fn only_used_places_exist_and_share_no_cache_line() {
        let slots = WorkerSlots::<Count>::new(64);
        assert_eq!(slots.iter().count(), 0);
        slots[3].add(5);
        slots[40].add(7);
        assert!(slots.get(64).is_none());
        let counts: Vec<u64> = slots.iter().map(Count::get).collect();
        assert_eq!(counts, [5, 7]);
        assert_eq!(slots.workers(), 64);
        for slot in &slots {
            assert_eq!(std::ptr::from_ref(slot) as usize % 128, 0);
        }
        assert!(size_of::<OwnLines<Count>>().is_multiple_of(128));
    }
}
