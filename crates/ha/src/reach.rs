//! Targets that a member should reach, and which of two members reaches more. It sends no probes.
//!
//! A target changes its state after as many equal results in a row as the configuration demands. The first result
//! counts at once. A member is behind when the other one reached more targets in every comparison for a set time. Equal
//! numbers move no address.

use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::heartbeat::ReachScore;

/// A target and its recent results.
#[derive(Clone, Debug, Default)]
pub struct ReachTarget {
    reached: Option<bool>,
    contrary_results: u8,
    pub answered: u64,
    pub unanswered: u64,
}

impl ReachTarget {
    /// Whether the target is reached; `None`: not known yet.
    pub fn is_reached(&self) -> Option<bool> {
        self.reached
    }

    /// Records a probe that was answered in time or not. Returns whether the state changed.
    pub fn record_probe(&mut self, answered: bool, rise: u8, fall: u8) -> bool {
        let counted = if answered { &mut self.answered } else { &mut self.unanswered };
        *counted += 1;
        if self.reached == Some(answered) {
            self.contrary_results = 0;
            return false;
        }
        self.contrary_results = self.contrary_results.saturating_add(1);
        let enough = if answered { rise } else { fall };
        let changes = self.reached.is_none() || self.contrary_results >= enough;
        if changes {
            self.reached = Some(answered);
            self.contrary_results = 0;
        }
        changes
    }
}

/// How many of the targets are reached; `None` without targets, or while one is unknown.
pub fn reach_score<'t>(targets: impl Iterator<Item = &'t ReachTarget>) -> Option<ReachScore> {
    let mut score = ReachScore::default();
    for target in targets {
        score.reached += u16::from(target.reached?);
        score.total += 1;
    }
    (score.total > 0).then_some(score)
}

/// Whether this member reaches fewer targets than the other one.
#[derive(Clone, Debug, Default)]
pub struct ReachComparison {
    is_behind: bool,
    /// Since when comparisons contradict the current result.
    since: Option<MonotonicTime>,
}

impl ReachComparison {
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Compares the scores. Returns whether the result changed. `None`: not known, and then no member is behind.
    pub fn compare(
        &mut self,
        now: MonotonicTime,
        ours: Option<ReachScore>,
        theirs: Option<ReachScore>,
        settle: Duration,
    ) -> bool {
        // Members with different numbers of targets cannot be compared.
        let both = ours.zip(theirs).filter(|(ours, theirs)| ours.total == theirs.total);
        let behind = both.is_some_and(|(ours, theirs)| ours.reached < theirs.reached);
        if behind == self.is_behind {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        // A peer without heartbeats cannot be ahead.
        let changes = both.is_none() || now.since(since) >= settle;
        if changes {
            self.is_behind = behind;
            self.since = None;
        }
        changes
    }

    /// When the result changes if comparisons stay as they are.
    pub fn next_due(&self, settle: Duration) -> MonotonicTime {
        self.since.map_or(MonotonicTime::NEVER, |since| since + settle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLE: Duration = Duration::from_secs(3);

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime(ms * 1_000_000)
    }

    fn of(reached: u16) -> Option<ReachScore> {
        Some(ReachScore { reached, total: 2 })
    }

    #[test]
    fn the_first_answer_is_a_verdict_and_then_it_takes_several() {
        let mut target = ReachTarget::default();
        assert_eq!(target.is_reached(), None);
        assert!(target.record_probe(true, 2, 3));
        let heard =
            [false, false, true, false, false, false].map(|one| target.record_probe(one, 2, 3));
        assert_eq!(heard, [false, false, false, false, false, true]);
        let heard = [true, false, true, true].map(|one| target.record_probe(one, 2, 3));
        assert_eq!(heard, [false, false, false, true]);
        assert_eq!((target.answered, target.unanswered), (5, 6));
        let mut target = ReachTarget::default();
        assert!(target.record_probe(false, 2, 3), "a target that never answered is not reached");
    }

    #[test]
    fn targets_count_when_all_are_known() {
        let mut targets = [ReachTarget::default(), ReachTarget::default()];
        assert_eq!(reach_score([].iter()), None);
        targets[0].record_probe(true, 1, 1);
        assert_eq!(reach_score(targets.iter()), None);
        targets[1].record_probe(false, 1, 1);
        assert_eq!(reach_score(targets.iter()), Some(ReachScore { reached: 1, total: 2 }));
    }

    #[test]
    fn who_reaches_less_for_long_enough_stands_behind() {
        let mut standing = ReachComparison::default();
        assert!(!standing.compare(at(0), of(1), of(2), SETTLE));
        assert_eq!(standing.next_due(SETTLE), at(3_000));
        assert!(!standing.compare(at(2_999), of(1), of(2), SETTLE));
        // One equal comparison restarts the wait.
        assert!(!standing.compare(at(3_000), of(2), of(2), SETTLE));
        assert!(!standing.compare(at(3_100), of(1), of(2), SETTLE));
        assert!(standing.compare(at(6_100), of(1), of(2), SETTLE) && standing.is_behind());
        assert!(!standing.compare(at(6_200), of(2), of(2), SETTLE) && standing.is_behind());
        assert!(standing.compare(at(9_200), of(2), of(2), SETTLE) && !standing.is_behind());
    }

    #[test]
    fn an_unknown_reach_puts_no_member_behind() {
        let mut standing = ReachComparison::default();
        standing.compare(at(0), of(0), of(1), Duration::ZERO);
        assert!(standing.is_behind());
        assert!(standing.compare(at(1), of(0), None, SETTLE) && !standing.is_behind());
        let other = Some(ReachScore { reached: 2, total: 3 });
        assert!(!standing.compare(at(8_000), of(1), other, Duration::ZERO), "other targets");
        assert!(!standing.compare(at(9_000), None, of(2), SETTLE) && !standing.is_behind());
        assert!(!standing.compare(at(99_000), of(2), of(1), SETTLE) && !standing.is_behind());
    }
}
