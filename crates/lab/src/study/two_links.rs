//! `two-links`: the throughput of one stream over one link, over a longer link, and over bundles of two links. The
//! links of a bundle are equal or unequal. Every policy is measured, over TCP and UDP.
//!
//! Source: "Network Load Balancing" (D1.2), netperf over a bundle of two 10 Gbit/s links, one of which went to another
//! country and back.

mod analysis;
mod measure;
mod stream_cell;

pub use self::analysis::QUESTION;
use self::analysis::build_report;
use self::stream_cell::StreamCell;
use super::context::{StudyContext, StudyError, finish_study};
use super::parameter::{ParameterKind, ParameterSpec, Parameters};
use super::report::StudyReport;

pub const SPECS: &[ParameterSpec] = &[
    ParameterSpec {
        name: "rate",
        meaning: "of each link",
        kind: ParameterKind::Rate,
        full: "200Mbit/s",
        quick: "40Mbit/s",
        source: "10Gbit/s",
    },
    ParameterSpec {
        name: "delay",
        meaning: "of the short link, one way",
        kind: ParameterKind::Time,
        full: "1ms",
        quick: "2ms",
        source: "10us",
    },
    ParameterSpec {
        name: "longer",
        meaning: "by which the round trip of the long link is longer",
        kind: ParameterKind::Time,
        full: "17ms",
        quick: "17ms",
        source: "17ms",
    },
    ParameterSpec {
        name: "buffers",
        meaning: "socket buffers as asked of the kernel; UDP has the last, and so have bundles in a quick run",
        kind: ParameterKind::Buffers,
        full: "32KiB,128KiB,512KiB,2MiB,8MiB,auto",
        quick: "16KiB,auto",
        source: "32KiB,128KiB,512KiB,2MiB,8MiB,32MiB",
    },
    ParameterSpec {
        name: "messages",
        meaning: "bytes of messages",
        kind: ParameterKind::Numbers,
        full: "64,1472,4096,8984,30000",
        quick: "1400",
        source: "64,1472,4096,8984,10000,20000,30000",
    },
    ParameterSpec {
        name: "span",
        meaning: "how long each run sends",
        kind: ParameterKind::Time,
        full: "5s",
        quick: "700ms",
        source: "30s",
    },
];

pub fn run(stage: &StudyContext<'_>, parameters: &Parameters) -> Result<StudyReport, StudyError> {
    let mut cells: Vec<StreamCell> = Vec::new();
    let ended = measure::measure_all(stage, parameters, &mut cells);
    finish_study(ended, cells.len(), "streams", || build_report(parameters, &cells))
}
