//! `four-nics`: a server with four interfaces whose packets one processor takes, and clients that ask a name for its address;
//! against packets that are spread and clients that use one address each. The table is that of `steelyard compare`.
//!
//! Source: "Load Balancing Your Web Server", a web server whose throughput rose by 13 % when its interfaces were evenly used.

mod judge;
mod measure;
mod resolve;

pub use self::judge::ASKS;
use self::judge::{Sides, report};
use super::parameter::{Kind, Parameters, Spec};
use super::report::Report;
use super::stage::{Stage, StudyError, conclude};

/// Its parameters.
pub const SPECS: &[Spec] = &[
    Spec {
        name: "interfaces",
        meaning: "of the server, each with an address, at most 16",
        kind: Kind::Number,
        full: "4",
        quick: "4",
        source: "4",
    },
    Spec {
        name: "clients",
        meaning: "each uses one address",
        kind: Kind::Number,
        full: "4",
        quick: "4",
        source: "4",
    },
    Spec {
        name: "connections",
        meaning: "of each client, kept",
        kind: Kind::Number,
        full: "16",
        quick: "8",
        source: "",
    },
    Spec {
        name: "processors",
        meaning: "that take all interfaces' packets before they are spread",
        kind: Kind::Number,
        full: "1",
        quick: "1",
        source: "1",
    },
    Spec {
        name: "span",
        meaning: "how long each run is",
        kind: Kind::Time,
        full: "10s",
        quick: "1s",
        source: "",
    },
    Spec {
        name: "repeats",
        meaning: "runs of each side, in turns",
        kind: Kind::Number,
        full: "10",
        quick: "5",
        source: "",
    },
];

/// Carries it out.
pub fn run(stage: &Stage<'_>, parameters: &Parameters) -> Result<Report, StudyError> {
    let mut sides = Sides::default();
    let ended = measure::all(stage, parameters, &mut sides);
    let runs = sides.before.len() + sides.after.len();
    conclude(ended, (runs, "runs"), || report(parameters, &sides))
}
