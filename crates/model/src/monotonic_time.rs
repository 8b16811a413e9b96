//! Points in time as numbers.
//!
//! A time is nanoseconds since an origin that the caller chose (the worker's monotonic clock, or virtual time in a
//! simulation). Nothing here reads a clock.

use std::ops::{Add, Sub};
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonotonicTime(pub u64);

impl MonotonicTime {
    /// Later than any deadline that is ever set.
    pub const NEVER: MonotonicTime = MonotonicTime(u64::MAX);

    /// Time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: MonotonicTime) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for MonotonicTime {
    type Output = MonotonicTime;

    fn add(self, span: Duration) -> MonotonicTime {
        MonotonicTime(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for MonotonicTime {
    type Output = MonotonicTime;

    fn sub(self, span: Duration) -> MonotonicTime {
        MonotonicTime(self.0.saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}
