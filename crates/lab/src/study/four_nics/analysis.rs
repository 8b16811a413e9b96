//! Turns the measurements into the report: the source study's comparison table, processors and interfaces. Pure.

use crate::compare::{BenchComparison, ComparisonRow, ComparisonStatus, SignificanceRule, compare};
use crate::machine::processors::ProcessorShare;
use crate::result::{BenchMetric, BenchResult, BenchRun, MetricDirection, ResultProvenance};
use crate::stats::sample::median;
use crate::study::parameter::Parameters;
use crate::study::report::{
    ClaimResult, PlotBar, PlotShape, ReportPlot, ReportSection, ReportTable, SourceComparison,
    StudyReport, TableCell,
};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct NicRun {
    pub rate: f64,
    /// Share of the requests that each interface carried.
    pub interfaces: Vec<f64>,
    pub processors: Vec<ProcessorShare>,
    pub failed: u64,
}

/// Runs of both setups, which alternate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NicRuns {
    pub before: Vec<NicRun>,
    /// With packets and clients spread evenly; one run fewer when the study was stopped between the two.
    pub after: Vec<NicRun>,
}

impl NicRuns {
    fn all(&self) -> impl Iterator<Item = &NicRun> {
        self.before.iter().chain(&self.after)
    }

    /// Processors of this machine.
    fn processors(&self) -> usize {
        self.all().next().map_or(0, |side| side.processors.len())
    }
}

impl NicRun {
    /// Share of all receive softirqs that the busiest processor handled.
    fn hottest(&self) -> f64 {
        let all: f64 = self.processors.iter().map(|share| share.net_rx).sum();
        let most = self.processors.iter().map(|share| share.net_rx).fold(0.0, f64::max);
        if all > 0.0 { most / all } else { f64::NAN }
    }

    /// Share of all processors that was busy.
    fn busy(&self) -> f64 {
        let sum: f64 = self.processors.iter().map(ProcessorShare::busy).sum();
        sum / self.processors.len().max(1) as f64
    }

    /// Share of the requests that the busiest interface carried.
    fn fullest(&self) -> f64 {
        self.interfaces.iter().copied().fold(0.0, f64::max)
    }

    fn metrics(&self) -> Vec<BenchMetric> {
        vec![
            BenchMetric::new("throughput", "requests/s", MetricDirection::More, self.rate),
            BenchMetric::new("processor-time", "%", MetricDirection::Neither, self.busy() * 100.0),
            BenchMetric::new(
                "busiest-receiver",
                "%",
                MetricDirection::Less,
                self.hottest() * 100.0,
            ),
            BenchMetric::new(
                "fullest-interface",
                "%",
                MetricDirection::Less,
                self.fullest() * 100.0,
            ),
        ]
    }
}

/// The source study's table: baseline, result, and both standard deviations in per cent.
mod source {
    pub const PROCESSOR: (f64, f64) = (95.60, 99.16);
    pub const THROUGHPUT: (f64, f64) = (28_403.67, 32_125.67);
}

/// Significance level: a difference with a higher probability by chance is not reported as one.
/// The usual level of significance.
const ALPHA: f64 = 0.05;
/// The test's name in the table.
const TEST: &str = "hello";

pub const QUESTION: &str = "What is gained when a server's interfaces are used evenly and their packets are spread over processors?";

pub fn build_report(parameters: &Parameters, sides: &NicRuns) -> StudyReport {
    let source = "Load Balancing Your Web Server (ASP.NET performance laboratory): four interfaces, a name with four addresses, \
                  one processor that took most of the work";
    let mut report = StudyReport::new("four-nics", QUESTION, source, parameters);
    let table = compare_runs(sides);
    report.verdicts = check_claims(parameters, sides, &table);
    report.beside = compare_with_source(parameters, sides);
    report.sections =
        vec![comparison_section(&table), processors_section(sides), interfaces_section(sides)];
    report
}

fn compare_runs(sides: &NicRuns) -> BenchComparison {
    let result = |runs: &[NicRun]| {
        let mut result = BenchResult::new("four-nics", ResultProvenance::default());
        result.runs = (1..)
            .zip(runs)
            .map(|(repeat, side)| {
                let metrics = side.metrics();
                BenchRun {
                    test: TEST.to_owned(),
                    repeat,
                    complete: true,
                    metrics,
                    ..BenchRun::default()
                }
            })
            .collect();
        result
    };
    let rule = SignificanceRule { alpha: ALPHA, threshold_percent: 0.0 };
    compare(&result(&sides.before), &result(&sides.after), rule)
}

