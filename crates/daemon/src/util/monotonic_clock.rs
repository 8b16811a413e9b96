//! The kernel's monotonic clock: no step of the wall clock moves it.

use model::monotonic_time::MonotonicTime;
use rustix::time::{ClockId, clock_gettime};

/// The kernel's monotonic clock, which the gate reads too.
pub fn monotonic_now() -> MonotonicTime {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    MonotonicTime(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}
