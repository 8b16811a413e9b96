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
#[serde(rename = "Tally")]
pub struct OutlierCounts {
    /// Successful responses.
    pub good: u64,
    /// Failures, including truncated responses.
    pub bad: u64,
    /// Truncated responses.
    pub cut: u64,
}

impl OutlierCounts {
    pub fn total(self) -> u64 {
        self.good + self.bad
    }

    pub(super) fn plus(self, other: OutlierCounts) -> OutlierCounts {
        let good = self.good + other.good;
        let bad = self.bad + other.bad;
        let cut = self.cut + other.cut;
        OutlierCounts { good, bad, cut }
    }

    pub(super) fn minus(self, before: OutlierCounts) -> OutlierCounts {
        OutlierCounts {
            good: self.good.saturating_sub(before.good),
            bad: self.bad.saturating_sub(before.bad),
            cut: self.cut.saturating_sub(before.cut),
        }
    }
}

/// The evaluation of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[serde(rename = "Sum")]
pub struct OutlierEvaluation {
    /// Its counts in the interval.
    pub own: OutlierCounts,
    /// Its failures since its last successful response.
    pub in_a_row: u64,
    /// Counts in the interval of the other servers that are not ejected.
    pub others: OutlierCounts,
    /// Other servers whose last result was a failure.
    pub others_failing: u32,
    /// Servers that are ejected or down.
    pub out: u32,
    /// Servers that should get work.
    pub of: u32,
    /// Limit for servers that are ejected or down.
    pub allowed: u32,
    /// Earlier ejections that are not forgiven.
    pub times: u32,
    pub verdict: OutlierDecision,
}

/// The result of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[serde(rename = "SumVerdict")]
pub enum OutlierDecision {
    /// No reason for an ejection.
    Good,
    /// Not evaluated: the server gets no work, or is already ejected.
    NotJudged,
    /// Ejected.
    Ejected(EjectionReason),
    /// There is a reason, but the other servers fail too, so this server is not the cause.
    AllFail(EjectionReason),
    /// There is a reason, but the limit of ejected servers is reached.
    TooManyOut(EjectionReason),
}

/// The reason for an ejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[serde(rename = "Ground")]
pub enum EjectionReason {
    /// Consecutive failures.
    Failures,
    Rate,
    /// The rate of truncated responses.
    Cuts,
}

impl OutlierEvaluation {
    pub(super) fn decide(&self, terms: &OutlierDetectionConfig) -> OutlierDecision {
        let Some(ground) = self.ejection_reason(terms) else { return OutlierDecision::Good };
        if self.all_fail(terms) {
            return OutlierDecision::AllFail(ground);
        }
        if self.out + 1 > self.allowed {
            return OutlierDecision::TooManyOut(ground);
        }
        OutlierDecision::Ejected(ground)
    }

    fn ejection_reason(&self, terms: &OutlierDetectionConfig) -> Option<EjectionReason> {
        let all = self.own.total();
        let reaches = |part: u64, percent: u8| part * 100 >= all * u64::from(percent);
        if self.own.cut >= MIN_TRUNCATED && reaches(self.own.cut, terms.cut_rate) {
            return Some(EjectionReason::Cuts);
        }
        if self.in_a_row >= u64::from(terms.failures) {
            return Some(EjectionReason::Failures);
        }
        let enough = all >= u64::from(terms.volume) && self.own.bad > 0;
        (enough && reaches(self.own.bad, terms.rate)).then_some(EjectionReason::Rate)
    }

    /// Whether the others together fail at more than half of its rate; with few responses of others, whether half of
    /// them fail.
    fn all_fail(&self, terms: &OutlierDetectionConfig) -> bool {
        if self.others.total() < u64::from(terms.volume) {
            return self.of > 1 && self.others_failing * 2 > self.of - 1;
        }
        let (bad, all) = match self.own.total() {
            // Its failures are older than the interval.
            0 => (1, 1),
            all => (self.own.bad, all),
        };
        self.others.bad * all * 2 > bad * self.others.total()
    }
}

impl fmt::Display for OutlierEvaluation {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutlierCounts { good, bad, cut } = self.own;
        match self.verdict {
            OutlierDecision::Good => write!(to, "good: ")?,
            OutlierDecision::NotJudged => write!(to, "not judged: ")?,
            OutlierDecision::Ejected(ground) => write!(to, "ejected for {ground}: ")?,
            OutlierDecision::AllFail(ground) => {
                write!(to, "kept in spite of {ground}, the others fail too: ")?
            }
            OutlierDecision::TooManyOut(ground) => {
                write!(to, "kept in spite of {ground}, no more may be out: ")?;
            }
        }
        let others = self.others;
        write!(
            to,
            "{bad} of {} failed, {cut} of them cut, {} in a row; of the others {} of {}; {} of {} out, {} allowed",
            good + bad,
            self.in_a_row,
            others.bad,
            others.total(),
            self.out,
            self.of,
            self.allowed
        )
    }
}

impl fmt::Display for EjectionReason {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            EjectionReason::Failures => "failures in a row",
            EjectionReason::Rate => "its rate of failures",
            EjectionReason::Cuts => "its rate of cut answers",
        })
    }
}
