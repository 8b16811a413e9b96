//! Compares two results: which figures are proven to differ, which are not, and which have too few runs to show it.
//!
//! "Not proven" is never reported as "equal". It reads no files.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::result::{BenchMetric, BenchResult, MetricDirection};
use crate::result_note::NoteSeverity;
use crate::stats::family::holm_correction;
use crate::stats::interval::ConfidenceInterval;
use crate::stats::rank::{RankTestResult, compare as ranked, runs_needed, smallest_p};
use crate::stats::sample::{deviation_percent, median};

/// The significance level and threshold of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignificanceRule {
    /// The probability of a false difference: in each row, or in any of the rows that are tested together.
    pub alpha: f64,
    /// A difference counts only if its whole interval exceeds this share of the baseline's median.
    pub threshold_percent: f64,
}

/// The conclusion of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonStatus {
    /// Proven to be better.
    Better,
    /// Proven to be worse.
    Worse,
    /// Proven to differ in a figure without a better direction.
    Differs,
    /// Nothing is proven, which does not mean equal.
    Unproven,
    /// Too few runs to prove a difference with any values.
    TooFewRuns,
}

/// The number of runs on each side of a comparison. In JSON it is a list, the baseline's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "(usize, usize)")]
pub struct ComparedRuns {
    pub baseline: usize,
    pub result: usize,
}

impl From<ComparedRuns> for (usize, usize) {
    fn from(ComparedRuns { baseline, result }: ComparedRuns) -> (usize, usize) {
        (baseline, result)
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonRow {
    pub test: String,
    pub metric: String,
    pub unit: String,
    /// Median of the baseline's runs.
    pub baseline: f64,
    /// Median of the result's runs.
    pub result: f64,
    /// Difference in per cent of the baseline; `None` if the baseline is 0.
    pub difference_percent: Option<f64>,
    pub status: ComparisonStatus,
    /// The baseline's standard deviation in per cent of its mean.
    pub baseline_deviation_percent: f64,
    /// The result's relative deviation, computed the same way.
    pub result_deviation_percent: f64,
    pub runs: ComparedRuns,
    /// Probability of a difference at least this large between two samples of the same source (Mann–Whitney,
    /// two-sided).
    pub p: f64,
    /// `p` corrected for all rows that are tested together (Holm): proven at or below alpha.
    pub p_together: f64,
    /// Probability that a run of the result exceeds one of the baseline, minus the opposite: −1 to 1.
    pub effect: f64,
    /// Interval of the difference in per cent of the baseline's median, at confidence 1 − alpha.
    pub interval_percent: Option<ConfidenceInterval>,
}

/// A setup difference between the two measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetupDifference {
    /// The benchmark's or kernel's setting, the version, or the machine.
    pub what: String,
    /// The baseline's value; `None`: not set.
    pub baseline: Option<String>,
    /// The result's value; `None`: not set.
    pub result: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchComparison {
    /// The rows, in the order of the baseline.
    pub rows: Vec<ComparisonRow>,
    /// Differences in the setup, which alone can explain differences in figures.
    pub differences: Vec<SetupDifference>,
    /// The differences as text, and rows that only one side has.
    pub warnings: Vec<String>,
    /// Whether a figure is proven to be worse.
    pub worse: bool,
}

/// Compares a result with its baseline row by row. Of many rows, some differ by chance.
pub fn compare(
    baseline: &BenchResult,
    result: &BenchResult,
    rule: SignificanceRule,
) -> BenchComparison {
    compare_results(baseline, result, rule, false)
}

/// Compares all rows together: the probability of a false difference in any row is alpha.
pub fn compare_together(
    baseline: &BenchResult,
    result: &BenchResult,
    rule: SignificanceRule,
) -> BenchComparison {
    compare_results(baseline, result, rule, true)
}

fn compare_results(
    baseline: &BenchResult,
    result: &BenchResult,
    rule: SignificanceRule,
    together: bool,
) -> BenchComparison {
    let left = samples(baseline);
    let right = samples(result);
    let differences = setup_differences(baseline, result);
    let mut warnings = data_warnings(baseline, result);
    warnings.extend(differences.iter().map(SetupDifference::describe));
    let mut pairs = Vec::new();
    for sample in &left {
        match right.iter().find(|other| other.is_like(sample)) {
            Some(result) => pairs.push(SamplePair { baseline: sample, result }),
            None => warnings.push(format!(
                "{} of `{}` is only in the baseline",
                sample.metric.name, sample.test
            )),
        }
    }
    for sample in right.iter().filter(|sample| !left.iter().any(|other| other.is_like(sample))) {
        warnings.push(format!("{} of `{}` is only in the result", sample.metric.name, sample.test));
    }
    let ComparedSamples { rows, alone } = compare_samples(&pairs, rule, together);
    // The advice is ten runs at least: fewer prove only large differences (decision 0008).
    if rows.iter().any(|row| row.status == ComparisonStatus::TooFewRuns) {
        let needed = runs_needed(alone);
        warnings.push(format!(
            "at alpha {} each side needs {needed} runs so that anything can be proven: use --repeat {}",
            rule.alpha,
            needed.max(10)
        ));
    }
    let worse = rows.iter().any(|row| row.status == ComparisonStatus::Worse);
    BenchComparison { rows, differences, warnings, worse }
}

/// A figure's values over the repeats of a test.
struct MetricSample<'a> {
    test: &'a str,
    metric: &'a BenchMetric,
    values: Vec<f64>,
}

impl MetricSample<'_> {
    fn is_like(&self, other: &MetricSample<'_>) -> bool {
        self.test == other.test
            && self.metric.name == other.metric.name
            && self.metric.unit == other.metric.unit
    }
}

