//! Good and bad operations over time: sums of any recent span in bounded memory. Pure: times are seconds since 1970,
//! and are passed in.
//!
//! The sum before each time step is stored, at most 1,085 numbers in three tracks of different step length; a span is
//! the difference of two. So a span is up to one step shorter than requested, never longer.

use std::collections::VecDeque;
use std::ops::AddAssign;
use std::time::Duration;

use super::outcome_counts::SloOutcomeCounts;

/// Steps of a window: each is this part of it.
const PARTS: u64 = 720;
/// Seconds of a step, and stored steps, for spans up to half an hour and up to six hours.
const SHORT: [(u64, u64); 2] = [(10, 181), (120, 182)];

/// Operations that count for or against the SLO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SloCounts {
    pub fast: u64,
    pub slow: u64,
    pub failed: u64,
}

impl SloCounts {
    pub fn from_counts(tally: &SloOutcomeCounts) -> SloCounts {
        SloCounts { fast: tally.fast(), slow: tally.slow(), failed: tally.failed() }
    }

    pub fn operations(&self) -> u64 {
        self.fast.saturating_add(self.slow).saturating_add(self.failed)
    }

    fn minus(&self, other: &SloCounts) -> SloCounts {
        SloCounts {
            fast: self.fast.saturating_sub(other.fast),
            slow: self.slow.saturating_sub(other.slow),
            failed: self.failed.saturating_sub(other.failed),
        }
    }
}

impl AddAssign for SloCounts {
    fn add_assign(&mut self, more: SloCounts) {
        self.fast = self.fast.saturating_add(more.fast);
        self.slow = self.slow.saturating_add(more.slow);
        self.failed = self.failed.saturating_add(more.failed);
    }
}

/// A service's operations over time.
#[derive(Clone, Debug)]
pub struct SloSeries {
    tracks: [SeriesTrack; 3],
    sum: SloCounts,
    first: Option<u64>,
}

#[derive(Clone, Debug)]
struct SeriesTrack {
    step: u64,
    /// Stored steps: bounds the memory of the track.
    max_steps: u64,
    /// In the order of time.
    marks: VecDeque<SeriesMark>,
}

/// A step with operations, and the sum of operations before it.
#[derive(Clone, Copy, Debug)]
struct SeriesMark {
    /// The number of the step since 1970.
    slot: u64,
    before: SloCounts,
}

impl SloSeries {
    /// For spans up to `window`.
    pub fn new(window: Duration) -> SloSeries {
        let [a, b] = SHORT;
        let step = window.as_secs().div_ceil(PARTS).max(1);
        let tracks = [a, b, (step, PARTS + 2)];
        let track = |(step, keep)| SeriesTrack { step, max_steps: keep, marks: VecDeque::new() };
        SloSeries { tracks: tracks.map(track), sum: SloCounts::default(), first: None }
    }

    /// Adds operations until `at`. When the clock is set back, entries in the future are dropped.
    pub fn add(&mut self, at: u64, more: SloCounts) {
        if more == SloCounts::default() {
            return;
        }
        for track in &mut self.tracks {
            track.add_mark(at, self.sum);
        }
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.sum += more;
    }

    /// Operations within the span that ends now.
    pub fn sums_within(&self, now: u64, span: Duration) -> SloCounts {
        let fits = |track: &&SeriesTrack| track.step * (track.max_steps - 1) >= span.as_secs();
        let [.., last] = &self.tracks;
        let track = self.tracks.iter().find(fits).unwrap_or(last);
        match track.sums_before(now, span.as_secs()) {
            Some(before) => self.sum.minus(&before),
            None => SloCounts::default(),
        }
    }

    /// Changes the window. Operations before the old window are unknown.
    pub fn resize_window(&mut self, window: Duration) {
        let [.., last] = SloSeries::new(window).tracks;
        let [.., old] = &mut self.tracks;
        let before = std::mem::replace(old, last);
        for mark in before.marks {
            old.add_mark(mark.slot * before.step, mark.before);
        }
    }

    /// The time of the first known operation; `None`: there was none.
    pub fn first_seen(&self) -> Option<u64> {
        self.first
    }
}

impl SeriesTrack {
    fn add_mark(&mut self, at: u64, before: SloCounts) {
        let slot = at / self.step;
        while self.marks.back().is_some_and(|last| last.slot > slot) {
            self.marks.pop_back();
        }
        if self.marks.back().is_none_or(|last| last.slot < slot) {
            self.marks.push_back(SeriesMark { slot, before });
        }
        while self.marks.front().is_some_and(|first| first.slot + self.max_steps <= slot) {
            self.marks.pop_front();
        }
    }

