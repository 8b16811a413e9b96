//! How a worker at a limit asks the other workers to evict silent connections before it evicts an idle one of its own.
//!
//! A worker closes only its own connections. Requests expire; without a request, each operation costs one atomic load.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use model::admission::ConnectionScope;
use model::monotonic_time::MonotonicTime;
use model::stats::SharedGauge;

/// A request expires when the limit was not reached for this long, so that it is still there for another burst soon
/// after.
/// Ten seconds cover the pauses of a burst; the watch itself is one check in 100 ms.
const WATCH_TIME: Duration = Duration::from_secs(10);

/// How long a worker's answer "none" is valid: longer than the 100 ms between two checks of a worker.
const ANSWER_VALID: Duration = Duration::from_millis(150);

/// Wakes a worker to check for silent connections.
pub type WorkerWaker = Box<dyn Fn() + Send + Sync>;

/// The limits that were reached, over all workers.
#[derive(Default)]
pub struct EvictionRequests {
    /// Clients that wait for admission.
    pub waiting: SharedGauge,
    /// Those of them whose own worker has no connection to evict.
    pub without_victim: SharedGauge,
    watches: AtomicBool,
    limits: Mutex<HashMap<ConnectionScope, WatchedLimit>>,
    workers: usize,
    wakers: OnceLock<Vec<WorkerWaker>>,
}

/// A limit that was reached.
#[derive(Debug)]
struct WatchedLimit {
    until: MonotonicTime,
    answers: Vec<WorkerAnswer>,
}

/// Eviction requests to one worker, and its answer.
#[derive(Clone, Copy, Debug, Default)]
struct WorkerAnswer {
    /// The worker was woken to check, and has not answered yet.
    was_asked: bool,
    /// Until then the worker counts as one without silent or stalled connections.
    none_until: Option<MonotonicTime>,
}

impl EvictionRequests {
    /// For this number of workers.
    pub fn new(workers: usize) -> EvictionRequests {
        EvictionRequests { workers, ..EvictionRequests::default() }
    }

    /// Sets the function that wakes each worker.
    pub fn set_wakers(&self, wakers: Vec<WorkerWaker>) {
        // Only the first call has an effect.
        let _ = self.wakers.set(wakers);
    }

    /// Called by a worker that has reached a limit and has no silent or stalled connection. Wakes the workers that may
    /// have one; returns whether there are any.
    pub fn request_eviction(
        &self,
        scope: ConnectionScope,
        worker: usize,
        now: MonotonicTime,
    ) -> bool {
        if self.workers < 2 {
            return false;
        }
        let mut limits = self.lock();
        let new =
            || WatchedLimit { until: now, answers: vec![WorkerAnswer::default(); self.workers] };
        let limit = limits.entry(scope).or_insert_with(new);
        limit.until = limit.until.max(now + WATCH_TIME);
        self.watches.store(true, Ordering::Relaxed);
        let mut may = false;
        let mut ring = Vec::new();
        for (of, look) in limit.answers.iter_mut().enumerate() {
            if of == worker {
                look.none_until = Some(now + ANSWER_VALID);
            }
            if look.none_until.is_some_and(|until| now < until) {
                continue;
            }
            may = true;
            if !std::mem::replace(&mut look.was_asked, true) {
                ring.push(of);
            }
        }
        drop(limits);
        let wakers = self.wakers.get().map(Vec::as_slice).unwrap_or_default();
        ring.into_iter().filter_map(|of| wakers.get(of)).for_each(|wake| wake());
        may
    }

    /// The limits that every worker must check.
    pub fn watched_limits(&self, now: MonotonicTime) -> Vec<ConnectionScope> {
        if !self.watches.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut limits = self.lock();
        limits.retain(|_, limit| limit.until > now);
        self.watches.store(!limits.is_empty(), Ordering::Relaxed);
        limits.keys().copied().collect()
    }

