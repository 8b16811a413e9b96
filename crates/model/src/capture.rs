//! When a capture is worth making: rules over exchanges that were measured and over rates of failures, and what holds
//! them back. Pure: facts and time go in, a reason comes out.
//!
//! What is captured, and how, is not known here.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use crate::attribute::{Bars, Facts};
use crate::config::Capture;
use crate::limit::Limit;

/// Failures are counted over so long, nanoseconds.
pub const WINDOW: u64 = 10_000_000_000;
/// A share of fewer exchanges says nothing.
pub const LEAST: u64 = 20;

/// Why a capture is made.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// An exchange took longer than the bound.
    Latency {
        /// What it took.
        took: Duration,
        /// The bound.
        bound: Duration,
    },
    /// Most of an exchange's time was of this kind.
    Cause(Limit),
    /// An exchange of a client that the rule names.
    Client,
    /// Too many exchanges failed.
    Errors {
        /// How many.
        failed: u64,
        /// Of so many.
        all: u64,
        /// The bound, percent.
        bound: u8,
    },
    /// Somebody ordered it.
    Ordered(String),
}

impl fmt::Display for Why {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Latency { took, bound } => {
                write!(to, "an exchange took {took:.1?}, above {bound:?}")
            }
            Why::Cause(limit) => write!(to, "most of an exchange's time was {}", limit.code()),
            Why::Client => write!(to, "an exchange of a client that is watched"),
            Why::Errors { failed, all, bound } => {
                write!(to, "{failed} of {all} exchanges failed in 10 s, above {bound} %")
            }
            Why::Ordered(by) => write!(to, "ordered by {by}"),
        }
    }
}

/// Sums of a service at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Exchanges that ended.
    pub all: u64,
    /// Of those, such as failed.
    pub failed: u64,
}

/// One rule at work.
#[derive(Clone, Debug)]
pub struct Trigger {
    config: Capture,
    /// It waits until then, nanoseconds.
    quiet_until: u64,
    sums: VecDeque<(u64, Sums)>,
}

impl Trigger {
    /// Ready at once.
    pub fn new(config: &Capture) -> Trigger {
        Trigger { config: config.clone(), quiet_until: 0, sums: VecDeque::new() }
    }

    /// What it goes by.
    pub fn config(&self) -> &Capture {
        &self.config
    }

    /// Goes by other words from now on; what it has counted and how long it waits stay.
    pub fn change(&mut self, config: &Capture) {
        self.config = config.clone();
    }

    /// Whether a capture is made for an exchange that was measured at this moment; `bars`: whose time it was.
    pub fn exchange(&mut self, facts: &Facts, bars: &Bars, now: u64) -> Option<Why> {
        if now < self.quiet_until {
            return None;
        }
        let why = self.fits(facts, bars)?;
        self.made(now);
        Some(why)
    }

    /// Whether an exchange is one that the rule is about, also while it waits or captures.
    pub fn fits(&self, facts: &Facts, bars: &Bars) -> Option<Why> {
        let Capture { latency, cause, from, .. } = &self.config;
        if !from.is_empty() && !from.iter().any(|prefix| prefix.contains(facts.client)) {
            return None;
        }
        let took = Duration::from_nanos(facts.slowness());
        if latency.is_some_and(|bound| took <= bound) {
            return None;
        }
        let first = bars.first().map(|bar| bar.limit);
        let caused = first.filter(|limit| cause.contains(limit));
        if !cause.is_empty() && caused.is_none() {
            return None;
        }
        match (caused, latency) {
            (Some(limit), _) => Some(Why::Cause(limit)),
            (None, Some(bound)) => Some(Why::Latency { took, bound: *bound }),
            // Failures are counted, not looked at one by one.
            (None, None) => (!from.is_empty()).then_some(Why::Client),
        }
    }

