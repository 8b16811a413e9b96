//! Compares the source study's figures with ours. Pure.

use model::capacity::path::{window_limited_rate, window_limited_transfer};
use model::capacity::quantity::ByteCount;

use super::case::{TransactionCase, requested_round_trip};
use super::transaction_trace::TransactionTrace;
use crate::study::parameter::Parameters;
use crate::study::report::SourceComparison;

/// The source study's measurements: seconds, bytes, Mbit/s.
mod source {
    pub const FAST_TOTAL: f64 = 10.0;
    pub const SLOW_TOTAL: f64 = 70.0;
    pub const FAST_REQUEST: f64 = 0.175;
    pub const SLOW_REQUEST: f64 = 52.0;
    pub const SLOW_PACKETS: f64 = 13.0;
    pub const FAST_ANSWER: f64 = 1.7;
    pub const SLOW_ANSWER: f64 = 7.7;
    pub const FAST_MBIT: f64 = 7.5;
    pub const SLOW_MBIT: f64 = 1.5;
    pub const FIELD: f64 = 254.0;
    pub const IN_FLIGHT: f64 = 32_768.0;
    pub const WAIT: f64 = 5.0;
}

/// The source study's cases: a broken window scale, a small send buffer, and the best.
#[derive(Clone, Copy)]
pub struct ComparedCases<'c> {
    /// The case with a broken window scale.
    pub broken: Option<&'c TransactionCase>,
    /// The case with the first send buffer.
    pub small: Option<&'c TransactionCase>,
    /// The case with the fastest response.
    pub best: Option<&'c TransactionCase>,
}

pub fn compare_with_source(
    parameters: &Parameters,
    three: ComparedCases<'_>,
) -> Vec<SourceComparison> {
    let mut rows = compare_requests(parameters, three);
    rows.extend(compare_answers(parameters, three));
    rows.extend(compare_totals(parameters, three));
    rows
}

/// A row: its name and unit, the source study's figure, the forecast, our figure, and what differs.
fn row(
    (what, unit): (&str, &'static str),
    source: f64,
    (forecast, ours): (Option<f64>, Option<f64>),
    differs: String,
) -> SourceComparison {
    SourceComparison { what: what.to_owned(), unit, source: Some(source), forecast, ours, differs }
}

fn figure_of(case: Option<&TransactionCase>, figure: fn(&TransactionTrace) -> f64) -> Option<f64> {
    case.map(|case| figure(&case.trace))
}

/// Describes how the named parameters differ from the source study's; empty: they do not.
fn parameter_differences(parameters: &Parameters, names: &[&str]) -> String {
    let told = parameters.to_report();
    let others = told.iter().filter(|told| told.differs && names.contains(&told.name.as_str()));
    let words: Vec<String> = others
        .map(|parameter| {
            format!("{} {} here, {} there", parameter.name, parameter.here, parameter.source)
        })
        .collect();
    words.join("; ")
}

fn join(a: String, b: String) -> String {
    if a.is_empty() || b.is_empty() { a + &b } else { format!("{a}; {b}") }
}

fn compare_requests(parameters: &Parameters, three: ComparedCases<'_>) -> Vec<SourceComparison> {
    let ComparedCases { broken, small, .. } = three;
    let trip = requested_round_trip(parameters);
    let path = || parameter_differences(parameters, &["delay", "request"]);
    let window = figure_of(broken, |seen| seen.field.smallest).filter(|field| *field > 0.0);
    let request = ByteCount(parameters.size("request") as f64);
    let pieces =
        window.map(|window| window_limited_transfer(request, ByteCount(window), trip).pieces);
    let slow = figure_of(broken, |seen| seen.request);
    let wait = pieces.zip(slow).map(|(pieces, time)| time / pieces.max(2) as f64);
    let waits = wait.map_or_else(String::new, |wait| {
        format!(
            "between two pieces this sender waits {wait:.2} s, which is its kernel's probe timer and a round trip; the \
             study's waited {} s",
            source::WAIT
        )
    });
    let fast = figure_of(small, |seen| seen.request);
    let packets = figure_of(broken, |seen| seen.request_packets as f64);
    vec![
        row(
            ("request, good balancer", "s"),
            source::FAST_REQUEST,
            (Some(trip.as_secs_f64()), fast),
            path(),
        ),
        row(
            ("request, broken balancer", "s"),
            source::SLOW_REQUEST,
            (None, slow),
            join(path(), waits),
        ),
        row(
            ("packets of that request", "1"),
            source::SLOW_PACKETS,
            (pieces.map(|pieces| pieces as f64 + 1.0), packets),
            parameter_differences(parameters, &["request", "receive-memory"]),
        ),
        row(
            ("window field of the broken balancer", "1"),
            source::FIELD,
            (None, window),
            parameter_differences(parameters, &["receive-memory"]),
        ),
    ]
}

fn compare_answers(parameters: &Parameters, three: ComparedCases<'_>) -> Vec<SourceComparison> {
    let ComparedCases { small, best, .. } = three;
    let path = || parameter_differences(parameters, &["delay", "answer"]);
    let flight = figure_of(small, |seen| seen.in_flight);
    let rate = flight.map(|flight| {
        window_limited_rate(ByteCount(flight), requested_round_trip(parameters)).megabits()
    });
    let bits = parameters.size("answer") as f64 * 8.0 / 1e6;
    let time = rate.map(|rate| bits / rate);
    let buffer_bytes = small.and_then(|case| case.buffer).map(|bytes| bytes as f64 * 2.0);
    let doubled =
        "Linux sets twice what it is asked for, and counts its bookkeeping in (socket(7))";
    let mbit: fn(&TransactionTrace) -> f64 = |seen| seen.answer_mbit;
    vec![
        row(
            ("answer, small send buffer", "s"),
            source::SLOW_ANSWER,
            (time, figure_of(small, |seen| seen.answer)),
            path(),
        ),
        row(("its rate", "Mbit/s"), source::SLOW_MBIT, (rate, figure_of(small, mbit)), path()),
        row(
            ("most of it in flight", "B"),
            source::IN_FLIGHT,
            (buffer_bytes, flight),
            join(parameter_differences(parameters, &["buffers"]), doubled.to_owned()),
        ),
        row(
            ("answer, best send buffer", "s"),
            source::FAST_ANSWER,
            (None, figure_of(best, |seen| seen.answer)),
            path(),
        ),
        row(
            ("rate, best send buffer", "Mbit/s"),
            source::FAST_MBIT,
            (None, figure_of(best, mbit)),
            path(),
        ),
    ]
}

fn compare_totals(parameters: &Parameters, three: ComparedCases<'_>) -> Vec<SourceComparison> {
    let path = || parameter_differences(parameters, &["delay", "think", "answer"]);
    let total: fn(&TransactionTrace) -> f64 = |seen| seen.total;
    let best = figure_of(three.best, total);
    let broken = figure_of(three.broken, total);
    vec![
        row(("whole transaction, best balancer", "s"), source::FAST_TOTAL, (None, best), path()),
        row(
            ("whole transaction, broken balancer", "s"),
            source::SLOW_TOTAL,
            (None, broken),
            path(),
        ),
    ]
}