    /// Records that a worker has checked a limit and evicted connections. `left`: silent or stalled connections remain.
    pub fn record_answer(
        &self,
        scope: ConnectionScope,
        worker: usize,
        left: bool,
        now: MonotonicTime,
    ) {
        let mut limits = self.lock();
        if let Some(look) = limits.get_mut(&scope).and_then(|limit| limit.answers.get_mut(worker)) {
            *look = WorkerAnswer {
                was_asked: false,
                none_until: (!left).then_some(now + ANSWER_VALID),
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConnectionScope, WatchedLimit>> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use model::id::ServiceId;

    use super::*;

    const NOW: MonotonicTime = MonotonicTime(1_000);
    const ONE: ConnectionScope = ConnectionScope::Service(ServiceId(1));

    #[test]
    fn others_are_asked_until_they_have_looked_and_found_nothing() {
        let eviction_requests = EvictionRequests::new(3);
        assert!(eviction_requests.watched_limits(NOW).is_empty());
        assert!(eviction_requests.request_eviction(ONE, 0, NOW), "nobody has looked");
        assert_eq!(eviction_requests.watched_limits(NOW), [ONE]);
        eviction_requests.record_answer(ONE, 1, false, NOW);
        assert!(eviction_requests.request_eviction(ONE, 0, NOW), "one has not looked");
        eviction_requests.record_answer(ONE, 2, true, NOW);
        assert!(eviction_requests.request_eviction(ONE, 0, NOW), "one has some left");
        eviction_requests.record_answer(ONE, 2, false, NOW);
        assert!(!eviction_requests.request_eviction(ONE, 0, NOW), "none has any");
        eviction_requests.record_answer(ONE, 0, true, NOW);
        assert!(eviction_requests.request_eviction(ONE, 1, NOW), "the first one has some");
        assert!(eviction_requests.request_eviction(ONE, 2, NOW), "it still has");
        eviction_requests.request_eviction(ONE, 0, NOW);
        assert!(!eviction_requests.request_eviction(ONE, 2, NOW), "who meets a limit has none");
        assert!(
            eviction_requests.request_eviction(ONE, 0, NOW + ANSWER_VALID),
            "there may be some again"
        );
        assert!(
            eviction_requests.request_eviction(ConnectionScope::All, 0, NOW),
            "of another limit nothing is known"
        );
    }

    #[test]
    fn a_worker_is_woken_once_until_it_has_looked() {
        let eviction_requests = EvictionRequests::new(2);
        let rung = Arc::new(AtomicUsize::new(0));
        let wake = |index: usize| {
            let rung = rung.clone();
            Box::new(move || _ = rung.fetch_add(1 + 100 * index, Ordering::Relaxed)) as WorkerWaker
        };
        eviction_requests.set_wakers(vec![wake(0), wake(1)]);
        let rings = || rung.swap(0, Ordering::Relaxed);
        eviction_requests.request_eviction(ONE, 0, NOW);
        assert_eq!(rings(), 101, "the other one");
        eviction_requests.request_eviction(ONE, 0, NOW);
        assert_eq!(rings(), 0, "it is about to look");
        eviction_requests.record_answer(ONE, 1, true, NOW);
        eviction_requests.request_eviction(ONE, 0, NOW);
        assert_eq!(rings(), 101, "it had some left");
        eviction_requests.record_answer(ONE, 1, false, NOW);
        eviction_requests.request_eviction(ONE, 0, NOW);
        assert_eq!(rings(), 0, "it has none");
    }

    #[test]
    fn a_limit_is_forgotten_a_while_after_it_was_met() {
        let eviction_requests = EvictionRequests::new(2);
        eviction_requests.request_eviction(ONE, 0, NOW);
        eviction_requests.request_eviction(ONE, 0, NOW + WATCH_TIME / 2);
        assert_eq!(eviction_requests.watched_limits(NOW + WATCH_TIME), [ONE]);
        assert!(eviction_requests.watched_limits(NOW + WATCH_TIME * 2).is_empty());
        assert!(!eviction_requests.watches.load(Ordering::Relaxed));
        eviction_requests.record_answer(ONE, 1, false, NOW + WATCH_TIME * 2);
        assert!(
            eviction_requests.request_eviction(ONE, 0, NOW + WATCH_TIME * 2),
            "what nobody watches is not looked at"
        );
    }

    #[test]
    fn one_worker_asks_nobody() {
        let eviction_requests = EvictionRequests::new(1);
        assert!(
            !eviction_requests.request_eviction(ONE, 0, NOW)
                && eviction_requests.watched_limits(NOW).is_empty()
        );
    }
}