fn samples(of: &BenchResult) -> Vec<MetricSample<'_>> {
    let mut out: Vec<MetricSample<'_>> = Vec::new();
    // A run that ended early measured something else.
    for run in of.runs.iter().filter(|run| run.complete) {
        for metric in run.metrics.iter().filter(|metric| metric.value.is_finite()) {
            let like = |sample: &&mut MetricSample<'_>| {
                sample.test == run.test && sample.metric.name == metric.name
            };
            match out.iter_mut().find(like) {
                Some(sample) => sample.values.push(metric.value),
                None => {
                    out.push(MetricSample { test: &run.test, metric, values: vec![metric.value] })
                }
            }
        }
    }
    out
}

/// A figure of both sides.
#[derive(Clone, Copy)]
struct SamplePair<'a> {
    baseline: &'a MetricSample<'a>,
    result: &'a MetricSample<'a>,
}

/// The rows of a comparison.
struct ComparedSamples {
    rows: Vec<ComparisonRow>,
    /// The alpha at which a single row is proven if no other is.
    alone: f64,
}

fn compare_samples(
    pairs: &[SamplePair<'_>],
    rule: SignificanceRule,
    together: bool,
) -> ComparedSamples {
    let verdict = |SamplePair { baseline, result }: &SamplePair<'_>| {
        ranked(&baseline.values, &result.values, rule.alpha)
    };
    let verdicts: Vec<RankTestResult> = pairs.iter().map(verdict).collect();
    // Rows with too few runs can never be proven, so they do not add to the probability of an error.
    let compared_rows: Vec<usize> =
        (0..pairs.len()).filter(|at| together && smallest_of(pairs[*at]) <= rule.alpha).collect();
    let mut ps: Vec<f64> = verdicts.iter().map(|verdict| verdict.p).collect();
    let corrected = holm_correction(&compared_rows.iter().map(|at| ps[*at]).collect::<Vec<_>>());
    compared_rows.iter().zip(corrected).for_each(|(at, p)| ps[*at] = p);
    let alone = rule.alpha / compared_rows.len().max(1) as f64;
    let each = pairs.iter().zip(verdicts).zip(ps);
    let rows = each.map(|((pair, verdict), p)| compare_sample(*pair, verdict, p, rule, alone));
    ComparedSamples { rows: rows.collect(), alone }
}

fn smallest_of(SamplePair { baseline, result }: SamplePair<'_>) -> f64 {
    smallest_p(baseline.values.len(), result.values.len())
}

