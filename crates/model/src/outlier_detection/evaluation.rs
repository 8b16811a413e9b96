//! The evaluation of one server for ejection: the inputs, the decision, and the text of both.
//!
//! It stores nothing between evaluations: `OutlierDetector` does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::OutlierDetectionConfig;

/// With fewer truncated responses their rate proves nothing.
pub const MIN_TRUNCATED: u64 = 3;

/// Counts of a server's responses and failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlierCounts {
    /// Successful responses.
    #[serde(alias = "good")]
    pub successes: u64,
    /// Failures, including truncated responses.
    #[serde(alias = "bad")]
    pub failures: u64,
    /// Truncated responses.
    #[serde(alias = "cut")]
    pub truncations: u64,
}

impl OutlierCounts {
    pub fn total(self) -> u64 {
        self.successes + self.failures
    }

    pub(super) fn plus(self, other: OutlierCounts) -> OutlierCounts {
        OutlierCounts {
            successes: self.successes + other.successes,
            failures: self.failures + other.failures,
            truncations: self.truncations + other.truncations,
        }
    }

    pub(super) fn minus(self, before: OutlierCounts) -> OutlierCounts {
        OutlierCounts {
            successes: self.successes.saturating_sub(before.successes),
            failures: self.failures.saturating_sub(before.failures),
            truncations: self.truncations.saturating_sub(before.truncations),
        }
    }
}

/// The evaluation of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OutlierEvaluation {
    /// Its counts in the interval.
    pub own: OutlierCounts,
    /// Its failures since its last successful response.
    #[serde(alias = "in-a-row")]
    pub consecutive_failures: u64,
    /// Counts in the interval of the other servers that are not ejected.
    pub others: OutlierCounts,
    /// Other servers whose last result was a failure.
    pub others_failing: u32,
    /// Servers that are ejected or down.
    #[serde(alias = "out")]
    pub unavailable: u32,
    /// Servers that should get work.
    #[serde(alias = "of")]
    pub servers: u32,
    /// Limit for servers that are ejected or down.
    #[serde(alias = "allowed")]
    pub max_unavailable: u32,
    /// Earlier ejections that are not forgiven.
    #[serde(alias = "times")]
    pub ejections: u32,
    /// Result of the evaluation.
    #[serde(alias = "verdict")]
    pub decision: OutlierDecision,
}

/// The result of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutlierDecision {
    /// No reason for an ejection.
    Good,
    /// Not evaluated: the server gets no work, or is already ejected.
    #[serde(alias = "not-judged")]
    NotEvaluated,
    /// Ejected.
    Ejected(EjectionReason),
    /// There is a reason, but the other servers fail too, so this server is not the cause.
    AllFail(EjectionReason),
    /// There is a reason, but the limit of ejected servers is reached.
    #[serde(alias = "too-many-out")]
    LimitReached(EjectionReason),
}

/// The reason for an ejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EjectionReason {
    /// Consecutive failures.
    Failures,
    Rate,
    /// The rate of truncated responses.
    #[serde(alias = "cuts")]
    Truncations,
}

impl OutlierEvaluation {
    pub(super) fn decide(&self, terms: &OutlierDetectionConfig) -> OutlierDecision {
        let Some(ground) = self.ejection_reason(terms) else { return OutlierDecision::Good };
        if self.all_fail(terms) {
            return OutlierDecision::AllFail(ground);
        }
        if self.unavailable + 1 > self.max_unavailable {
            return OutlierDecision::LimitReached(ground);
        }
        OutlierDecision::Ejected(ground)
    }

    fn ejection_reason(&self, terms: &OutlierDetectionConfig) -> Option<EjectionReason> {
        let all = self.own.total();
        let reaches = |part: u64, percent: u8| part * 100 >= all * u64::from(percent);
        if self.own.truncations >= MIN_TRUNCATED && reaches(self.own.truncations, terms.cut_rate) {
            return Some(EjectionReason::Truncations);
        }
        if self.consecutive_failures >= u64::from(terms.failures) {
            return Some(EjectionReason::Failures);
        }
        let enough = all >= u64::from(terms.volume) && self.own.failures > 0;
        (enough && reaches(self.own.failures, terms.rate)).then_some(EjectionReason::Rate)
    }

    /// Whether the others together fail at more than half of its rate; with few responses of others, whether half of
    /// them fail.
    fn all_fail(&self, terms: &OutlierDetectionConfig) -> bool {
        if self.others.total() < u64::from(terms.volume) {
            return self.servers > 1 && self.others_failing * 2 > self.servers - 1;
        }
        let (bad, all) = match self.own.total() {
            // Its failures are older than the interval.
            0 => (1, 1),
            all => (self.own.failures, all),
        };
        self.others.failures * all * 2 > bad * self.others.total()
    }
}

impl fmt::Display for OutlierEvaluation {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutlierCounts { successes, failures, truncations } = self.own;
        match self.decision {
            OutlierDecision::Good => write!(to, "good: ")?,
            OutlierDecision::NotEvaluated => write!(to, "not evaluated: ")?,
            OutlierDecision::Ejected(ground) => write!(to, "ejected for {ground}: ")?,
            OutlierDecision::AllFail(ground) => {
                write!(to, "kept in spite of {ground}, the others fail too: ")?
            }
            OutlierDecision::LimitReached(ground) => {
                write!(to, "kept in spite of {ground}, no more may be out: ")?;
            }
        }
        let others = self.others;
        write!(
            to,
            "{failures} of {} failed, {truncations} of them truncated, {} in a row; of the others {} of {}; {} of {} out, {} allowed",
            successes + failures,
            self.consecutive_failures,
            others.failures,
            others.total(),
            self.unavailable,
            self.servers,
            self.max_unavailable
        )
    }
}

impl fmt::Display for EjectionReason {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            EjectionReason::Failures => "failures in a row",
            EjectionReason::Rate => "its rate of failures",
            EjectionReason::Truncations => "its rate of truncated responses",
        })
    }
}
