//! `nat-capacity`: how many connections a second a NAT balancer carries. Each connection needs a port of a return
//! address, and the port is unavailable for a while after the connection has closed. The study also compares the cost
//! of NAT and of rules with that of forwarding by link address.
//!
//! Source: "Performance study for Load Balancer" with NAT forwarding, its Table 1 and its formulas.

mod analysis;
mod measure;
mod measurements;
mod method_runs;

use std::time::Duration;

pub use self::analysis::QUESTION;
use self::analysis::build_report;
use self::measurements::{CapacityMeasurements, ForwardingMethod};
use super::context::{StudyContext, StudyError, finish_study};
use super::parameter::{ParameterKind, ParameterSpec, Parameters};
use super::report::StudyReport;

pub const SPECS: &[ParameterSpec] = &[
    ParameterSpec {
        name: "ports",
        meaning: "of each return address towards the server, about; the plane rounds, and the table says how",
        kind: ParameterKind::Number,
        full: "64510",
        quick: "600",
        source: "64510",
    },
    ParameterSpec {
        name: "addresses",
        meaning: "return addresses of the rows, at most 4",
        kind: ParameterKind::Numbers,
        full: "1,1,2",
        quick: "1,1,2",
        source: "1,1,2",
    },
    ParameterSpec {
        name: "closing",
        meaning: "how long a port rests after its connection, of the same rows (`fin-timeout`)",
        kind: ParameterKind::Times,
        full: "15s,30s,15s",
        quick: "1s,2s,1s",
        source: "15s,30s,15s",
    },
    ParameterSpec {
        name: "offered",
        meaning: "connections that are tried, per cent of what the ports allow",
        kind: ParameterKind::Number,
        full: "125",
        quick: "125",
        source: "",
    },
    ParameterSpec {
        name: "periods",
        meaning: "closing times over which connections are counted, after the first",
        kind: ParameterKind::Number,
        full: "3",
        quick: "5",
        source: "",
    },
    ParameterSpec {
        name: "answer",
        meaning: "bytes of each answer's body",
        kind: ParameterKind::Size,
        full: "1KiB",
        quick: "1KiB",
        source: "1KiB",
    },
    ParameterSpec {
        name: "rules",
        meaning: "rules on content that every request is held against before the last takes it",
        kind: ParameterKind::Numbers,
        full: "1,100",
        quick: "1,100",
        source: "",
    },
    ParameterSpec {
        name: "span",
        meaning: "how long a forwarding method is under load in each of its turns",
        kind: ParameterKind::Time,
        full: "10s",
        quick: "500ms",
        source: "",
    },
    ParameterSpec {
        name: "rounds",
        meaning: "turns of each forwarding method; medians are compared",
        kind: ParameterKind::Number,
        full: "5",
        quick: "3",
        source: "",
    },
    ParameterSpec {
        name: "connections",
        meaning: "at a time, for the comparison of methods",
        kind: ParameterKind::Number,
        full: "64",
        quick: "16",
        source: "",
    },
];

/// Return addresses available on a site.
const ADDRESSES: u32 = crate::net::RETURNS as u32;

pub fn run(stage: &StudyContext<'_>, parameters: &Parameters) -> Result<StudyReport, StudyError> {
    let mut measured = CapacityMeasurements::default();
    let ended = measure_all(stage, parameters, &mut measured);
    let turns: usize = measured.methods.iter().map(|method| method.runs.len()).sum();
    finish_study(ended, measured.rows.len() + turns, "runs", || build_report(parameters, &measured))
}

/// Measures all rows. Returns false when the study was stopped early.
fn measure_all(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    measured: &mut CapacityMeasurements,
) -> Result<bool, StudyError> {
    for (addresses, closing) in row_parameters(parameters)? {
        if stage.is_stopped() {
            return Ok(false);
        }
        let row = measure::measure_row(stage, parameters, addresses, closing)?;
        if stage.is_stopped() {
            // The row was cut short.
            return Ok(false);
        }
        let text = format!(
            "{addresses} return addresses, {closing:?}: {:.1} of {:.1} a second",
            row.rate, row.allowed
        );
        (stage.log)(&text);
        measured.rows.push(row);
    }
    method_runs::measure_methods(
        stage,
        parameters,
        &forwarding_methods(parameters),
        &mut measured.methods,
    )
}

/// Return addresses and closing time of each row.
fn row_parameters(parameters: &Parameters) -> Result<Vec<(u32, Duration)>, StudyError> {
    let addresses = parameters.numbers("addresses");
    let closing = parameters.times("closing");
    let text = if addresses.len() != closing.len() {
        format!(
            "`addresses` has {} rows and `closing` {}: give as many",
            addresses.len(),
            closing.len()
        )
    } else if let Some(many) = addresses.iter().find(|many| **many > ADDRESSES) {
        format!("addresses: found {many}, expected at most {ADDRESSES}")
    } else if let Some(short) = closing.iter().find(|time| **time < Duration::from_secs(1)) {
        format!("closing: found {short:?}, expected at least 1s")
    } else {
        return Ok(addresses.into_iter().zip(closing).collect());
    };
    Err(StudyError::Nothing(text))
}

fn forwarding_methods(parameters: &Parameters) -> Vec<ForwardingMethod> {
    let rules = parameters.numbers("rules").into_iter().map(ForwardingMethod::Content);
    [ForwardingMethod::Mac, ForwardingMethod::Nat].into_iter().chain(rules).collect()
}
