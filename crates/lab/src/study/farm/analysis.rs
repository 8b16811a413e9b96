//! Turns the measurements into the report: page rates beside the source study's, processor time, allocators. Pure.

use crate::stats::rank::{compare, runs_needed, smallest_p};
use crate::stats::sample::{deviation_percent, median};
use crate::study::parameter::Parameters;
use crate::study::report::{
    ClaimResult, PlotBar, PlotLine, PlotPoint, PlotShape, ReportPlot, ReportSection, ReportTable,
    SourceComparison, StudyReport, TableCell,
};

/// The path of a page to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarmPath {
    /// Directly from the server.
    Nothing,
    Plain,
    /// Through the balancer, with TLS to the client.
    Tls,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FarmRun {
    pub rate: f64,
    pub mbit: f64,
    /// Median time of a page, milliseconds.
    pub half_ms: f64,
    pub longest_ms: f64,
    pub failed: u64,
    /// The balancer's processor time, per cent of one processor.
    pub busy: Option<f64>,
    /// The balancer's processor time for each page, milliseconds.
    pub each_ms: Option<f64>,
    /// The balancer's processor time over the run, per cent.
    pub trace: Vec<PlotPoint>,
}

/// Repeated runs of the same case.
#[derive(Clone, Debug, PartialEq)]
pub struct FarmCase {
    pub path: FarmPath,
    pub allocator: Option<&'static str>,
    /// Concurrent connections.
    pub connections: usize,
    pub runs: Vec<FarmRun>,
}

impl FarmCase {
    pub fn name(&self) -> String {
        let through = match self.path {
            FarmPath::Nothing => "direct",
            FarmPath::Plain => "balanced",
            FarmPath::Tls => "balanced, TLS",
        };
        let allocator =
            self.allocator.map_or_else(String::new, |name| format!(", allocator {name}"));
        format!("{through}, {} connections{allocator}", self.connections)
    }

    pub fn rate(&self) -> f64 {
        median(&self.rates())
    }

    fn rates(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.rate).collect()
    }

    fn median(&self, of: impl Fn(&FarmRun) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.runs.iter().filter_map(of).collect();
        (!values.is_empty()).then(|| median(&values))
    }

    fn failed(&self) -> u64 {
        self.runs.iter().map(|run| run.failed).sum()
    }
}

/// Requests a second in the source study: path, connections, with the system's allocator, with other libraries.
const STUDY: [(FarmPath, usize, f64, Option<f64>); 9] = [
    (FarmPath::Nothing, 10, 258.84, None),
    (FarmPath::Nothing, 50, 271.28, None),
    (FarmPath::Nothing, 100, 264.25, None),
    (FarmPath::Plain, 10, 84.0, None),
    (FarmPath::Plain, 50, 78.0, Some(76.0)),
    (FarmPath::Plain, 100, 75.0, None),
    (FarmPath::Tls, 10, 85.0, Some(78.0)),
    (FarmPath::Tls, 50, 90.0, Some(72.0)),
    (FarmPath::Tls, 100, 74.0, Some(75.0)),
];
/// Significance level: a difference with a higher probability by chance is not reported as one.
/// The usual level of significance.
const ALPHA: f64 = 0.05;

pub const QUESTION: &str = "How many large pages a second pass a balancer, plain and over TLS, and does another allocator change it?";

pub fn build_report(parameters: &Parameters, cases: &[FarmCase]) -> StudyReport {
    let source = "Zen Load Balancer Performance Tests Part 1 (2014): ab, a page of 425,984 bytes, 10,000 requests five times";
    let mut report = StudyReport::new("farm", QUESTION, source, parameters);
    let system = cases.iter().find_map(|case| case.allocator);
    report.verdicts = check_claims(cases, system);
    report.verdicts.extend(compare_allocators(cases, system));
    report.beside = compare_with_source(parameters, cases, system);
    report.sections = vec![figures_section(cases), processor_section(cases)];
    report
}

fn select_cases<'c>(
    cases: &'c [FarmCase],
    through: FarmPath,
    allocator: Option<&str>,
) -> impl Iterator<Item = &'c FarmCase> + Clone {
    let chosen: Vec<&FarmCase> =
        cases.iter().filter(|case| case.path == through && case.allocator == allocator).collect();
    chosen.into_iter()
}

