//! Counts the streams that a client resets: more than its limit in ten seconds are an attack (CVE-2023-44487).

use std::time::Duration;

use model::monotonic_time::MonotonicTime;

/// The interval over which resets are counted.
/// Ten seconds tell a flood from a page that a user leaves early.
const WINDOW: Duration = Duration::from_secs(10);

/// The name of the limit, as in HTTP/2.
pub(super) const LIMIT_NAME: &str = "rapid-reset";

#[derive(Debug)]
pub(super) struct ResetCounter {
    most: u32,
    since: MonotonicTime,
    count: u32,
}

impl ResetCounter {
    pub(super) fn new(most: u32, now: MonotonicTime) -> ResetCounter {
        ResetCounter { most, since: now, count: 0 }
    }

    pub(super) fn record(&mut self, now: MonotonicTime) {
        if now.since(self.since) >= WINDOW {
            self.since = now;
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
    }

    /// Whether the limit is exceeded.
    pub(super) fn is_exceeded(&self) -> bool {
        self.count > self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_within_its_interval_only() {
        let at = |seconds: u64| MonotonicTime(seconds * 1_000_000_000);
        let mut counter = ResetCounter::new(3, at(0));
        for second in 0..60 {
            counter.record(at(second * 4));
            assert!(!counter.is_exceeded(), "three in ten seconds are allowed");
        }
        (0..4).for_each(|_| counter.record(at(300)));
        assert!(counter.is_exceeded());
    }
}
