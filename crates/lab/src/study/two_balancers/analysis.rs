//! Turns the measurements into the report: tables, figures beside the source study's, and results. Pure.

use model::capacity::path::window_limited_rate;
use model::capacity::quantity::ByteCount;
use model::config::unit::ByteSize;

use super::case::{TransactionCase, requested_round_trip};
use super::source_comparison::{ComparedCases, compare_with_source};
use super::transaction_trace::TransactionTrace;
use crate::study::parameter::Parameters;
use crate::study::report::{
    ClaimResult, PlotBar, PlotShape, ReportPlot, ReportSection, ReportTable, StudyReport, TableCell,
};

/// The name that `explain trace` gives to inconsistent windows.
const SCALE_FLAG: &str = "WINDOW_SCALE_INCONSISTENT";

pub const QUESTION: &str = "Why is the same transaction seven times slower through the second of two balancers, and what mends it?";

pub fn build_report(parameters: &Parameters, cases: &[TransactionCase]) -> StudyReport {
    let source = "A Tale of Two Load Balancers (2017): one SOAP transaction over 130 ms, through a good and a bad balancer";
    let mut report = StudyReport::new("two-balancers", QUESTION, source, parameters);
    let broken = cases.iter().find(|case| case.broken);
    let small = cases.iter().find(|case| !case.broken);
    let best = cases
        .iter()
        .filter(|case| !case.broken)
        .min_by(|a, b| a.trace.answer.total_cmp(&b.trace.answer));
    report.verdicts = check_claims(parameters, broken, small, best, cases);
    report.beside = compare_with_source(parameters, ComparedCases { broken, small, best });
    report.sections = vec![figures_section(parameters, cases), findings_section(cases)];
    report
}

fn check_claims(
    parameters: &Parameters,
    broken: Option<&TransactionCase>,
    small: Option<&TransactionCase>,
    best: Option<&TransactionCase>,
    cases: &[TransactionCase],
) -> Vec<ClaimResult> {
    let mut out = Vec::new();
    if let (Some(broken), Some(small)) = (broken, small) {
        let first = broken.trace.findings.first();
        let named = first.is_some_and(|found| {
            found.phase == "request" && found.flag.as_deref() == Some(SCALE_FLAG)
        });
        out.push(ClaimResult::new(
            "The most significant bottleneck of the slow transaction is the balancer's window, whose scale is broken",
            first.map(|_| named),
            first.map_or_else(|| "no bottleneck was found".to_owned(), |found| found.sentence.clone()),
        ));
        let slower = broken.trace.request / small.trace.request.max(1e-9);
        out.push(ClaimResult::new(
            "The broken scale makes the request several times slower and nothing else",
            slower > 3.0 && broken.trace.answer < small.trace.answer * 1.5,
            format!(
                "the request took {:.2} s instead of {:.2} s ({slower:.1} times), the answer {:.2} s and {:.2} s",
                broken.trace.request, small.trace.request, broken.trace.answer, small.trace.answer
            ),
        ));
    }
    let limits: Vec<&TransactionCase> = cases.iter().filter(|case| is_limited(case)).collect();
    let names = limits.iter().map(|case| case.name.as_str()).collect::<Vec<_>>().join("; ");
    let small_limits = small.map(is_limited);
    out.push(ClaimResult::new(
        "A small send buffer limits the answer",
        small_limits,
        if limits.is_empty() {
            "explain trace names the send buffer in no case".to_owned()
        } else {
            format!("explain trace names the send buffer in: {names}")
        },
    ));
    if let (Some(small), Some(best)) = (small, best) {
        let times = small.trace.answer / best.trace.answer.max(1e-9);
        out.push(ClaimResult::new(
            "A larger send buffer mends the answer",
            times > 2.0,
            format!(
                "{:.2} s with {}, {:.2} s with {}: {times:.1} times; a buffer of the path's product would be {}",
                small.trace.answer,
                small.name,
                best.trace.answer,
                best.name,
                ByteSize(model::capacity::path::bandwidth_delay_product(
                    model::capacity::quantity::BitRate(parameters.rate("rate") as f64),
                    requested_round_trip(parameters)
                )
                .0 as u64)
            ),
        ));
    }
    out
}

/// Whether the send buffer limited the response.
fn is_limited(case: &TransactionCase) -> bool {
    let mut findings = case.trace.findings.iter();
    findings.any(|found| found.phase == "response" && found.code == "SEND_BUFFER")
}

fn figures_section(parameters: &Parameters, cases: &[TransactionCase]) -> ReportSection {
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
    let trip = requested_round_trip(parameters);
    let rows =
        cases.iter().map(|TransactionCase { name, trace: seen, took, .. }| -> Vec<TableCell> {
            let scale = seen.scale.map_or_else(|| "none".to_owned(), |scale| scale.to_string());
            vec![
                name.clone().into(),
                (seen.round_trip * 1e3).into(),
                seen.request.into(),
                seen.server.into(),
                seen.answer.into(),
                seen.answer_mbit.into(),
                seen.in_flight.into(),
                window_limited_rate(ByteCount(seen.in_flight), trip).megabits().into(),
                scale.into(),
                seen.field.smallest.into(),
                seen.total.into(),
                (*took).into(),
            ]
        });
    let bars = |title: &str, of: fn(&TransactionTrace) -> f64| ReportPlot {
        title: title.to_owned(),
        unit: "s".to_owned(),
        drawn: PlotShape::Bars {
            bars: cases
                .iter()
                .map(|case| PlotBar { name: case.name.clone(), value: of(&case.trace) })
                .collect(),
        },
    };
    ReportSection {
        title: "The transaction through each balancer".to_owned(),
        text: vec!["From a capture at the client, as explain trace tells it.".to_owned()],
        table: Some(ReportTable {
            columns: columns.map(str::to_owned).into(),
            rows: rows.collect(),
        }),
        plots: vec![
            bars("The request's transfer", |seen| seen.request),
            bars("The answer's transfer", |seen| seen.answer),
        ],
    }
}

fn findings_section(cases: &[TransactionCase]) -> ReportSection {
    let columns = ["balancer", "where", "what", "in a sentence", "what to change"];
    let rows = cases.iter().flat_map(|case| {
        case.trace.findings.iter().map(|found| -> Vec<TableCell> {
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
    ReportSection {
        title: "What explain trace says, the most significant first".to_owned(),
        table: Some(ReportTable {
            columns: columns.map(str::to_owned).into(),
            rows: rows.collect(),
        }),
        ..ReportSection::default()
    }
}

#[cfg(test)]
mod tests;
