//! `farm`: a large page over HTTP and HTTPS, with few and many connections, directly and through the balancer. The
//! balancer runs with two allocators, and its processor time is recorded.
//!
//! Source: "Zen Load Balancer Performance Tests Part 1", ab against one web server behind a balancer.

mod allocator;
mod analysis;
mod measure;

pub use self::analysis::QUESTION;
use self::analysis::build_report;
use self::measure::FarmMeasurements;
use super::context::{StudyContext, StudyError, finish_study};
use super::parameter::{ParameterKind, ParameterSpec, Parameters};
use super::report::StudyReport;
use crate::result_note::NoteSeverity;

pub const SPECS: &[ParameterSpec] = &[
    ParameterSpec {
        name: "page",
        meaning: "bytes of the page",
        kind: ParameterKind::Size,
        full: "425984B",
        quick: "425984B",
        source: "425984B",
    },
    ParameterSpec {
        name: "connections",
        meaning: "at a time",
        kind: ParameterKind::Numbers,
        full: "10,50,100",
        quick: "10,50,100",
        source: "10,50,100",
    },
    ParameterSpec {
        name: "requests",
        meaning: "of each run, each on a connection of its own",
        kind: ParameterKind::Number,
        full: "10000",
        quick: "100",
        source: "10000",
    },
    ParameterSpec {
        name: "repeats",
        meaning: "runs of each case, in turns; medians are compared",
        kind: ParameterKind::Number,
        full: "5",
        quick: "3",
        source: "5",
    },
    ParameterSpec {
        name: "servers",
        meaning: "behind the balancer",
        kind: ParameterKind::Number,
        full: "1",
        quick: "1",
        source: "1",
    },
];

pub fn run(stage: &StudyContext<'_>, parameters: &Parameters) -> Result<StudyReport, StudyError> {
    let mut measured = FarmMeasurements::default();
    let ended = measure::measure_all(stage, parameters, &mut measured);
    let FarmMeasurements { cases, unavailable: missing } = measured;
    let runs = cases.iter().map(|case| case.runs.len()).sum();
    let mut report = finish_study(ended, runs, "runs", || build_report(parameters, &cases))?;
    missing.into_iter().for_each(|why| report.note(NoteSeverity::Partial, why));
    Ok(report)
}
