//! `four-nics`: a server with four interfaces. First one processor receives all packets and clients resolve a name;
//! then packets are spread over processors and each client uses one address. The table is that of `steelyard compare`.
//!
//! Source: "Load Balancing Your Web Server", a web server whose throughput rose by 13 % when its interfaces were evenly
//! used.

mod analysis;
mod dns_lookup;
mod measure;

pub use self::analysis::QUESTION;
use self::analysis::{NicRuns, build_report};
use super::context::{StudyContext, StudyError, finish_study};
use super::parameter::{ParameterKind, ParameterSpec, Parameters};
use super::report::StudyReport;

pub const SPECS: &[ParameterSpec] = &[
    ParameterSpec {
        name: "interfaces",
        meaning: "of the server, each with an address, at most 16",
        kind: ParameterKind::Number,
        full: "4",
        quick: "4",
        source: "4",
    },
    ParameterSpec {
        name: "clients",
        meaning: "each uses one address",
        kind: ParameterKind::Number,
        full: "4",
        quick: "4",
        source: "4",
    },
    ParameterSpec {
        name: "connections",
        meaning: "of each client, kept",
        kind: ParameterKind::Number,
        full: "16",
        quick: "8",
        source: "",
    },
    ParameterSpec {
        name: "processors",
        meaning: "that take all interfaces' packets before they are spread",
        kind: ParameterKind::Number,
        full: "1",
        quick: "1",
        source: "1",
    },
    ParameterSpec {
        name: "span",
        meaning: "how long each run is",
        kind: ParameterKind::Time,
        full: "10s",
        quick: "1s",
        source: "",
    },
    ParameterSpec {
        name: "repeats",
        meaning: "runs of each side, in turns",
        kind: ParameterKind::Number,
        full: "10",
        quick: "5",
        source: "",
    },
];

pub fn run(stage: &StudyContext<'_>, parameters: &Parameters) -> Result<StudyReport, StudyError> {
    let mut sides = NicRuns::default();
    let ended = measure::measure_all(stage, parameters, &mut sides);
    let runs = sides.before.len() + sides.after.len();
    finish_study(ended, runs, "runs", || build_report(parameters, &sides))
}
