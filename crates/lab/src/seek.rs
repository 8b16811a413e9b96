//! Finds the highest rate that meets an objective: doubles until it is missed, halves the gap, then confirms.
//!
//! Rates go out, verdicts come in; it sends nothing. A rate counts as held only when every confirmation held.

use serde::{Deserialize, Serialize};

use crate::stats::interval;

/// What a latency must be: `p99 < 20ms` is 0.99 and 20,000.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Objective {
    /// The share of requests that must be fast, above 0 and below 1.
    pub share: f64,
    /// How fast, in microseconds.
    pub within_us: f64,
}

/// Why a text is no objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an objective; expected one such as `p99 < 20ms` or `p99.9 < 500us`")]
pub struct ObjectiveError(String);

impl std::str::FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Objective, ObjectiveError> {
        let wrong = || ObjectiveError(text.to_owned());
        let (quantile, time) = text.split_once('<').ok_or_else(wrong)?;
        let percent = quantile.trim().strip_prefix('p').ok_or_else(wrong)?;
        let share = percent.parse::<f64>().map_err(|_| wrong())? / 100.0;
        let time: model::config::unit::Time = time.trim().parse().map_err(|_| wrong())?;
        let within_us = time.0.as_secs_f64() * 1e6;
        let good = share > 0.0 && share < 1.0 && within_us > 0.0;
        if good { Ok(Objective { share, within_us }) } else { Err(wrong()) }
    }
}

/// What a trial at a rate came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Proven to hold.
    Holds,
    /// It does not, or it is not proven.
    Misses,
    /// The generator could not make the load: nothing is known of the target.
    ClientLimit,
}

impl Objective {
    /// Judges a trial: of `all` requests so many were slow or failed. It holds when even the upper end of the slow
    /// share's interval at 95 % is within the objective.
    pub fn judge(&self, slow: u64, all: u64) -> Verdict {
        let (_, high) = interval::share(slow, all, 0.95);
        if all > 0 && high <= 1.0 - self.share { Verdict::Holds } else { Verdict::Misses }
    }

    /// Requests of a trial so that it can be proven with none too slow.
    pub fn fewest(&self) -> u64 {
        (1..64)
            .map(|power| 1_u64 << power)
            .find(|all| self.judge(0, *all) == Verdict::Holds)
            .unwrap_or(u64::MAX)
    }
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Seek {
    terms: Terms,
    held: Option<f64>,
    missed: Option<f64>,
    next: f64,
    /// Confirmations of `held` so far, once the gap is narrow.
    confirmed: Option<u32>,
    /// A rate that was given up by a confirmation, so that the search does not climb back.
    steps: u32,
    over: Option<Found>,
}

/// Where a search begins and ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The first rate.
    pub from: f64,
    /// The highest rate that is tried.
    pub most: f64,
    /// The gap between held and missed, as a part of the held rate, at which it is narrow enough.
    pub precision: f64,
    /// How often the found rate must hold again.
    pub confirmations: u32,
}

/// The end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The highest rate that held and was confirmed; `None`: none did.
    pub held: Option<f64>,
    /// The lowest rate that missed; `None`: none did.
    pub missed: Option<f64>,
    /// How often `held` held again.
    pub confirmations: u32,
    /// Why it ended.
    pub end: SeekEnd,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeekEnd {
    /// The gap is narrow and the rate confirmed.
    Confirmed,
    /// The highest rate that may be tried holds.
    AtMost,
    /// The generator is the limit: the target may carry more.
    ClientLimit,
    /// Not even the lowest rate holds.
    NeverHeld,
    /// Trials contradict each other: the target's capacity wavers.
    Wavers,
}

impl Seek {
    /// Nothing has been tried. `from` is above 0 and at most `most`, the precision above 0.
    pub fn new(terms: Terms) -> Seek {
        let next = terms.from.min(terms.most);
        Seek { terms, held: None, missed: None, next, confirmed: None, steps: 0, over: None }
    }

    /// The rate to try next; `None`: it is over.
    pub fn next(&self) -> Option<f64> {
        self.over.is_none().then_some(self.next)
    }

    /// How it ended.
    pub fn found(&self) -> Option<Found> {
        self.over
    }

