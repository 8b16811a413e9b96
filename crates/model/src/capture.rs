//! Capture triggers: rules over measured exchanges and over failure rates, and the pause between two captures. Pure: it
//! receives facts and the time and returns a reason.
//!
//! Other modules decide what is captured, and how.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use crate::config::CaptureConfig;
use crate::limit::Limit;
use crate::time_attribution::{ExchangeMeasurement, TimeBreakdown};

/// The window over which failures are counted, nanoseconds.
/// Ten seconds hold enough exchanges of a quiet service, and are still the present.
pub const WINDOW: u64 = 10_000_000_000;
/// Fewer exchanges than this give no meaningful share of failures.
/// With fewer, one failure would be more than five percent.
pub const MIN_EXCHANGES: u64 = 20;

/// Why a capture is made.
#[derive(Clone, Debug, PartialEq)]
pub enum CaptureReason {
    /// An exchange took longer than the bound.
    Latency {
        took: Duration,
        bound: Duration,
    },
    /// Most of an exchange's time had this cause.
    Cause(Limit),
    /// An exchange of a client that the rule names.
    Client,
    /// Too many exchanges failed.
    Errors {
        failed: u64,
        all: u64,
        bound: u8,
    },
    Requested(String),
}

impl fmt::Display for CaptureReason {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureReason::Latency { took, bound } => {
                write!(to, "an exchange took {took:.1?}, above {bound:?}")
            }
            CaptureReason::Cause(limit) => {
                write!(to, "most of an exchange's time was {}", limit.code())
            }
            CaptureReason::Client => write!(to, "an exchange of a client that is watched"),
            CaptureReason::Errors { failed, all, bound } => {
                write!(to, "{failed} of {all} exchanges failed in 10 s, above {bound} %")
            }
            CaptureReason::Requested(by) => write!(to, "ordered by {by}"),
        }
    }
}

/// Counts of a service at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailureCounts {
    pub all: u64,
    pub failed: u64,
}

/// A capture rule and its state.
#[derive(Clone, Debug)]
pub struct CaptureTrigger {
    config: CaptureConfig,
    /// No capture before this time, nanoseconds.
    quiet_until: u64,
    samples: VecDeque<FailureSample>,
}

/// The counts of a service as seen at one time.
#[derive(Clone, Copy, Debug)]
struct FailureSample {
    /// Nanoseconds of the monotonic clock.
    at: u64,
    counts: FailureCounts,
}

impl CaptureTrigger {
    pub fn new(config: &CaptureConfig) -> CaptureTrigger {
        CaptureTrigger { config: config.clone(), quiet_until: 0, samples: VecDeque::new() }
    }

    pub fn config(&self) -> &CaptureConfig {
        &self.config
    }

    /// Replaces the rule; its counts and its pause stay.
    pub fn update_config(&mut self, config: &CaptureConfig) {
        self.config = config.clone();
    }

    /// Whether to capture because of an exchange measured at this time; `bars`: its time attribution.
    pub fn check_exchange(
        &mut self,
        facts: &ExchangeMeasurement,
        bars: &TimeBreakdown,
        now: u64,
    ) -> Option<CaptureReason> {
        if now < self.quiet_until {
            return None;
        }
        let why = self.match_exchange(facts, bars)?;
        self.record_capture(now);
        Some(why)
    }

    /// Whether an exchange matches the rule, also during a pause or a capture.
    pub fn match_exchange(
        &self,
        facts: &ExchangeMeasurement,
        bars: &TimeBreakdown,
    ) -> Option<CaptureReason> {
        let CaptureConfig { latency, cause, from, .. } = &self.config;
        if !from.is_empty() && !from.iter().any(|prefix| prefix.contains(facts.client)) {
            return None;
        }
        let took = Duration::from_nanos(facts.slowness());
        if latency.is_some_and(|bound| took <= bound) {
            return None;
        }
        let first = bars.largest().map(|bar| bar.limit);
        let caused = first.filter(|limit| cause.contains(limit));
        if !cause.is_empty() && caused.is_none() {
            return None;
        }
        match (caused, latency) {
            (Some(limit), _) => Some(CaptureReason::Cause(limit)),
            (None, Some(bound)) => Some(CaptureReason::Latency { took, bound: *bound }),
            // Failures are counted by `check_failure_rate`, not per exchange.
            (None, None) => (!from.is_empty()).then_some(CaptureReason::Client),
        }
    }

    /// Whether to capture because too many exchanges failed.
    pub fn check_failure_rate(&mut self, sums: FailureCounts, now: u64) -> Option<CaptureReason> {
        let bound = self.config.errors?;
        while self.samples.get(1).is_some_and(|sample| sample.at + WINDOW <= now) {
            self.samples.pop_front();
        }
        self.samples.push_back(FailureSample { at: now, counts: sums });
        let first = self.samples.front()?.counts;
        let all = sums.all.saturating_sub(first.all);
        let failed = sums.failed.saturating_sub(first.failed);
        let many = all >= MIN_EXCHANGES && failed * 100 > all * u64::from(bound);
        if now < self.quiet_until || !many {
            return None;
        }
        self.record_capture(now);
        self.samples.clear();
        Some(CaptureReason::Errors { failed, all, bound })
    }

