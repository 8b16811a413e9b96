//! Finds the highest rate that meets an objective: doubles until it is missed, halves the gap, then confirms.
//!
//! It returns rates and receives outcomes of trials; it sends nothing. A rate counts as held only when every
//! confirmation held.

use serde::{Deserialize, Serialize};

use crate::stats::interval;

/// A latency objective: `p99 < 20ms` is 0.99 and 20,000.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyObjective {
    /// The share of requests that must be fast, above 0 and below 1.
    pub share: f64,
    /// The time limit, microseconds.
    pub within_us: f64,
}

/// Why an objective is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an objective; expected one such as `p99 < 20ms` or `p99.9 < 500us`")]
pub struct LatencyObjectiveError(String);

impl std::str::FromStr for LatencyObjective {
    type Err = LatencyObjectiveError;

    fn from_str(text: &str) -> Result<LatencyObjective, LatencyObjectiveError> {
        let wrong = || LatencyObjectiveError(text.to_owned());
        let (quantile, time) = text.split_once('<').ok_or_else(wrong)?;
        let percent = quantile.trim().strip_prefix('p').ok_or_else(wrong)?;
        let share = percent.parse::<f64>().map_err(|_| wrong())? / 100.0;
        let time: model::config::unit::Time = time.trim().parse().map_err(|_| wrong())?;
        let within_us = time.0.as_secs_f64() * 1e6;
        let good = share > 0.0 && share < 1.0 && within_us > 0.0;
        if good { Ok(LatencyObjective { share, within_us }) } else { Err(wrong()) }
    }
}

/// The outcome of a trial at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialOutcome {
    Holds,
    /// The objective is missed, or not proven.
    Misses,
    /// The generator could not make the load, so the trial shows nothing about the target.
    ClientLimit,
}

impl LatencyObjective {
    /// Assesses a trial with `slow` slow or failed requests of `all`. It holds when even the upper end of the slow
    /// share's 95 % interval is within the objective.
    pub fn assess_trial(&self, slow: u64, all: u64) -> TrialOutcome {
        let highest = interval::share(slow, all, 0.95).high;
        if all > 0 && highest <= 1.0 - self.share {
            TrialOutcome::Holds
        } else {
            TrialOutcome::Misses
        }
    }

    /// The smallest power of two of requests with which a trial without slow ones is proven.
    pub fn min_requests(&self) -> u64 {
        (1..64)
            .map(|power| 1_u64 << power)
            .find(|all| self.assess_trial(0, *all) == TrialOutcome::Holds)
            .unwrap_or(u64::MAX)
    }
}

#[derive(Clone, Debug)]
pub struct RateSearch {
    terms: SearchLimits,
    highest_passed: Option<f64>,
    lowest_missed: Option<f64>,
    next: f64,
    /// Confirmations of the highest passed rate so far, once the gap is narrow.
    confirmed: Option<u32>,
    /// Trials so far.
    steps: u32,
    result: Option<SearchResult>,
}

/// The terms of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchLimits {
    pub from: f64,
    /// The highest rate to try.
    pub most: f64,
    /// The gap between held and missed rate, as a part of the held rate, at which the search confirms.
    pub precision: f64,
    /// How often the highest rate must be confirmed.
    pub confirmations: u32,
}

/// The end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The highest confirmed rate; `None`: none.
    pub held: Option<f64>,
    /// The lowest missed rate; `None`: none.
    pub missed: Option<f64>,
    pub confirmations: u32,
    pub end: SearchEnd,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnd {
    /// The gap is narrow and the rate confirmed.
    Confirmed,
    /// The highest allowed rate holds.
    AtMost,
    /// The generator was the limit; the target may carry more.
    ClientLimit,
    /// Not even the lowest rate holds.
    NeverHeld,
    /// Trials contradict each other: the target's capacity varies.
    Wavers,
}

impl RateSearch {
    /// A search before its first trial. `from` must be above 0 and at most `most`, the precision above 0.
    pub fn new(terms: SearchLimits) -> RateSearch {
        let next = terms.from.min(terms.most);
        RateSearch {
            terms,
            highest_passed: None,
            lowest_missed: None,
            next,
            confirmed: None,
            steps: 0,
            result: None,
        }
    }

    /// The next rate to try; `None`: the search has ended.
    pub fn next_rate(&self) -> Option<f64> {
        self.result.is_none().then_some(self.next)
    }

    pub fn result(&self) -> Option<SearchResult> {
        self.result
    }

    /// Records the outcome of the trial at `next_rate`.
    pub fn record_trial(&mut self, verdict: TrialOutcome) {
        self.steps += 1;
        match (verdict, self.confirmed) {
            (TrialOutcome::ClientLimit, _) => self.finish(SearchEnd::ClientLimit),
            (TrialOutcome::Holds, None) => {
                self.highest_passed = Some(self.next);
                self.choose_next();
            }
            (TrialOutcome::Holds, Some(confirmed)) => {
                self.confirmed = Some(confirmed + 1);
                self.choose_next();
            }
            (TrialOutcome::Misses, confirming) => {
                self.lowest_missed = Some(self.next);
                if confirming.is_some() {
                    // The rate held before and misses now, so lower rates must be proven again.
                    self.highest_passed = None;
                    self.confirmed = None;
                }
                self.choose_next();
            }
        }
    }

