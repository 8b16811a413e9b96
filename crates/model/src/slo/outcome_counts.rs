//! Counts of operations by outcome. Plain numbers: callers decide what counts, and when.

use std::ops::AddAssign;
use std::time::Duration;

use super::outcome::{ClassifiedOutcome, EndedOperation, SloOutcome, TcpError};

/// The number of counters.
pub const COUNTS: usize = FIRST_ERROR + TcpError::COUNT;

/// Places in the array of counters. `FIRST_ERROR` is the last one here: the TCP errors follow it.
const FAST: usize = 0;
const SLOW: usize = 1;
const FAILED: usize = 2;
const CLIENT_ABORTED: usize = 3;
const CLIENT_ABORTED_LATE: usize = 4;
const DECLINED: usize = 5;
const FIRST_ERROR: usize = 6;

/// Operations by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SloOutcomeCounts(pub [u64; COUNTS]);

/// The counters that an operation increments; at most three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeIndices {
    pub outcome: usize,
    /// Set if the client left after the latency objective had passed.
    pub late: Option<usize>,
    pub error: Option<usize>,
}

/// The counters of an operation. `fast`: the latency objective; without it, all successful operations count as fast.
pub fn outcome_indices(ended: &EndedOperation, fast: Option<Duration>) -> OutcomeIndices {
    let ClassifiedOutcome { outcome, error } = ended.classify();
    let slow = fast.is_some_and(|fast| ended.duration > fast);
    let at = match outcome {
        SloOutcome::Good if slow => SLOW,
        SloOutcome::Good => FAST,
        SloOutcome::Failed => FAILED,
        SloOutcome::ClientAborted => CLIENT_ABORTED,
        SloOutcome::Declined => DECLINED,
    };
    OutcomeIndices {
        outcome: at,
        late: (slow && outcome == SloOutcome::ClientAborted).then_some(CLIENT_ABORTED_LATE),
        error: error.map(|error| FIRST_ERROR + error as usize),
    }
}

impl OutcomeIndices {
    pub fn indices(self) -> impl Iterator<Item = usize> {
        [Some(self.outcome), self.late, self.error].into_iter().flatten()
    }
}

impl SloOutcomeCounts {
    pub fn fast(&self) -> u64 {
        self.0[FAST]
    }

    pub fn slow(&self) -> u64 {
        self.0[SLOW]
    }

    pub fn failed(&self) -> u64 {
        self.0[FAILED]
    }

    /// Operations that count for or against the SLO.
    pub fn operations(&self) -> u64 {
        self.fast().saturating_add(self.slow()).saturating_add(self.failed())
    }

    pub fn client_aborted(&self) -> u64 {
        self.0[CLIENT_ABORTED]
    }

    /// Client aborts after the latency objective had passed.
    pub fn client_aborted_late(&self) -> u64 {
        self.0[CLIENT_ABORTED_LATE]
    }

    pub fn declined(&self) -> u64 {
        self.0[DECLINED]
    }

    /// TCP errors of a kind.
    pub fn error(&self, kind: TcpError) -> u64 {
        self.0[FIRST_ERROR + kind as usize]
    }

    pub fn errors(&self) -> u64 {
        self.0[FIRST_ERROR..].iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// All operations of any outcome.
    pub fn total(&self) -> u64 {
        self.operations().saturating_add(self.client_aborted()).saturating_add(self.declined())
    }

    /// Counts since `before`; 0 if `before` was larger.
    pub fn minus(&self, before: &SloOutcomeCounts) -> SloOutcomeCounts {
        SloOutcomeCounts(std::array::from_fn(|at| self.0[at].saturating_sub(before.0[at])))
    }
}

impl AddAssign<&SloOutcomeCounts> for SloOutcomeCounts {
    fn add_assign(&mut self, other: &SloOutcomeCounts) {
        for (mine, more) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::Cause;

    fn tally(cause: Option<Cause>, took: u64, fast: Option<u64>) -> SloOutcomeCounts {
        let took = Duration::from_millis(took);
        let ended = EndedOperation { cause, by_us: false, status: 200, duration: took };
        let mut tally = SloOutcomeCounts::default();
        outcome_indices(&ended, fast.map(Duration::from_millis))
            .indices()
            .for_each(|at| tally.0[at] += 1);
        tally
    }

    #[test]
    fn each_operation_counts_once_and_its_error_beside() {
        let rows: [(_, _, _, [u64; 6]); 8] = [
            (None, 300, Some(300), [1, 0, 0, 0, 0, 0]),
            (None, 301, Some(300), [0, 1, 0, 0, 0, 0]),
            (None, 9_000, None, [1, 0, 0, 0, 0, 0]),
            (Some(Cause::ServerReset), 1, Some(300), [0, 0, 1, 0, 0, 0]),
            (Some(Cause::NoServer), 9_000, Some(300), [0, 0, 1, 0, 0, 0]),
            (Some(Cause::ClientReset), 1, Some(300), [0, 0, 0, 1, 0, 0]),
            (Some(Cause::ClientReset), 301, Some(300), [0, 0, 0, 1, 1, 0]),
            (Some(Cause::RateLimited), 1, Some(300), [0, 0, 0, 0, 0, 1]),
        ];
        for (cause, took, fast, want) in rows {
            let tally = tally(cause, took, fast);
            assert_eq!(tally.0[..6], want, "{cause:?} {took}");
            assert_eq!(tally.total(), 1, "{cause:?} {took}");
            let reset = matches!(cause, Some(Cause::ServerReset | Cause::ClientReset));
            assert_eq!(tally.errors(), u64::from(reset), "{cause:?}");
        }
        let mut sum = tally(Some(Cause::ClientReset), 1, None);
        sum += &tally(Some(Cause::ServerReset), 1, None);
        assert_eq!(sum.error(TcpError::AbortedByClient), 1);
        assert_eq!(
            sum.minus(&tally(Some(Cause::ClientReset), 1, None)).error(TcpError::AbortedByClient),
            0
        );
        assert_eq!((sum.operations(), sum.client_aborted()), (1, 1));
    }
}