/// The median of a figure over the runs of a side.
fn median_of(runs: &[NicRun], figure: fn(&NicRun) -> f64) -> Option<f64> {
    let values: Vec<f64> = runs.iter().map(figure).filter(|value| value.is_finite()).collect();
    (!values.is_empty()).then(|| median(&values))
}

fn check_claims(
    parameters: &Parameters,
    sides: &NicRuns,
    table: &BenchComparison,
) -> Vec<ClaimResult> {
    let processors = sides.processors();
    let even = 1.0 / processors.max(1) as f64;
    let format_share = |share: Option<f64>| {
        share.map_or_else(
            || "not measured".to_owned(),
            |share| {
                format!(
                    "the busiest took {:.0} % of the receive softirqs; evenly it would be {:.0} %",
                    share * 100.0,
                    even * 100.0
                )
            },
        )
    };
    let many = processors > 1;
    let hot = median_of(&sides.before, NicRun::hottest);
    let spread = median_of(&sides.after, NicRun::hottest);
    let mut out = vec![
        ClaimResult::new(
            "Before, one processor takes most of the packets",
            hot.filter(|_| many).map(|share| share > (even * 1.5).max(0.5)),
            format_share(hot),
        ),
        ClaimResult::new(
            "After, they are spread",
            spread.filter(|_| many).map(|share| share < even * 1.4),
            format_share(spread),
        ),
    ];
    let fair = 1.0 / f64::from(parameters.number("interfaces").max(1));
    let full = median_of(&sides.before, NicRun::fullest);
    out.push(ClaimResult::new(
        "Clients that ask a name use the interfaces unevenly",
        full.map(|share| share > fair * 1.2),
        full.map_or_else(
            || "not measured".to_owned(),
            |share| {
                format!(
                    "the fullest carried {:.0} % of the requests; evenly it would be {:.0} %",
                    share * 100.0,
                    fair * 100.0
                )
            },
        ),
    ));
    out.push(check_gain(table));
    let failed: u64 = sides.all().map(|side| side.failed).sum();
    if failed > 0 {
        out.push(ClaimResult::new("Every request is answered", false, format!("{failed} failed")));
    }
    out
}

/// Whether the comparison proves a higher request rate.
fn check_gain(table: &BenchComparison) -> ClaimResult {
    let row = table.rows.iter().find(|row| row.metric == "throughput");
    let holds = row.and_then(|row| match row.status {
        ComparisonStatus::Better => Some(true),
        ComparisonStatus::Worse => Some(false),
        ComparisonStatus::Differs | ComparisonStatus::Unproven | ComparisonStatus::TooFewRuns => {
            None
        }
    });
    ClaimResult::new(
        "Evenly used interfaces and processors answer more requests",
        holds,
        row.map_or_else(
            || "not measured".to_owned(),
            |row| {
                format!(
                    "{:.0} instead of {:.0} a second, {}, p {:.3}",
                    row.result,
                    row.baseline,
                    percent(row),
                    row.p
                )
            },
        ),
    )
}

fn percent(row: &ComparisonRow) -> String {
    row.difference_percent.map_or_else(|| "–".to_owned(), |percent| format!("{percent:+.2} %"))
}

fn compare_with_source(parameters: &Parameters, sides: &NicRuns) -> Vec<SourceComparison> {
    let told = parameters.to_report();
    let words: Vec<String> = told
        .iter()
        .filter(|parameter| parameter.differs)
        .map(|parameter| {
            format!("{} {} here, {} there", parameter.name, parameter.here, parameter.source)
        })
        .collect();
    let here = sides.processors();
    let differs = [format!("{here} processors here, 16 there"), words.join("; ")].join("; ");
    let differs = differs.trim_end_matches("; ").to_owned();
    let rate: fn(&NicRun) -> f64 = |side| side.rate;
    let busy: fn(&NicRun) -> f64 = |side| side.busy() * 100.0;
    let row = |what: &str, unit, source: f64, ours| SourceComparison {
        what: what.to_owned(),
        unit,
        source: Some(source),
        forecast: None,
        ours,
        differs: differs.clone(),
    };
    let gain = |pair: (f64, f64)| (pair.1 / pair.0 - 1.0) * 100.0;
    let NicRuns { before, after } = sides;
    let ours = median_of(before, rate).zip(median_of(after, rate)).map(gain);
    vec![
        row("throughput before", "requests/s", source::THROUGHPUT.0, median_of(before, rate)),
        row("throughput after", "requests/s", source::THROUGHPUT.1, median_of(after, rate)),
        row("gain", "%", gain(source::THROUGHPUT), ours),
        row("processor time before", "%", source::PROCESSOR.0, median_of(before, busy)),
        row("processor time after", "%", source::PROCESSOR.1, median_of(after, busy)),
    ]
}