    /// Whether a capture is made because too many exchanges failed.
    pub fn counted(&mut self, sums: Sums, now: u64) -> Option<Why> {
        let bound = self.config.errors?;
        while self.sums.get(1).is_some_and(|(at, _)| at + WINDOW <= now) {
            self.sums.pop_front();
        }
        self.sums.push_back((now, sums));
        let (_, first) = self.sums.front()?;
        let all = sums.all.saturating_sub(first.all);
        let failed = sums.failed.saturating_sub(first.failed);
        let many = all >= LEAST && failed * 100 > all * u64::from(bound);
        if now < self.quiet_until || !many {
            return None;
        }
        self.made(now);
        self.sums.clear();
        Some(Why::Errors { failed, all, bound })
    }

    /// A capture is made now, by whatever reason: the next one waits.
    pub fn made(&mut self, now: u64) {
        let pause = self.config.time + self.config.pause;
        let pause = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        self.quiet_until = now.saturating_add(pause);
    }

    /// Whether a capture of it goes on.
    pub fn takes(&self, now: u64) -> bool {
        let pause = u64::try_from(self.config.pause.as_nanos()).unwrap_or(u64::MAX);
        self.waits(now) > pause
    }

    /// How long it waits still, nanoseconds.
    pub fn waits(&self, now: u64) -> u64 {
        self.quiet_until.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::attribute::judge;

    const SECOND: u64 = 1_000_000_000;

    fn rule(keys: &str) -> Trigger {
        let text = format!(
            "[service.shop]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"web\"\n\
             [pool.web]\nservers = [\"10.0.0.1:80\"]\n[capture.slow]\n{keys}\n"
        );
        let checked =
            crate::config::load(&text, "t").unwrap_or_else(|findings| panic!("{findings}"));
        Trigger::new(&checked.config.captures["slow"])
    }

    fn exchange(client: &str, millis: u64) -> (Facts, Bars) {
        let client: IpAddr = client.parse().unwrap();
        let mut facts = Facts::of(client, millis * 1_000_000);
        facts.phases.first_byte = millis * 1_000_000;
        facts.waits.set(crate::attribute::For::Answer, millis * 1_000_000);
        let bars = judge(&facts);
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
            ("cause = \"SERVER_THINK\"", "192.0.2.1", 900, true),
            ("cause = [\"RWND\", \"LOSS\"]", "192.0.2.1", 900, false),
            ("cause = \"SERVER_THINK\"\nlatency = \"2s\"", "192.0.2.1", 900, false),
        ];
        for (keys, client, millis, holds) in rows {
            let (facts, bars) = exchange(client, millis);
            let why = rule(keys).exchange(&facts, &bars, 0);
            assert_eq!(why.is_some(), holds, "{keys} {client} {millis}: {why:?} {bars:?}");
        }
    }

    #[test]
    fn after_one_the_next_waits() {
        let mut rule = rule("latency = \"100ms\"\ntime = \"2s\"\npause = \"10s\"");
        let (facts, bars) = exchange("192.0.2.1", 600);
        let first = rule.exchange(&facts, &bars, SECOND).unwrap();
        assert_eq!(first.to_string(), "an exchange took 600.0ms, above 100ms");
        assert_eq!(rule.waits(3 * SECOND), 10 * SECOND);
        assert_eq!(rule.exchange(&facts, &bars, 13 * SECOND - 1), None);
        assert!(rule.fits(&facts, &bars).is_some(), "it is still one of those");
        assert!(rule.takes(3 * SECOND - 1) && !rule.takes(3 * SECOND));
        assert!(rule.exchange(&facts, &bars, 13 * SECOND).is_some());
    }

    #[test]
    fn failures_are_a_share_of_enough_exchanges_within_the_window() {
        let mut rule = rule("errors = 10");
        let mut at = 0;
        let mut sums = Sums::default();
        let mut count = |rule: &mut Trigger, all, failed| {
            at += SECOND;
            sums = Sums { all: sums.all + all, failed: sums.failed + failed };
            rule.counted(sums, at)
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
        assert!(matches!(why, Why::Errors { all: 1_900.., failed: 580.., bound: 10 }), "{why:?}");
        assert_eq!(count(&mut rule, 100, 100), None, "it waits");
    }
}
