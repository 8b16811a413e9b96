//! When a second server is asked for what a first one has not begun to answer: after a fixed time, or at a percentile of
//! what answers took lately.
//!
//! At the 95th percentile one request in twenty is sent twice at most, and the slowest of them end when the quicker of two
//! servers has answered (Dean and Barroso, The Tail at Scale, 2013). It reads no clock and asks nobody.

use std::time::Duration;

use crate::config::{Hedge, HedgeAfter};
use crate::live::{Histogram, HistogramSum};
use crate::moment::Moment;

/// What answers took in the last while is what they took in the last one of these, and in the one that runs.
const SPAN: Duration = Duration::from_secs(5);

/// The percentile is looked up anew after this long.
const FRESH: Duration = Duration::from_millis(200);

/// Answers below which a percentile says nothing.
const LEAST: u64 = 20;

/// What answers took lately, as one worker saw it.
#[derive(Debug, Default)]
pub struct Recent {
    now: Histogram,
    before: HistogramSum,
    /// When `now` began; `None`: nothing was seen.
    begun: Option<Moment>,
    found: Option<Found>,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    at: Moment,
    delay: Option<Duration>,
}

impl Recent {
    /// An answer began so long after its request was sent.
    pub fn saw(&mut self, took: Duration, now: Moment) {
        self.turn(now);
        self.now.record(took);
    }

    /// How long a first server may be silent; `None`: too little is known, and no other one is asked.
    pub fn delay(&mut self, terms: &Hedge, now: Moment) -> Option<Duration> {
        let percentile = match terms.after {
            HedgeAfter::Time(after) => return Some(after),
            HedgeAfter::Percentile(percentile) => f64::from(percentile) / 100.0,
        };
        if let Some(found) = self.found.filter(|found| now.since(found.at) < FRESH) {
            return found.delay;
        }
        self.turn(now);
        let mut sum = self.before.clone();
        sum.add(&self.now);
        let known = sum.count() >= LEAST;
        let delay = sum.quantile(percentile).filter(|_| known).map(|it| it.max(terms.at_least));
        self.found = Some(Found { at: now, delay });
        delay
    }

    /// Forgets what is long ago.
    fn turn(&mut self, now: Moment) {
        let begun = *self.begun.get_or_insert(now);
        if now < begun + SPAN {
            return;
        }
        self.before = HistogramSum::default();
        if now < begun + 2 * SPAN {
            self.before.add(&self.now);
        }
        (self.now, self.begun) = (Histogram::default(), Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment(millis * 1_000_000)
    }

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn percentile(percentile: u8, at_least: u64) -> Hedge {
        Hedge { after: HedgeAfter::Percentile(percentile), at_least: millis(at_least) }
    }

    /// The nearest edge above, a quarter off at most.
    fn about(found: Option<Duration>, want: u64) -> bool {
        found.is_some_and(|it| (millis(want)..=millis(want * 5 / 4 + 1)).contains(&it))
    }

    #[test]
    fn a_time_is_a_time_and_a_percentile_needs_answers() {
        let mut recent = Recent::default();
        let fixed = Hedge { after: HedgeAfter::Time(millis(7)), at_least: millis(100) };
        assert_eq!(recent.delay(&fixed, at(0)), Some(millis(7)));
        let p90 = percentile(90, 0);
        for n in 0..19 {
            recent.saw(millis(10), at(n));
        }
        assert_eq!(recent.delay(&p90, at(20)), None);
        recent.saw(millis(10), at(21));
        assert_eq!(recent.delay(&p90, at(22)), None, "it is not looked up each time");
        assert!(about(recent.delay(&p90, at(220)), 10));
        assert_eq!(recent.delay(&percentile(90, 300), at(500)), Some(millis(300)));
    }

    #[test]
    fn of_a_hundred_the_last_few_are_above_the_percentile() {
        for (percent, want) in [(50, 20), (90, 20), (95, 400), (99, 400)] {
            let mut recent = Recent::default();
            for n in 0..100 {
                recent.saw(millis(if n < 92 { 20 } else { 400 }), at(n));
            }
            let found = recent.delay(&percentile(percent, 0), at(100));
            assert!(about(found, want), "{percent}: {found:?}");
        }
    }

    #[test]
    fn what_is_long_ago_is_forgotten() {
        let mut recent = Recent::default();
        let p50 = percentile(50, 0);
        for n in 0..100 {
            recent.saw(millis(500), at(n));
        }
        for n in 0..60 {
            recent.saw(millis(10), at(5_100 + n));
        }
        assert!(about(recent.delay(&p50, at(5_200)), 500), "both count");
        assert!(about(recent.delay(&p50, at(10_200)), 10));
        assert_eq!(recent.delay(&p50, at(60_000)), None);
    }
}