fn comparison_section(table: &BenchComparison) -> ReportSection {
    let columns = [
        "test",
        "metric",
        "unit",
        "baseline",
        "result",
        "diff",
        "status",
        "baseline std dev, %",
        "result std dev, %",
        "runs",
        "p",
    ];
    let rows = table.rows.iter().map(|row| -> Vec<TableCell> {
        let status = match row.status {
            ComparisonStatus::Better => "better",
            ComparisonStatus::Worse => "worse",
            ComparisonStatus::Differs => "differs",
            ComparisonStatus::Unproven => "~",
            ComparisonStatus::TooFewRuns => "too few runs",
        };
        vec![
            row.test.clone().into(),
            row.metric.clone().into(),
            row.unit.clone().into(),
            row.baseline.into(),
            row.result.into(),
            percent(row).into(),
            status.into(),
            row.baseline_deviation_percent.into(),
            row.result_deviation_percent.into(),
            (row.runs.baseline as f64).into(),
            row.p.into(),
        ]
    });
    ReportSection {
        title: "The comparison".to_owned(),
        text: table.warnings.clone(),
        table: Some(ReportTable {
            columns: columns.map(str::to_owned).into(),
            rows: rows.collect(),
        }),
        ..ReportSection::default()
    }
}

fn processors_section(sides: &NicRuns) -> ReportSection {
    let columns = [
        "processor",
        "before: busy, %",
        "softirq, %",
        "NET_RX/s",
        "after: busy, %",
        "softirq, %",
        "NET_RX/s",
    ];
    let count = sides.processors();
    let figure = |runs: &[NicRun], at: usize, of: fn(&ProcessorShare) -> f64| -> Option<f64> {
        let shares = runs.iter().filter_map(|side| side.processors.get(at));
        let values: Vec<f64> = shares.map(of).collect();
        (!values.is_empty()).then(|| median(&values))
    };
    let each: [fn(&ProcessorShare) -> f64; 3] =
        [|share| share.busy() * 100.0, |share| share.softirq * 100.0, |share| share.net_rx];
    let rows = (0..count).map(|at| -> Vec<TableCell> {
        let first = sides.all().next().and_then(|side| side.processors.get(at));
        let number = first.map_or(0, |share| share.number);
        let both = [&sides.before, &sides.after];
        let figures = both.into_iter().flat_map(|runs| each.into_iter().map(move |of| (runs, of)));
        std::iter::once(TableCell::from(f64::from(number)))
            .chain(figures.map(|(runs, of)| figure(runs, at, of).into()))
            .collect()
    });
    let bars = (0..count).flat_map(|at| {
        let both = [("before", &sides.before), ("after", &sides.after)].into_iter();
        both.filter_map(move |(word, runs)| {
            let rate = figure(runs, at, |share| share.net_rx)?;
            Some(PlotBar { name: format!("processor {at}, {word}"), value: rate })
        })
    });
    ReportSection {
        title: "Processors".to_owned(),
        text: vec!["Medians of the runs; clients and server share this machine.".to_owned()],
        plots: vec![ReportPlot {
            title: "Receive softirqs a second".to_owned(),
            unit: "1/s".to_owned(),
            drawn: PlotShape::Bars { bars: bars.collect() },
        }],
        table: Some(ReportTable {
            columns: columns.map(str::to_owned).into(),
            rows: rows.collect(),
        }),
    }
}

fn interfaces_section(sides: &NicRuns) -> ReportSection {
    let columns = ["run", "before, by the name: share of each interface, %", "after, by addresses"];
    let words = |side: &NicRun| {
        let shares: Vec<String> =
            side.interfaces.iter().map(|share| format!("{:.0}", share * 100.0)).collect();
        shares.join(" / ")
    };
    let rows = sides.before.iter().enumerate().map(|(at, before)| -> Vec<TableCell> {
        let after = sides.after.get(at).map_or(TableCell::Nothing, |side| words(side).into());
        vec![(at as f64 + 1.0).into(), words(before).into(), after]
    });
    ReportSection {
        title: "Interfaces".to_owned(),
        table: Some(ReportTable {
            columns: columns.map(str::to_owned).into(),
            rows: rows.collect(),
        }),
        ..ReportSection::default()
    }
}

#[cfg(test)]
mod tests;
