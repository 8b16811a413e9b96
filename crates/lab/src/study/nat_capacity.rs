//! `nat-capacity`: how many connections a second a translating balancer carries when each takes a port of a return address
//! and the port rests after the connection has closed; and what translation and rules cost beside forwarding by address.
//!
//! Source: "Performance study for Load Balancer" with NAT forwarding, its Table 1 and its formulas.

mod judge;
mod measure;
mod row;
mod turns;

use std::time::Duration;

pub use self::judge::ASKS;
use self::judge::report;
use self::row::{Measured, Way};
use super::parameter::{Kind, Parameters, Spec};
use super::report::Report;
use super::stage::{Stage, StudyError, conclude};

/// Its parameters.
pub const SPECS: &[Spec] = &[
    Spec {
        name: "ports",
        meaning: "of each return address towards the server, about; the plane rounds, and the table says how",
        kind: Kind::Number,
        full: "64510",
        quick: "600",
        source: "64510",
    },
    Spec {
        name: "addresses",
        meaning: "return addresses of the rows, at most 4",
        kind: Kind::Numbers,
        full: "1,1,2",
        quick: "1,1,2",
        source: "1,1,2",
    },
    Spec {
        name: "closing",
        meaning: "how long a port rests after its connection, of the same rows (`fin-timeout`)",
        kind: Kind::Times,
        full: "15s,30s,15s",
        quick: "1s,2s,1s",
        source: "15s,30s,15s",
    },
    Spec {
        name: "offered",
        meaning: "connections that are tried, per cent of what the ports allow",
        kind: Kind::Number,
        full: "125",
        quick: "125",
        source: "",
    },
    Spec {
        name: "periods",
        meaning: "closing times over which connections are counted, after the first",
        kind: Kind::Number,
        full: "3",
        quick: "5",
        source: "",
    },
    Spec {
        name: "answer",
        meaning: "bytes of each answer's body",
        kind: Kind::Size,
        full: "1KiB",
        quick: "1KiB",
        source: "1KiB",
    },
    Spec {
        name: "rules",
        meaning: "rules on content that every request is held against before the last takes it",
        kind: Kind::Numbers,
        full: "1,100",
        quick: "1,100",
        source: "",
    },
    Spec {
        name: "span",
        meaning: "how long a forwarding method is under load in each of its turns",
        kind: Kind::Time,
        full: "10s",
        quick: "500ms",
        source: "",
    },
    Spec {
        name: "rounds",
        meaning: "turns of each forwarding method; medians are compared",
        kind: Kind::Number,
        full: "5",
        quick: "3",
        source: "",
    },
    Spec {
        name: "connections",
        meaning: "at a time, for the comparison of methods",
        kind: Kind::Number,
        full: "64",
        quick: "16",
        source: "",
    },
];

/// Return addresses that a site has.
const ADDRESSES: u32 = crate::net::RETURNS as u32;

/// Carries it out.
pub fn run(stage: &Stage<'_>, parameters: &Parameters) -> Result<Report, StudyError> {
    let mut measured = Measured::default();
    let ended = all(stage, parameters, &mut measured);
    let turns: usize = measured.methods.iter().map(|method| method.turns.len()).sum();
    conclude(ended, (measured.rows.len() + turns, "runs"), || report(parameters, &measured))
}

/// Everything; false: stopped before its end.
fn all(
    stage: &Stage<'_>,
    parameters: &Parameters,
    measured: &mut Measured,
) -> Result<bool, StudyError> {
    for (addresses, closing) in pairs(parameters)? {
        if stage.stops() {
            return Ok(false);
        }
        let row = measure::row(stage, parameters, addresses, closing)?;
        if stage.stops() {
            // It ended before its time.
            return Ok(false);
        }
        let told = format!(
            "{addresses} return addresses, {closing:?}: {:.1} of {:.1} a second",
            row.rate, row.allowed
        );
        (stage.told)(&told);
        measured.rows.push(row);
    }
    turns::all(stage, parameters, &ways(parameters), &mut measured.methods)
}

/// Return addresses and closing time of each row.
fn pairs(parameters: &Parameters) -> Result<Vec<(u32, Duration)>, StudyError> {
    let (addresses, closing) = (parameters.numbers("addresses"), parameters.times("closing"));
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

fn ways(parameters: &Parameters) -> Vec<Way> {
    let rules = parameters.numbers("rules").into_iter().map(Way::Content);
    [Way::Mac, Way::Nat].into_iter().chain(rules).collect()
}