    /// A capture starts now for any reason, so the pause before the next one starts too.
    pub fn record_capture(&mut self, now: u64) {
        let pause = self.config.time + self.config.pause;
        let pause = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        self.quiet_until = now.saturating_add(pause);
    }

    /// Whether a capture of this rule is running.
    pub fn is_active(&self, now: u64) -> bool {
        let pause = u64::try_from(self.config.pause.as_nanos()).unwrap_or(u64::MAX);
        self.remaining_wait_ns(now) > pause
    }

    /// The remaining pause, nanoseconds.
    pub fn remaining_wait_ns(&self, now: u64) -> u64 {
        self.quiet_until.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::time_attribution::attribute_time;

    const SECOND: u64 = 1_000_000_000;

    fn rule(keys: &str) -> CaptureTrigger {
        let text = format!(
            "[service.shop]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"web\"\n\
             [pool.web]\nservers = [\"10.0.0.1:80\"]\n[capture.slow]\n{keys}\n"
        );
        let checked =
            crate::config::load(&text, "t").unwrap_or_else(|findings| panic!("{findings}"));
        CaptureTrigger::new(&checked.config.captures["slow"])
    }

    fn exchange(client: &str, millis: u64) -> (ExchangeMeasurement, TimeBreakdown) {
        let client: IpAddr = client.parse().unwrap();
        let mut facts = ExchangeMeasurement::from_total(client, millis * 1_000_000);
        facts.phases.first_byte = millis * 1_000_000;
        facts
            .wait_times
            .set(crate::time_attribution::WaitReason::ServerResponse, millis * 1_000_000);
        let bars = attribute_time(&facts);
        (facts, bars)
    }

    #[test]
    fn rules_hold_and_do_not() {
        let rows = [
            ("latency = \"500ms\"", "192.0.2.1", 600, true),
            ("latency = \"500ms\"", "192.0.2.1", 500, false),
            ("latency = \"500ms\"\nfrom = \"192.0.2.0/24\"", "192.0.2.9", 600, true),
            ("latency = \"500ms\"\nfrom = \"192.0.2.0/24\"", "192.0.3.9", 600, false),
            ("from = \"192.0.2.0/24\"", "192.0.2.9", 1, true),
            ("reason = \"SERVER_THINK\"", "192.0.2.1", 900, true),
            ("reason = [\"RWND\", \"LOSS\"]", "192.0.2.1", 900, false),
            ("reason = \"SERVER_THINK\"\nlatency = \"2s\"", "192.0.2.1", 900, false),
        ];
        for (keys, client, millis, holds) in rows {
            let (facts, bars) = exchange(client, millis);
            let why = rule(keys).check_exchange(&facts, &bars, 0);
            assert_eq!(why.is_some(), holds, "{keys} {client} {millis}: {why:?} {bars:?}");
        }
    }

    #[test]
    fn after_one_the_next_waits() {
        let mut rule = rule("latency = \"100ms\"\ntime = \"2s\"\npause = \"10s\"");
        let (facts, bars) = exchange("192.0.2.1", 600);
        let first = rule.check_exchange(&facts, &bars, SECOND).unwrap();
        assert_eq!(first.to_string(), "an exchange took 600.0ms, above 100ms");
        assert_eq!(rule.remaining_wait_ns(3 * SECOND), 10 * SECOND);
        assert_eq!(rule.check_exchange(&facts, &bars, 13 * SECOND - 1), None);
        assert!(rule.match_exchange(&facts, &bars).is_some(), "it is still one of those");
        assert!(rule.is_active(3 * SECOND - 1) && !rule.is_active(3 * SECOND));
        assert!(rule.check_exchange(&facts, &bars, 13 * SECOND).is_some());
    }

    #[test]
    fn failures_are_a_share_of_enough_exchanges_within_the_window() {
        let mut rule = rule("errors = 10");
        let mut at = 0;
        let mut sums = FailureCounts::default();
        let mut count = |rule: &mut CaptureTrigger, all, failed| {
            at += SECOND;
            sums = FailureCounts { all: sums.all + all, failed: sums.failed + failed };
            rule.check_failure_rate(sums, at)
        };
        assert_eq!(count(&mut rule, 1_000, 900), None, "what was before it began is not its own");
        assert_eq!(count(&mut rule, 19, 19), None, "too few");
        for _ in 0..12 {
            assert_eq!(count(&mut rule, 0, 0), None, "nothing passes");
        }
        for _ in 0..12 {
            assert_eq!(count(&mut rule, 100, 10), None, "not above");
        }
        let why = count(&mut rule, 1_000, 500).unwrap();
        assert!(
            matches!(why, CaptureReason::Errors { all: 1_900.., failed: 580.., bound: 10 }),
            "{why:?}"
        );
        assert_eq!(count(&mut rule, 100, 100), None, "it waits");
    }
}