    /// What the trial at `next` came to.
    pub fn tried(&mut self, verdict: Verdict) {
        self.steps += 1;
        match (verdict, self.confirmed) {
            (Verdict::ClientLimit, _) => self.end(SeekEnd::ClientLimit),
            (Verdict::Holds, None) => {
                self.held = Some(self.next);
                self.go_on();
            }
            (Verdict::Holds, Some(confirmed)) => {
                self.confirmed = Some(confirmed + 1);
                self.go_on();
            }
            (Verdict::Misses, confirming) => {
                self.missed = Some(self.next);
                if confirming.is_some() {
                    // It held once and misses now: what is below must be proven anew.
                    self.held = None;
                    self.confirmed = None;
                }
                self.go_on();
            }
        }
    }

    fn go_on(&mut self) {
        if self.steps >= MOST_STEPS {
            return self.end(SeekEnd::Wavers);
        }
        match (self.held, self.missed) {
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
                    self.end(if missed.is_none() { SeekEnd::AtMost } else { SeekEnd::Confirmed });
                }
            }
            (None, Some(missed)) => {
                // Below what gave way by a little first: a fall by half would throw the search away.
                let factor =
                    if missed > self.terms.from { 1.0 - self.terms.precision * 2.0 } else { 0.5 };
                self.next = missed * factor.clamp(0.5, 0.95);
                if self.next < self.terms.from * LOWEST {
                    self.end(SeekEnd::NeverHeld);
                }
            }
            (None, None) => {}
        }
    }

    fn end(&mut self, end: SeekEnd) {
        let confirmations = self.confirmed.unwrap_or(0);
        let (held, missed) = (self.held, self.missed);
        self.over = Some(Found { held, missed, confirmations, end });
    }
}

/// Trials of a search at most.
const MOST_STEPS: u32 = 60;
/// Rates below this part of the first are not tried.
const LOWEST: f64 = 1.0 / 64.0;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn terms() -> Terms {
        Terms { from: 100.0, most: 1e6, precision: 0.05, confirmations: 3 }
    }

    fn run(terms: Terms, mut verdict: impl FnMut(f64) -> Verdict) -> (Found, u32) {
        let mut seek = Seek::new(terms);
        while let Some(rate) = seek.next() {
            assert!(rate > 0.0 && rate <= terms.most);
            seek.tried(verdict(rate));
        }
        (seek.found().unwrap(), seek.steps)
    }

    proptest! {
        /// Wherever the capacity lies, the found rate is below it by less than the precision.
        #[test]
        fn the_capacity_is_found(capacity in 5.0f64..900_000.0) {
            let step = |rate| if rate <= capacity { Verdict::Holds } else { Verdict::Misses };
            let (found, steps) = run(terms(), step);
            let held = found.held.unwrap();
            prop_assert_eq!(found.end, SeekEnd::Confirmed);
            prop_assert!(held <= capacity && capacity <= held * 1.06, "{} {}", held, capacity);
            prop_assert!(steps < 40, "{} steps", steps);
        }

        /// Whatever verdicts come, it ends.
        #[test]
        fn it_always_ends(verdicts in prop::collection::vec(any::<bool>(), 80)) {
            let mut verdicts = verdicts.into_iter().cycle();
            let mut step = || if verdicts.next() == Some(true) { Verdict::Holds } else { Verdict::Misses };
            run(terms(), |_| step());
        }
    }

    #[test]
    fn ends_are_named() {
        assert_eq!(run(terms(), |_| Verdict::Misses).0.end, SeekEnd::NeverHeld);
        let most = run(terms(), |_| Verdict::Holds).0;
        assert_eq!((most.end, most.held, most.confirmations), (SeekEnd::AtMost, Some(1e6), 3));
        let limit = |rate| if rate > 500.0 { Verdict::ClientLimit } else { Verdict::Holds };
        let found = run(terms(), limit).0;
        assert_eq!((found.end, found.held), (SeekEnd::ClientLimit, Some(400.0)));
    }

    #[test]
    fn objectives() {
        let objective: Objective = "p99 < 20ms".parse().unwrap();
        assert_eq!(objective, Objective { share: 0.99, within_us: 20_000.0 });
        for wrong in ["", "p99", "99 < 20ms", "p100 < 1ms", "p0 < 1ms", "p99 < 20", "p99 > 20ms"] {
            assert!(wrong.parse::<Objective>().is_err(), "{wrong}");
        }
        assert_eq!(objective.judge(0, 10_000), Verdict::Holds);
        assert_eq!(objective.judge(99, 10_000), Verdict::Misses, "so close is not proven");
        assert_eq!(objective.judge(0, 10), Verdict::Misses, "too few to tell");
        assert!((256..=1_024).contains(&objective.fewest()), "{}", objective.fewest());
    }
}