fn check_claims(cases: &[FarmCase], system: Option<&'static str>) -> Vec<ClaimResult> {
    let mut out = Vec::new();
    let failed: u64 = cases.iter().map(FarmCase::failed).sum();
    let all: usize = cases.iter().map(|case| case.runs.len()).sum();
    out.push(ClaimResult::new(
        "Every page arrives",
        (all > 0).then_some(failed == 0),
        format!("{failed} failed in {all} runs"),
    ));
    let plain = select_cases(cases, FarmPath::Plain, system);
    let shares = plain.clone().filter_map(|case| {
        let direct = select_cases(cases, FarmPath::Nothing, None)
            .find(|one| one.connections == case.connections)?;
        Some((case.connections, case.rate() / direct.rate().max(1e-9)))
    });
    let least = shares.min_by(|a, b| a.1.total_cmp(&b.1));
    out.push(ClaimResult::new(
        "At least half as many pages a second pass the balancer as come directly",
        least.map(|(_, share)| share >= 0.5),
        least.map_or_else(
            || "not measured".to_owned(),
            |(connections, share)| {
                format!(
                    "{:.0} % with {connections} connections, the least; the study's: 28 to 32 %",
                    share * 100.0
                )
            },
        ),
    ));
    let few = plain.clone().min_by_key(|case| case.connections);
    let many = plain.clone().max_by_key(|case| case.connections);
    if let (Some(few), Some(many)) = (few, many)
        && few.connections < many.connections
    {
        let share = many.rate() / few.rate().max(1e-9);
        let claim =
            format!("{} connections get as many pages as {}", many.connections, few.connections);
        let because = format!(
            "{:.1} and {:.1} a second, {:.0} %; the study's: 89 %",
            many.rate(),
            few.rate(),
            share * 100.0
        );
        out.push(ClaimResult::new(&claim, share >= 0.9, because));
    }
    let cost = |through| {
        let each: Vec<f64> = select_cases(cases, through, system)
            .filter_map(|case| case.median(|run| run.each_ms))
            .collect();
        (!each.is_empty()).then(|| median(&each))
    };
    if let (Some(plain), Some(tls)) = (cost(FarmPath::Plain), cost(FarmPath::Tls)) {
        let because = format!(
            "{tls:.2} ms of the balancer's processor a page against {plain:.2} ms: {:.1} times",
            tls / plain.max(1e-9)
        );
        out.push(ClaimResult::new(
            "TLS costs the balancer more processor time a page",
            tls > plain,
            because,
        ));
    }
    out
}

/// Whether the second allocator changes the rate, if the runs can show it.
fn compare_allocators(cases: &[FarmCase], system: Option<&'static str>) -> Vec<ClaimResult> {
    let mut out = Vec::new();
    for other in cases.iter().filter(|case| case.allocator.is_some() && case.allocator != system) {
        let base = select_cases(cases, other.path, system)
            .find(|case| case.connections == other.connections);
        let Some(base) = base else { continue };
        let claim = format!("Another allocator changes the rate ({})", other.name());
        let first = base.rates();
        let second = other.rates();
        if first.is_empty() || second.is_empty() {
            continue;
        }
        let comparison = compare(&first, &second, ALPHA);
        let because = format!(
            "{:.1} a second instead of {:.1} ({:+.1} %), p {:.3}",
            other.rate(),
            base.rate(),
            (other.rate() / base.rate().max(1e-9) - 1.0) * 100.0,
            comparison.p
        );
        if smallest_p(first.len(), second.len()) > ALPHA {
            let because = format!(
                "{because}: too few runs to prove anything, it takes {}",
                runs_needed(ALPHA)
            );
            out.push(ClaimResult::new(&claim, None, because));
        } else {
            out.push(ClaimResult::new(&claim, comparison.p <= ALPHA, because));
        }
    }
    out
}

