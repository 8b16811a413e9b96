//! The wait before a retry: exponential back-off with full jitter.
//!
//! The time is drawn uniformly between zero and a bound that doubles. So requests that failed together are not retried
//! together (Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015). It reads no clock.

use std::time::Duration;

use crate::config::RetryConfig;

/// The wait before retry number `attempt` (the first is 1). `fresh`: an untried server is up, and the first retry goes
/// there at once. `draw` is 64 random bits.
pub fn backoff(terms: &RetryConfig, attempt: u32, fresh: bool, draw: u64) -> Duration {
    let doublings = match (attempt, fresh) {
        (0 | 1, true) => return Duration::ZERO,
        (attempt, true) => attempt - 2,
        (attempt, false) => attempt.saturating_sub(1),
    };
    // Sixteen doublings of a millisecond exceed the longest `max-back-off` (60 s), and the shift cannot overflow.
    let bound = terms.back_off.saturating_mul(1 << doublings.min(16)).min(terms.back_off_most);
    let nanos = (bound.as_nanos() * u128::from(draw)) >> 64;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_doubles_up_to_its_most() {
        let terms = RetryConfig::default();
        let longest = |attempt, fresh| backoff(&terms, attempt, fresh, u64::MAX).as_millis() + 1;
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 90].map(|n| longest(n, true)),
            [1, 25, 50, 100, 200, 250, 250]
        );
        assert_eq!([1, 2, 3, 4, 5].map(|n| longest(n, false)), [25, 50, 100, 200, 250]);
    }

    #[test]
    fn the_time_is_drawn_over_the_whole_bound() {
        let terms = RetryConfig::default();
        assert_eq!(backoff(&terms, 9, true, 0), Duration::ZERO);
        assert_eq!(backoff(&terms, 9, true, 1 << 63), Duration::from_millis(125));
        let none = RetryConfig { back_off: Duration::ZERO, ..terms };
        assert_eq!(backoff(&none, 9, false, u64::MAX), Duration::ZERO);
    }
}
