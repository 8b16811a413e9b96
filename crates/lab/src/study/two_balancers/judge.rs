//! From what was measured to the report: tables, figures beside the source study's, and verdicts. Pure.

use model::capacity::path::allowed;
use model::capacity::quantity::Bytes;
use model::config::unit::Size;

use super::beside::{Three, beside};
use super::case::{Case, round_trip};
use super::seen::Seen;
use crate::study::parameter::Parameters;
use crate::study::report::{Cell, Drawn, Plot, Report, Section, Table, Verdict};

/// What a contradiction of windows is called.
const SCALE_FLAG: &str = "WINDOW_SCALE_INCONSISTENT";

/// What the study asks.
pub const ASKS: &str = "Why is the same transaction seven times slower through the second of two balancers, and what mends it?";

/// The report.
pub fn report(parameters: &Parameters, cases: &[Case]) -> Report {
    let source = "A Tale of Two Load Balancers (2017): one SOAP transaction over 130 ms, through a good and a bad balancer";
    let mut report = Report::new("two-balancers", ASKS, source, parameters);
    let broken = cases.iter().find(|case| case.broken);
    let small = cases.iter().find(|case| !case.broken);
    let best = cases
        .iter()
        .filter(|case| !case.broken)
        .min_by(|a, b| a.seen.answer.total_cmp(&b.seen.answer));
    report.verdicts = verdicts(parameters, broken, small, best, cases);
    report.beside = beside(parameters, Three { broken, small, best });
    report.sections = vec![figures(parameters, cases), found(cases)];
    report
}

fn verdicts(
    parameters: &Parameters,
    broken: Option<&Case>,
    small: Option<&Case>,
    best: Option<&Case>,
    cases: &[Case],
) -> Vec<Verdict> {
    let mut out = Vec::new();
    if let (Some(broken), Some(small)) = (broken, small) {
        let first = broken.seen.findings.first();
        let named = first.is_some_and(|found| {
            found.phase == "request" && found.flag.as_deref() == Some(SCALE_FLAG)
        });
        out.push(Verdict::new(
            "The most significant bottleneck of the slow transaction is the balancer's window, whose scale is broken",
            first.map(|_| named),
            first.map_or_else(|| "no bottleneck was found".to_owned(), |found| found.sentence.clone()),
        ));
        let slower = broken.seen.request / small.seen.request.max(1e-9);
        out.push(Verdict::new(
            "The broken scale makes the request several times slower and nothing else",
            slower > 3.0 && broken.seen.answer < small.seen.answer * 1.5,
            format!(
                "the request took {:.2} s instead of {:.2} s ({slower:.1} times), the answer {:.2} s and {:.2} s",
                broken.seen.request, small.seen.request, broken.seen.answer, small.seen.answer
            ),
        ));
    }
    let limits: Vec<&Case> = cases.iter().filter(|case| is_limited(case)).collect();
    let names = limits.iter().map(|case| case.name.as_str()).collect::<Vec<_>>().join("; ");
    let small_limits = small.map(is_limited);
    out.push(Verdict::new(
        "A small send buffer limits the answer",
        small_limits,
        if limits.is_empty() {
            "explain trace names the send buffer in no case".to_owned()
        } else {
            format!("explain trace names the send buffer in: {names}")
        },
    ));
    if let (Some(small), Some(best)) = (small, best) {
        let times = small.seen.answer / best.seen.answer.max(1e-9);
        out.push(Verdict::new(
            "A larger send buffer mends the answer",
            times > 2.0,
            format!(
                "{:.2} s with {}, {:.2} s with {}: {times:.1} times; a buffer of the path's product would be {}",
                small.seen.answer,
                small.name,
                best.seen.answer,
                best.name,
                Size(model::capacity::path::product(
                    model::capacity::quantity::BitRate(parameters.rate("rate") as f64),
                    round_trip(parameters)
                )
                .0 as u64)
            ),
        ));
    }
    out
}

/// Whether the answer waited for the send buffer.
fn is_limited(case: &Case) -> bool {
    let mut findings = case.seen.findings.iter();
    findings.any(|found| found.phase == "response" && found.code == "SEND_BUFFER")
}

fn figures(parameters: &Parameters, cases: &[Case]) -> Section {
    let columns = [
        "balancer",
        "round trip, ms",
        "request, s",
        "server, s",
        "answer, s",
        "Mbit/s",
        "most in flight, B",
        "that over a round trip, Mbit/s",
        "scale",
        "smallest field",
        "whole, s",
        "client's clock, s",
    ];
    let trip = round_trip(parameters);
    let rows = cases.iter().map(|Case { name, seen, took, .. }| -> Vec<Cell> {
        let scale = seen.scale.map_or_else(|| "none".to_owned(), |scale| scale.to_string());
        vec![
            name.clone().into(),
            (seen.round_trip * 1e3).into(),
            seen.request.into(),
            seen.server.into(),
            seen.answer.into(),
            seen.answer_mbit.into(),
            seen.in_flight.into(),
            allowed(Bytes(seen.in_flight), trip).megabits().into(),
            scale.into(),
            seen.field.0.into(),
            seen.total.into(),
            (*took).into(),
        ]
    });
    let bars = |title: &str, of: fn(&Seen) -> f64| Plot {
        title: title.to_owned(),
        unit: "s".to_owned(),
        drawn: Drawn::Bars {
            bars: cases.iter().map(|case| (case.name.clone(), of(&case.seen))).collect(),
        },
    };
    Section {
        title: "The transaction through each balancer".to_owned(),
        text: vec!["From a capture at the client, as explain trace tells it.".to_owned()],
        table: Some(Table { columns: columns.map(str::to_owned).into(), rows: rows.collect() }),
        plots: vec![
            bars("The request's transfer", |seen| seen.request),
            bars("The answer's transfer", |seen| seen.answer),
        ],
    }
}

fn found(cases: &[Case]) -> Section {
    let columns = ["balancer", "where", "what", "in a sentence", "what to change"];
    let rows = cases.iter().flat_map(|case| {
        case.seen.findings.iter().map(|found| -> Vec<Cell> {
            let what = match &found.flag {
                Some(flag) => format!("{}, {flag}", found.code),
                None => found.code.clone(),
            };
            vec![
                case.name.clone().into(),
                found.phase.clone().into(),
                what.into(),
                found.sentence.clone().into(),
                found.fix.clone().into(),
            ]
        })
    });
    Section {
        title: "What explain trace says, the most significant first".to_owned(),
        table: Some(Table { columns: columns.map(str::to_owned).into(), rows: rows.collect() }),
        ..Section::default()
    }
}

#[cfg(test)]
mod tests;
