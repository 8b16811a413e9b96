//! The intended start times of an open loop.
//!
//! Request `i` of the whole run starts at `start + i / rate`; a thread has every n-th. It neither waits nor sends.

use model::monotonic_time::MonotonicTime;

/// One thread's share of the starts.
#[derive(Clone, Debug)]
pub struct StartSchedule {
    start: MonotonicTime,
    per_second: f64,
    next: u64,
    stride: u64,
}

impl StartSchedule {
    /// The share of thread `thread` of `threads`.
    pub fn new(start: MonotonicTime, per_second: f64, thread: u64, threads: u64) -> StartSchedule {
        StartSchedule { start, per_second, next: thread, stride: threads }
    }

    /// The next intended start.
    pub fn next(&self) -> MonotonicTime {
        let nanos = self.next as f64 * 1e9 / self.per_second;
        MonotonicTime(self.start.0.saturating_add(nanos as u64))
    }

    /// Returns the next start and advances, if the start is due.
    pub fn take_due(&mut self, now: MonotonicTime) -> Option<MonotonicTime> {
        let at = self.next();
        (at <= now).then(|| {
            self.next += self.stride;
            at
        })
    }
}

/// The share of thread `thread` of `threads` in `all`.
pub fn share_for_thread(all: u64, thread: usize, threads: usize) -> u64 {
    let thread = thread as u64;
    let threads = threads as u64;
    all / threads + u64::from(thread < all % threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_interleave_and_never_drift() {
        let start = MonotonicTime(1_000);
        let mut shares: Vec<_> = (0..3).map(|t| StartSchedule::new(start, 3_000.0, t, 3)).collect();
        let last = MonotonicTime(start.0 + 1_000_000_000);
        let mut all: Vec<_> = shares
            .iter_mut()
            .flat_map(|share| std::iter::from_fn(|| share.take_due(last)).collect::<Vec<_>>())
            .collect();
        all.sort();
        assert_eq!(all.len(), 3_001);
        assert_eq!(all[3_000], last);
        assert!(all.windows(2).all(|pair| (333_000..334_000).contains(&(pair[1].0 - pair[0].0))));
    }
}