    /// The sum before a span; `None`: no operations since.
    fn sums_before(&self, now: u64, seconds: u64) -> Option<SloCounts> {
        let steps = (seconds / self.step).max(1);
        let from = (now / self.step + 1).saturating_sub(steps);
        let at = self.marks.partition_point(|mark| mark.slot < from);
        self.marks.get(at).map(|mark| mark.before)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;

    fn good(fast: u64) -> SloCounts {
        SloCounts { fast, ..SloCounts::default() }
    }

    fn within(series: &SloSeries, now: u64, seconds: u64) -> u64 {
        series.sums_within(now, Duration::from_secs(seconds)).operations()
    }

    #[test]
    fn spans_end_now_and_are_at_most_a_step_short() {
        let start = 1_000 * DAY;
        let mut series = SloSeries::new(Duration::from_secs(30 * DAY));
        assert_eq!((within(&series, start, DAY), series.first_seen()), (0, None));
        // One operation a second for 31 days would take long: one a minute.
        for minute in 0..31 * DAY / MINUTE {
            series.add(start + minute * MINUTE, good(1));
        }
        let now = start + 31 * DAY - 1;
        for (span, step) in
            [(5 * MINUTE, 10), (30 * MINUTE, 10), (HOUR, 120), (6 * HOUR, 120), (30 * DAY, HOUR)]
        {
            let sum = within(&series, now, span);
            let most = span / MINUTE;
            let least = (span - step) / MINUTE;
            assert!((least..=most).contains(&sum), "{sum} in {span} s");
        }
        let numbers: usize = series.tracks.iter().map(|track| track.marks.len()).sum();
        assert!(numbers <= 1_085, "{numbers}");
        let later = now + 6 * HOUR;
        assert_eq!(within(&series, later, 6 * HOUR), 0, "silence empties a span");
        assert!(within(&series, later, 30 * DAY) > 29 * DAY / MINUTE);
        assert_eq!(within(&series, now + 31 * DAY, 30 * DAY), 0);
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_no_future_behind() {
        let mut series = SloSeries::new(Duration::from_secs(DAY));
        series.add(10 * DAY, good(100));
        series.add(9 * DAY, good(1));
        assert_eq!(within(&series, 9 * DAY, 300), 1, "what was told of the time to come is past");
        series.add(9 * DAY + 600, good(5));
        assert_eq!(within(&series, 9 * DAY + 600, 300), 5);
        assert_eq!(within(&series, 9 * DAY + 600, HOUR), 6);
    }

    #[test]
    fn a_window_can_be_stretched_and_shortened() {
        let mut series = SloSeries::new(Duration::from_secs(DAY));
        for minute in 0..2 * DAY / MINUTE {
            series.add(100 * DAY + minute * MINUTE, good(1));
        }
        let now = 102 * DAY - 1;
        let before = within(&series, now, DAY);
        series.resize_window(Duration::from_secs(30 * DAY));
        assert!((before..=before + 60).contains(&within(&series, now, DAY)), "{before}");
        series.add(now + DAY, good(1));
        assert!(within(&series, now + DAY, 30 * DAY) > before);
        series.resize_window(Duration::from_secs(DAY));
        assert!((1..100).contains(&within(&series, now + DAY, DAY)));
        assert_eq!(within(&series, now + DAY, 300), 1);
    }

    proptest! {
        #[test]
        fn a_span_equals_the_sum_of_a_full_list(
            steps in prop::collection::vec((0u64..7_200, 0u64..50, 0u64..50, 0u64..5), 1..200),
            quiet in 0u64..40_000,
        ) {
            let mut series = SloSeries::new(Duration::from_secs(7 * DAY));
            let (mut now, mut all) = (1_700_000_000, Vec::new());
            for (wait, fast, slow, failed) in steps {
                now += wait;
                let sums = SloCounts { fast, slow, failed };
                series.add(now, sums);
                all.push((now, sums));
            }
            now += quiet;
            for (span, step) in [(300, 10), (1_800, 10), (3_600, 120), (21_600, 120), (7 * DAY, 840)] {
                let since = |from: u64| {
                    let mut sum = SloCounts::default();
                    all.iter().filter(|(at, _)| *at > from).for_each(|(_, more)| sum += *more);
                    sum
                };
                let sums = series.sums_within(now, Duration::from_secs(span));
                // The span starts at a step: its length is between the full length and one step less.
                let from = (now / step + 1 - span / step) * step - 1;
                prop_assert!(from >= now - span && from < now - span + step);
                prop_assert_eq!(sums, since(from), "{} s", span);
            }
        }
    }
}
