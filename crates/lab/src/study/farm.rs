//! `farm`: a large page, plain and over TLS, to few and many connections, directly and through the balancer, which runs with
//! one allocator and then with another; with what its processor did.
//!
//! Source: "Zen Load Balancer Performance Tests Part 1", ab against one web server behind a balancer.

mod allocator;
mod judge;
mod measure;

pub use self::judge::ASKS;
use self::judge::report;
use self::measure::Measured;
use super::parameter::{Kind, Parameters, Spec};
use super::report::Report;
use super::stage::{Stage, StudyError, conclude};
use crate::result::Weight;

/// Its parameters.
pub const SPECS: &[Spec] = &[
    Spec {
        name: "page",
        meaning: "bytes of the page",
        kind: Kind::Size,
        full: "425984B",
        quick: "425984B",
        source: "425984B",
    },
    Spec {
        name: "connections",
        meaning: "at a time",
        kind: Kind::Numbers,
        full: "10,50,100",
        quick: "10,50,100",
        source: "10,50,100",
    },
    Spec {
        name: "requests",
        meaning: "of each run, each on a connection of its own",
        kind: Kind::Number,
        full: "10000",
        quick: "100",
        source: "10000",
    },
    Spec {
        name: "repeats",
        meaning: "runs of each case, in turns; medians are compared",
        kind: Kind::Number,
        full: "5",
        quick: "3",
        source: "5",
    },
    Spec {
        name: "servers",
        meaning: "behind the balancer",
        kind: Kind::Number,
        full: "1",
        quick: "1",
        source: "1",
    },
];

/// Carries it out.
pub fn run(stage: &Stage<'_>, parameters: &Parameters) -> Result<Report, StudyError> {
    let mut measured = Measured::default();
    let ended = measure::all(stage, parameters, &mut measured);
    let Measured { cases, missing } = measured;
    let runs = cases.iter().map(|case| case.runs.len()).sum();
    let mut report = conclude(ended, (runs, "runs"), || report(parameters, &cases))?;
    missing.into_iter().for_each(|why| report.note(Weight::Partial, why));
    Ok(report)
}