fn compare_with_source(
    parameters: &Parameters,
    cases: &[FarmCase],
    system: Option<&'static str>,
) -> Vec<SourceComparison> {
    let told = parameters.to_report();
    let differs: Vec<String> = told
        .iter()
        .filter(|parameter| parameter.differs)
        .map(|parameter| {
            format!("{} {} here, {} there", parameter.name, parameter.here, parameter.source)
        })
        .collect();
    let mut out = Vec::new();
    for case in cases {
        let study = STUDY.iter().find(|(through, connections, ..)| {
            (*through, *connections) == (case.path, case.connections)
        });
        let source = study.and_then(|(_, _, first, second)| {
            if case.allocator == system || case.allocator.is_none() {
                Some(*first)
            } else {
                *second
            }
        });
        out.push(SourceComparison {
            what: case.name(),
            unit: "pages/s",
            source,
            forecast: None,
            ours: Some(case.rate()),
            differs: if study.is_some() {
                differs.join("; ")
            } else {
                "no such case in the study".to_owned()
            },
        });
    }
    out
}

fn figures_section(cases: &[FarmCase]) -> ReportSection {
    let columns = [
        "case",
        "runs",
        "pages a second",
        "standard deviation, %",
        "Mbit/s",
        "half within, ms",
        "longest, ms",
        "balancer's processor, %",
        "a page, ms",
        "failed",
    ];
    let rows = cases.iter().map(|case| -> Vec<TableCell> {
        vec![
            case.name().into(),
            (case.runs.len() as f64).into(),
            case.rate().into(),
            deviation_percent(&case.rates()).into(),
            case.median(|run| Some(run.mbit)).into(),
            case.median(|run| Some(run.half_ms)).into(),
            case.runs.iter().map(|run| run.longest_ms).reduce(f64::max).into(),
            case.median(|run| run.busy).into(),
            case.median(|run| run.each_ms).into(),
            (case.failed() as f64).into(),
        ]
    });
    let bars = cases.iter().map(|case| PlotBar { name: case.name(), value: case.rate() });
    ReportSection {
        title: "Pages a second".to_owned(),
        text: vec![
            "Medians of the runs. The balancer's processor: 100 % is one of them, all day."
                .to_owned(),
        ],
        table: Some(ReportTable {
            columns: columns.map(str::to_owned).into(),
            rows: rows.collect(),
        }),
        plots: vec![ReportPlot {
            title: "Pages a second".to_owned(),
            unit: "1/s".to_owned(),
            drawn: PlotShape::Bars { bars: bars.collect() },
        }],
    }
}

/// The balancer's processor time during a run: the median of all runs at each time.
fn processor_section(cases: &[FarmCase]) -> ReportSection {
    let mut plots = Vec::new();
    for through in [FarmPath::Plain, FarmPath::Tls] {
        let of: Vec<&FarmCase> = cases.iter().filter(|case| case.path == through).collect();
        let lines: Vec<PlotLine> = of
            .iter()
            .map(|case| PlotLine { name: case.name(), points: trace(case) })
            .filter(|line| line.points.len() > 1)
            .collect();
        if !lines.is_empty() {
            let title = if through == FarmPath::Tls { "Over TLS" } else { "Plain" };
            plots.push(ReportPlot {
                title: title.to_owned(),
                unit: "%".to_owned(),
                drawn: PlotShape::Lines { lines },
            });
        }
    }
    ReportSection {
        title: "The balancer's processor during the runs".to_owned(),
        text: vec!["At each moment of a run, the median of the repeats.".to_owned()],
        plots,
        ..ReportSection::default()
    }
}

fn trace(case: &FarmCase) -> Vec<PlotPoint> {
    let longest = case.runs.iter().map(|run| run.trace.len()).max().unwrap_or(0);
    let at = |step: usize| {
        let points: Vec<PlotPoint> =
            case.runs.iter().filter_map(|run| run.trace.get(step).copied()).collect();
        let of = |of: fn(&PlotPoint) -> f64| median(&points.iter().map(of).collect::<Vec<_>>());
        PlotPoint { seconds: of(|point| point.seconds), value: of(|point| point.value) }
    };
    (0..longest).map(at).collect()
}

#[cfg(test)]
mod tests;