/// `p` is corrected for the rows that are tested together; `alone` is the alpha at which a single row is proven.
fn compare_sample(
    pair: SamplePair<'_>,
    verdict: RankTestResult,
    p: f64,
    rule: SignificanceRule,
    alone: f64,
) -> ComparisonRow {
    let SamplePair { baseline: left, result: right } = pair;
    let baseline = median(&left.values);
    let result = median(&right.values);
    let percent = |value: f64| value / baseline.abs() * 100.0;
    let known = baseline != 0.0;
    let format_interval = |interval: Option<ConfidenceInterval>| {
        interval.filter(|_| known).map(|ConfidenceInterval { low, high }| ConfidenceInterval {
            low: percent(low),
            high: percent(high),
        })
    };
    let interval = format_interval(verdict.interval);
    let few = smallest_of(pair) > alone && p > rule.alpha;
    // Together, all intervals have the confidence of one.
    let wide = if rule.threshold_percent > 0.0 && alone < rule.alpha {
        format_interval(ranked(&left.values, &right.values, alone).interval)
    } else {
        interval
    };
    let beyond = match wide {
        Some(ConfidenceInterval { low, high }) => {
            low > rule.threshold_percent || high < -rule.threshold_percent
        }
        // Relative to a baseline of 0 any proven difference exceeds the threshold.
        None => rule.threshold_percent <= 0.0 || !known,
    };
    // A median shift of 0 means that most pairs are equal; the effect then gives the direction.
    let grows = if verdict.shift == 0.0 { verdict.effect } else { verdict.shift };
    let status = match left.metric.better {
        _ if few => ComparisonStatus::TooFewRuns,
        _ if p > rule.alpha || !beyond => ComparisonStatus::Unproven,
        MetricDirection::Neither => ComparisonStatus::Differs,
        MetricDirection::More if grows > 0.0 => ComparisonStatus::Better,
        MetricDirection::Less if grows < 0.0 => ComparisonStatus::Better,
        MetricDirection::More | MetricDirection::Less => ComparisonStatus::Worse,
    };
    ComparisonRow {
        test: left.test.to_owned(),
        metric: left.metric.name.clone(),
        unit: left.metric.unit.clone(),
        baseline,
        result,
        difference_percent: known.then(|| percent(result - baseline)),
        status,
        baseline_deviation_percent: deviation_percent(&left.values),
        result_deviation_percent: deviation_percent(&right.values),
        runs: ComparedRuns { baseline: left.values.len(), result: right.values.len() },
        p: verdict.p,
        p_together: p,
        effect: verdict.effect,
        interval_percent: interval,
    }
}

/// Warnings about one of the two sides.
fn data_warnings(baseline: &BenchResult, result: &BenchResult) -> Vec<String> {
    let mut out = Vec::new();
    for (name, side) in [("baseline", baseline), ("result", result)] {
        if !side.complete {
            out.push(format!("the {name} is partial; only its complete runs count"));
        }
        if side.notes.iter().any(|note| note.weight == NoteSeverity::ClientLimit) {
            out.push(format!("in the {name} the generator was the limit: see its notes"));
        }
    }
    out
}

/// Setup differences to know before the figures are compared.
fn setup_differences(baseline: &BenchResult, result: &BenchResult) -> Vec<SetupDifference> {
    let mut out = Vec::new();
    let mut hold = |what: &str, left: Option<&String>, right: Option<&String>| {
        if left != right {
            let what = what.to_owned();
            let baseline = left.cloned();
            let result = right.cloned();
            out.push(SetupDifference { what, baseline, result });
        }
    };
    let left = &baseline.provenance;
    let right = &result.provenance;
    hold("the kind of benchmark", Some(&baseline.kind), Some(&result.kind));
    hold("the version of this program", Some(&left.steelyard), Some(&right.steelyard));
    hold("the host", Some(&left.host), Some(&right.host));
    hold("the kernel", Some(&left.kernel), Some(&right.kernel));
    hold("the processor", Some(&left.processors), Some(&right.processors));
    hold("the digest of what was read", left.digest.as_ref(), right.digest.as_ref());
    let names: BTreeSet<&String> = left.settings.keys().chain(right.settings.keys()).collect();
    for name in names {
        hold(&format!("setting `{name}`"), left.settings.get(name), right.settings.get(name));
    }
    // A value that only one kernel reports is not a difference.
    for (name, value) in left.topology.iter().chain(&left.sysctls) {
        if let Some(other) = right.topology.get(name).or_else(|| right.sysctls.get(name)) {
            hold(name, Some(value), Some(other));
        }
    }
    out
}

impl SetupDifference {
    fn describe(&self) -> String {
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
        format!("{} differs: {} and {}", self.what, side(&self.baseline), side(&self.result))
    }
}

#[cfg(test)]
mod tests;
