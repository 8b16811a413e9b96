//! Compares two reports: where the slow one loses time against the fast one, by phase and by cause.
//!
//! Values are per transaction, so that captures of different length are comparable. Only differences are computed,
//! without another analysis.

use std::collections::BTreeMap;

use model::limit::{Limit, TimeOwner};
use serde::Serialize;

use crate::report::number::rounded;
use crate::report::{BottleneckFinding, TimeDiagnosis, TraceReport};

#[derive(Clone, Debug, Serialize)]
pub struct CaptureComparison {
    /// Always `steelyard.trace-comparison/1`; changes with the shape.
    pub schema: &'static str,
    /// Files of the fast report.
    pub fast: Vec<String>,
    /// Files of the slow report.
    pub slow: Vec<String>,
    /// Seconds of a transaction, on average.
    pub total: SecondsPair,
    /// By place: request, server, response.
    pub location: BTreeMap<&'static str, SecondsPair>,
    pub owners: BTreeMap<&'static str, SecondsPair>,
    /// By phase and cause, the largest loss first.
    pub causes: Vec<CausePair>,
}

/// Seconds of a transaction in both.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct SecondsPair {
    /// Value in the fast report.
    pub fast: f64,
    /// Value in the slow report.
    pub slow: f64,
    /// The slow report's value minus the fast one's.
    pub more: f64,
}

/// A cause in both.
#[derive(Clone, Debug, Serialize)]
pub struct CausePair {
    pub phase: &'static str,
    pub code: Limit,
    pub owner: TimeOwner,
    pub seconds: SecondsPair,
    /// The finding's sentence, from the slow report if it has one.
    pub sentence: String,
}

impl SecondsPair {
    fn from_totals(fast: f64, slow: f64) -> SecondsPair {
        let [fast, slow] = [fast, slow].map(|value| rounded(value, 9));
        SecondsPair { fast, slow, more: rounded(slow - fast, 9) }
    }
}

pub fn compare_reports(fast: &TraceReport, slow: &TraceReport) -> CaptureComparison {
    let each = |report: &TraceReport| 1.0 / (report.transactions_total.max(1) as f64);
    let a = each(fast);
    let b = each(slow);
    let pair = |get: fn(&TimeDiagnosis) -> f64| {
        SecondsPair::from_totals(get(&fast.verdict) * a, get(&slow.verdict) * b)
    };
    let location = BTreeMap::from([
        ("request", pair(|v| v.location.request)),
        ("server", pair(|v| v.location.server)),
        ("response", pair(|v| v.location.response)),
    ]);
    let owners = BTreeMap::from([
        ("client", pair(|v| v.owners.client)),
        ("network", pair(|v| v.owners.network)),
        ("server", pair(|v| v.owners.server)),
        ("unknown", pair(|v| v.owners.unknown)),
    ]);
    CaptureComparison {
        schema: "steelyard.trace-comparison/1",
        fast: fast.files.clone(),
        slow: slow.files.clone(),
        total: pair(|v| v.total_seconds),
        location,
        owners,
        causes: compare_causes(&fast.verdict, &slow.verdict, a, b),
    }
}

fn compare_causes(fast: &TimeDiagnosis, slow: &TimeDiagnosis, a: f64, b: f64) -> Vec<CausePair> {
    let all = |of: &TimeDiagnosis| -> Vec<BottleneckFinding> {
        of.most_significant.iter().chain(&of.next).cloned().collect()
    };
    let key = |finding: &BottleneckFinding| (finding.phase, finding.code, finding.owner);
    let fast = all(fast);
    let slow = all(slow);
    let seconds = |of: &[BottleneckFinding], at: (&str, Limit, TimeOwner)| {
        of.iter().find(|finding| key(finding) == at).map_or(0.0, |finding| finding.seconds)
    };
    let mut out: Vec<CausePair> = Vec::new();
    for finding in slow.iter().chain(&fast) {
        let at = key(finding);
        if out.iter().any(|known| (known.phase, known.code, known.owner) == at) {
            continue;
        }
        out.push(CausePair {
            phase: finding.phase,
            code: finding.code,
            owner: finding.owner,
            seconds: SecondsPair::from_totals(seconds(&fast, at) * a, seconds(&slow, at) * b),
            sentence: finding.sentence.clone(),
        });
    }
    out.sort_by(|x, y| y.seconds.more.total_cmp(&x.seconds.more));
    out
}