    fn choose_next(&mut self) {
        if self.steps >= MOST_STEPS {
            return self.finish(SearchEnd::Wavers);
        }
        match (self.highest_passed, self.lowest_missed) {
            (Some(held), None) if held < self.terms.most => {
                self.next = (held * 2.0).min(self.terms.most)
            }
            (Some(held), Some(missed)) if missed / held > 1.0 + self.terms.precision => {
                self.next = f64::midpoint(held, missed);
            }
            (Some(held), missed) => {
                self.next = held;
                let confirmed = *self.confirmed.get_or_insert(0);
                if confirmed >= self.terms.confirmations {
                    self.finish(if missed.is_none() {
                        SearchEnd::AtMost
                    } else {
                        SearchEnd::Confirmed
                    });
                }
            }
            (None, Some(missed)) => {
                // Tries slightly below a missed rate first: halving would discard the progress of the search.
                let factor =
                    if missed > self.terms.from { 1.0 - self.terms.precision * 2.0 } else { 0.5 };
                // A step of 5 percent at least ends the search; more than a half could jump below a rate that holds.
                self.next = missed * factor.clamp(0.5, 0.95);
                if self.next < self.terms.from * LOWEST {
                    self.finish(SearchEnd::NeverHeld);
                }
            }
            (None, None) => {}
        }
    }

    fn finish(&mut self, end: SearchEnd) {
        let confirmations = self.confirmed.unwrap_or(0);
        let held = self.highest_passed;
        let missed = self.lowest_missed;
        self.result = Some(SearchResult { held, missed, confirmations, end });
    }
}

/// Limit for the trials of a search.
/// A search ends long before; the bound is for rates that hold and miss in turns.
const MOST_STEPS: u32 = 60;
/// The lowest rate to try, as a part of the first.
const LOWEST: f64 = 1.0 / 64.0;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn terms() -> SearchLimits {
        SearchLimits { from: 100.0, most: 1e6, precision: 0.05, confirmations: 3 }
    }

    fn run(
        terms: SearchLimits,
        mut verdict: impl FnMut(f64) -> TrialOutcome,
    ) -> (SearchResult, u32) {
        let mut seek = RateSearch::new(terms);
        while let Some(rate) = seek.next_rate() {
            assert!(rate > 0.0 && rate <= terms.most);
            seek.record_trial(verdict(rate));
        }
        (seek.result().unwrap(), seek.steps)
    }

    proptest! {
        /// For any capacity, the found rate is below it by less than the precision.
        #[test]
        fn the_capacity_is_found(capacity in 5.0f64..900_000.0) {
            let step = |rate| if rate <= capacity { TrialOutcome::Holds } else { TrialOutcome::Misses };
            let (found, steps) = run(terms(), step);
            let held = found.held.unwrap();
            prop_assert_eq!(found.end, SearchEnd::Confirmed);
            prop_assert!(held <= capacity && capacity <= held * 1.06, "{} {}", held, capacity);
            prop_assert!(steps < 40, "{} steps", steps);
        }

        /// The search ends after any sequence of outcomes.
        #[test]
        fn it_always_ends(verdicts in prop::collection::vec(any::<bool>(), 80)) {
            let mut verdicts = verdicts.into_iter().cycle();
            let mut step = || if verdicts.next() == Some(true) { TrialOutcome::Holds } else { TrialOutcome::Misses };
            run(terms(), |_| step());
        }
    }

    #[test]
    fn ends_are_named() {
        assert_eq!(run(terms(), |_| TrialOutcome::Misses).0.end, SearchEnd::NeverHeld);
        let most = run(terms(), |_| TrialOutcome::Holds).0;
        assert_eq!((most.end, most.held, most.confirmations), (SearchEnd::AtMost, Some(1e6), 3));
        let limit =
            |rate| if rate > 500.0 { TrialOutcome::ClientLimit } else { TrialOutcome::Holds };
        let found = run(terms(), limit).0;
        assert_eq!((found.end, found.held), (SearchEnd::ClientLimit, Some(400.0)));
    }

    #[test]
    fn objectives() {
        let objective: LatencyObjective = "p99 < 20ms".parse().unwrap();
        assert_eq!(objective, LatencyObjective { share: 0.99, within_us: 20_000.0 });
        for wrong in ["", "p99", "99 < 20ms", "p100 < 1ms", "p0 < 1ms", "p99 < 20", "p99 > 20ms"] {
            assert!(wrong.parse::<LatencyObjective>().is_err(), "{wrong}");
        }
        assert_eq!(objective.assess_trial(0, 10_000), TrialOutcome::Holds);
        assert_eq!(
            objective.assess_trial(99, 10_000),
            TrialOutcome::Misses,
            "so close is not proven"
        );
        assert_eq!(objective.assess_trial(0, 10), TrialOutcome::Misses, "too few to tell");
        assert!((256..=1_024).contains(&objective.min_requests()), "{}", objective.min_requests());
    }
}
