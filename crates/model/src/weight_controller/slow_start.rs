//! Slow start: the share of a server that is new or was down, and the weights for it.
//!
//! Weights are whole numbers, often 1. While a server of a pool ramps, all weights of the pool are scaled up alike,
//! which changes no share and leaves room below. Why a server ramps is decided elsewhere.

use std::time::Duration;

/// Where a ramp begins, in percent.
const FIRST_PERCENT: u64 = 10;
/// The step of a ramp, in percent. Bounds the number of snapshots: each step is a new one for every worker.
const STEP_PERCENT: u64 = 5;
/// The largest weight that may result.
const MOST: u16 = 256;
/// Weights are scaled so that the largest is at most this, or left alone.
const FINE: u16 = 100;

/// Percent of its share that a server has after `since`, when the ramp takes `whole`; in steps.
pub fn ramp_percent(since: Duration, whole: Duration) -> u16 {
    if since >= whole {
        return 100;
    }
    let way = since.as_nanos() * u128::from(100 - FIRST_PERCENT) / whole.as_nanos().max(1);
    let percent = FIRST_PERCENT + u64::try_from(way).unwrap_or(100 - FIRST_PERCENT);
    (percent / STEP_PERCENT * STEP_PERCENT).min(100) as u16
}

/// When the next step is due after a ramp started; `None`: the ramp has ended.
pub fn next_step(since: Duration, whole: Duration) -> Option<Duration> {
    if since >= whole {
        return None;
    }
    let next = u64::from(ramp_percent(since, whole)) + STEP_PERCENT;
    let way = next.saturating_sub(FIRST_PERCENT) as u32;
    // Rounded up, so that the step is due when its time has come.
    let next = whole * way / (100 - FIRST_PERCENT) as u32 + Duration::from_nanos(1);
    Some(next.clamp(since, whole))
}

/// A server's weight, and the part of it that the ramp allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RampingWeight {
    pub weight: u16,
    pub percent: u16,
}

/// The effective weights: unchanged if no server ramps; 0 stays 0, others never become 0.
pub fn ramped_weights(servers: &[RampingWeight]) -> Vec<u16> {
    if servers.iter().all(|server| server.percent >= 100) {
        return servers.iter().map(|server| server.weight).collect();
    }
    let largest = servers.iter().map(|server| server.weight).max().unwrap_or(1).max(1);
    let scale = u32::from((FINE / largest).max(1));
    let share = |server: &RampingWeight| {
        let full = u32::from(server.weight) * scale;
        // Above 100 percent the part would exceed the whole.
        let part = (full * u32::from(server.percent.min(100))).div_ceil(100);
        u16::try_from(part).unwrap_or(MOST).min(MOST)
    };
    servers.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_a_tenth_and_ends_with_the_whole() {
        let whole = Duration::from_secs(30);
        for (millis, want) in [
            (0, 10),
            (1_000, 10),
            (10_000, 40),
            (15_000, 55),
            (29_999, 95),
            (30_000, 100),
            (90_000, 100),
        ] {
            assert_eq!(ramp_percent(Duration::from_millis(millis), whole), want, "{millis}");
        }
    }

    #[test]
    fn every_step_leads_to_the_next_until_the_end() {
        let whole = Duration::from_secs(30);
        let mut at = Duration::ZERO;
        let mut seen = vec![ramp_percent(Duration::ZERO, whole)];
        while let Some(next) = next_step(at, whole) {
            assert!(next > at, "{at:?}");
            at = next;
            seen.push(ramp_percent(at, whole));
        }
        assert_eq!(seen.last(), Some(&100));
        assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
        assert!(seen.len() <= 20);
    }

    #[test]
    fn rows_of_shares() {
        for (servers, want) in [
            (&[(1, 100), (3, 100)][..], &[1, 3][..]),
            (&[(1, 100), (1, 10)], &[100, 10]),
            (&[(1, 100), (4, 55)], &[25, 55]),
            (&[(256, 100), (1, 10)], &[256, 1]),
            (&[(0, 100), (2, 10)], &[0, 10]),
            (&[(20, 10), (7, 10)], &[10, 4]),
        ] {
            let ramping = |(weight, percent): &(u16, u16)| RampingWeight {
                weight: *weight,
                percent: *percent,
            };
            let servers: Vec<RampingWeight> = servers.iter().map(ramping).collect();
            assert_eq!(ramped_weights(&servers), want, "{servers:?}");
        }
        assert_eq!(ramped_weights(&[]), Vec::<u16>::new());
    }
}
