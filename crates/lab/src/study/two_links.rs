//! `two-links`: what one stream gets of one link, of one that is longer, and of two together, equal and unequal, with every
//! policy of bundles; over TCP and UDP.
//!
//! Source: "Network Load Balancing" (D1.2), netperf over a bundle of two 10 Gbit/s links, one of which went to another
//! country and back.

mod cell;
mod judge;
mod measure;

use self::cell::Cell;
pub use self::judge::ASKS;
use self::judge::report;
use super::parameter::{Kind, Parameters, Spec};
use super::report::Report;
use super::stage::{Stage, StudyError, conclude};

/// Its parameters.
pub const SPECS: &[Spec] = &[
    Spec {
        name: "rate",
        meaning: "of each link",
        kind: Kind::Rate,
        full: "200Mbit/s",
        quick: "40Mbit/s",
        source: "10Gbit/s",
    },
    Spec {
        name: "delay",
        meaning: "of the short link, one way",
        kind: Kind::Time,
        full: "1ms",
        quick: "2ms",
        source: "10us",
    },
    Spec {
        name: "longer",
        meaning: "by which the round trip of the long link is longer",
        kind: Kind::Time,
        full: "17ms",
        quick: "17ms",
        source: "17ms",
    },
    Spec {
        name: "buffers",
        meaning: "socket buffers as asked of the kernel; UDP has the last, and so have bundles in a quick run",
        kind: Kind::Buffers,
        full: "32KiB,128KiB,512KiB,2MiB,8MiB,auto",
        quick: "16KiB,auto",
        source: "32KiB,128KiB,512KiB,2MiB,8MiB,32MiB",
    },
    Spec {
        name: "messages",
        meaning: "bytes of messages",
        kind: Kind::Numbers,
        full: "64,1472,4096,8984,30000",
        quick: "1400",
        source: "64,1472,4096,8984,10000,20000,30000",
    },
    Spec {
        name: "span",
        meaning: "how long each run sends",
        kind: Kind::Time,
        full: "5s",
        quick: "700ms",
        source: "30s",
    },
];

/// Carries it out.
pub fn run(stage: &Stage<'_>, parameters: &Parameters) -> Result<Report, StudyError> {
    let mut cells: Vec<Cell> = Vec::new();
    let ended = measure::all(stage, parameters, &mut cells);
    conclude(ended, (cells.len(), "streams"), || report(parameters, &cells))
}
