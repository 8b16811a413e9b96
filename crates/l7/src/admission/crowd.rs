//! What workers tell each other at a limit: which limits were met lately, and who has connections there that nobody misses.
//!
//! A worker closes its own connections alone. It asks here before it closes one that is in order, since another one may
//! have silent ones. Where no limit was met for a while, all of that costs one load.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use model::admission::Scope;
use model::live::Shared;
use model::moment::Moment;

/// For so long a limit that was met is watched.
const WATCHED: Duration = Duration::from_secs(10);

/// For so long it counts that a worker had none.
const HOLDS: Duration = Duration::from_millis(150);

/// Wakes a worker to look at the limits that were met.
pub type Bell = Box<dyn Fn() + Send + Sync>;

/// The limits that were met, over all workers.
#[derive(Default)]
pub struct Crowd {
    /// Clients that wait for a place.
    pub waiting: Shared,
    /// Of those, the clients of workers that have no place to give.
    pub wanting: Shared,
    watches: AtomicBool,
    limits: Mutex<HashMap<Scope, WatchedLimit>>,
    workers: usize,
    bells: OnceLock<Vec<Bell>>,
}

/// A limit that was met.
#[derive(Debug)]
struct WatchedLimit {
    until: Moment,
    looks: Vec<WorkerLook>,
}

/// What a worker was asked and said of a limit.
#[derive(Clone, Copy, Debug, Default)]
struct WorkerLook {
    /// It was woken to look, and has not yet.
    asked: bool,
    /// Until then it counts as one without connections that nobody misses.
    none_until: Option<Moment>,
}

impl Crowd {
    /// Of so many workers.
    pub fn new(workers: usize) -> Crowd {
        Crowd { workers, ..Crowd::default() }
    }

    /// How to wake each worker.
    pub fn hang(&self, bells: Vec<Bell>) {
        // Once: the first ones stay.
        let _ = self.bells.set(bells);
    }

    /// A worker has met a limit and has no connection there that nobody misses: whether another one may have such. Those
    /// are woken.
    pub fn meets(&self, scope: Scope, worker: usize, now: Moment) -> bool {
        if self.workers < 2 {
            return false;
        }
        let mut limits = self.lock();
        let new = || WatchedLimit { until: now, looks: vec![WorkerLook::default(); self.workers] };
        let limit = limits.entry(scope).or_insert_with(new);
        limit.until = limit.until.max(now + WATCHED);
        self.watches.store(true, Ordering::Relaxed);
        let mut may = false;
        let mut ring = Vec::new();
        for (of, look) in limit.looks.iter_mut().enumerate() {
            if of == worker {
                look.none_until = Some(now + HOLDS);
            }
            if look.none_until.is_some_and(|until| now < until) {
                continue;
            }
            may = true;
            if !std::mem::replace(&mut look.asked, true) {
                ring.push(of);
            }
        }
        drop(limits);
        let bells = self.bells.get().map(Vec::as_slice).unwrap_or_default();
        ring.into_iter().filter_map(|of| bells.get(of)).for_each(|bell| bell());
        may
    }

    /// The limits that every worker is to look at.
    pub fn watched(&self, now: Moment) -> Vec<Scope> {
        if !self.watches.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut limits = self.lock();
        limits.retain(|_, limit| limit.until > now);
        self.watches.store(!limits.is_empty(), Ordering::Relaxed);
        limits.keys().copied().collect()
    }

    /// A worker has looked, and closed what was to be closed: whether connections that nobody misses are left.
    pub fn looked(&self, scope: Scope, worker: usize, left: bool, now: Moment) {
        let mut limits = self.lock();
        if let Some(look) = limits.get_mut(&scope).and_then(|limit| limit.looks.get_mut(worker)) {
            *look = WorkerLook { asked: false, none_until: (!left).then_some(now + HOLDS) };
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Scope, WatchedLimit>> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use model::id::ServiceId;

    use super::*;

    const NOW: Moment = Moment(1_000);
    const ONE: Scope = Scope::Service(ServiceId(1));

    #[test]
    fn others_are_asked_until_they_have_looked_and_found_nothing() {
        let crowd = Crowd::new(3);
        assert!(crowd.watched(NOW).is_empty());
        assert!(crowd.meets(ONE, 0, NOW), "nobody has looked");
        assert_eq!(crowd.watched(NOW), [ONE]);
        crowd.looked(ONE, 1, false, NOW);
        assert!(crowd.meets(ONE, 0, NOW), "one has not looked");
        crowd.looked(ONE, 2, true, NOW);
        assert!(crowd.meets(ONE, 0, NOW), "one has some left");
        crowd.looked(ONE, 2, false, NOW);
        assert!(!crowd.meets(ONE, 0, NOW), "none has any");
        crowd.looked(ONE, 0, true, NOW);
        assert!(crowd.meets(ONE, 1, NOW), "the first one has some");
        assert!(crowd.meets(ONE, 2, NOW), "it still has");
        crowd.meets(ONE, 0, NOW);
        assert!(!crowd.meets(ONE, 2, NOW), "who meets a limit has none");
        assert!(crowd.meets(ONE, 0, NOW + HOLDS), "there may be some again");
        assert!(crowd.meets(Scope::All, 0, NOW), "of another limit nothing is known");
    }

    #[test]
    fn a_worker_is_woken_once_until_it_has_looked() {
        let (crowd, rung) = (Crowd::new(2), Arc::new(AtomicUsize::new(0)));
        let bell = |index: usize| {
            let rung = rung.clone();
            Box::new(move || _ = rung.fetch_add(1 + 100 * index, Ordering::Relaxed)) as Bell
        };
        crowd.hang(vec![bell(0), bell(1)]);
        let rings = || rung.swap(0, Ordering::Relaxed);
        crowd.meets(ONE, 0, NOW);
        assert_eq!(rings(), 101, "the other one");
        crowd.meets(ONE, 0, NOW);
        assert_eq!(rings(), 0, "it is about to look");
        crowd.looked(ONE, 1, true, NOW);
        crowd.meets(ONE, 0, NOW);
        assert_eq!(rings(), 101, "it had some left");
        crowd.looked(ONE, 1, false, NOW);
        crowd.meets(ONE, 0, NOW);
        assert_eq!(rings(), 0, "it has none");
    }

    #[test]
    fn a_limit_is_forgotten_a_while_after_it_was_met() {
        let crowd = Crowd::new(2);
        crowd.meets(ONE, 0, NOW);
        crowd.meets(ONE, 0, NOW + WATCHED / 2);
        assert_eq!(crowd.watched(NOW + WATCHED), [ONE]);
        assert!(crowd.watched(NOW + WATCHED * 2).is_empty());
        assert!(!crowd.watches.load(Ordering::Relaxed));
        crowd.looked(ONE, 1, false, NOW + WATCHED * 2);
        assert!(crowd.meets(ONE, 0, NOW + WATCHED * 2), "what nobody watches is not looked at");
    }

    #[test]
    fn one_worker_asks_nobody() {
        let crowd = Crowd::new(1);
        assert!(!crowd.meets(ONE, 0, NOW) && crowd.watched(NOW).is_empty());
    }
}
