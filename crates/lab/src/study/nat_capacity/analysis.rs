//! Turns the measurements into the report: Table 1, replication, bandwidth, the cost of methods, and results. Pure.

use std::time::Duration;

use model::capacity::ports::{LINUX_TIME_WAIT, TRANSLATED_PORTS, ports_in_range, sustained_rate};
use model::capacity::quantity::{ByteCount, PerSecond};
use model::capacity::replication_framing::ReplicationFraming;

use super::measurements::{CapacityMeasurements, CapacityRow, MethodRun, MethodRuns};
use crate::stats::rank::{compare, runs_needed, smallest_p};
use crate::stats::sample::{deviation_percent, median};
use crate::study::parameter::Parameters;
use crate::study::report::{
    ClaimResult, PlotBar, PlotShape, ReportPlot, ReportSection, ReportTable, SourceComparison,
    StudyReport, TableCell,
};

/// Table 1 of the source study: return addresses, closing time, forecast and measured rate.
const TABLE: [(u32, u64, f64, f64); 3] =
    [(1, 15, 4300.7, 4000.0), (1, 30, 2150.3, 1800.0), (2, 15, 8601.3, 7000.0)];
/// Largest relative difference between a measured rate and its forecast.
const WITHIN: f64 = 0.05;
/// Significance level: a difference between methods with a higher probability by chance is not reported as one.
const ALPHA: f64 = 0.1;
/// Processor share above which a load generator's thread was the limit.
const BUSY: f64 = 0.95;

pub const QUESTION: &str = "How many connections a second does translation carry with one or two return addresses and short or long closing times?";

pub fn build_report(parameters: &Parameters, measured: &CapacityMeasurements) -> StudyReport {
    let CapacityMeasurements { rows, methods } = measured;
    let source = "Performance study for Load Balancer, NAT forwarding (version 6.0.2): Table 1, tuning of stress tools, \
                  high availability";
    let mut report = StudyReport::new("nat-capacity", QUESTION, source, parameters);
    report.verdicts = rows.iter().map(check_port_limit).collect();
    report.verdicts.extend(compare_port_use(rows));
    report.verdicts.extend(check_scaling(rows));
    report.verdicts.extend(check_costs(methods));
    report.beside = compare_with_source(rows);
    report.beside.extend(compare_arithmetic());
    report.sections = vec![rows_section(rows), replication_section(rows), methods_section(methods)];
    report
}

fn row_label(row: &CapacityRow) -> String {
    let word = if row.addresses == 1 { "return address" } else { "return addresses" };
    format!("{} {word}, {} s", row.addresses, row.closing)
}

fn check_port_limit(row: &CapacityRow) -> ClaimResult {
    let share = row.rate / row.allowed.max(1e-9);
    let near = (share - 1.0).abs() <= WITHIN;
    let because = format!(
        "{:.1} a second of {:.1} that {} ports allow ({:.1} %), as if each came back after {:.2} s; {:.1} were tried, {} found \
         no port in time",
        row.rate,
        row.allowed,
        row.ports.iter().sum::<u32>(),
        share * 100.0,
        port_reuse_seconds(row),
        row.offered,
        row.no_port
    );
    let busy = !near && row.generator_busy > BUSY;
    let tried = row.offered > row.allowed * (1.0 + WITHIN);
    let (holds, why) = match (near && tried, busy, tried) {
        (true, ..) => (Some(true), String::new()),
        (_, true, _) => {
            (None, "; the generator used up a processor: its limit, not the balancer's".to_owned())
        }
        (_, _, false) => (None, "; fewer were tried than the ports allow".to_owned()),
        _ => (Some(false), failure_text(row)),
    };
    let claim = format!(
        "Ports limit the rate as forecast, within {:.0} % ({})",
        WITHIN * 100.0,
        row_label(row)
    );
    ClaimResult::new(&claim, holds, because + &why)
}

/// The time after which a port is reused at the measured rate, seconds.
fn port_reuse_seconds(row: &CapacityRow) -> f64 {
    f64::from(row.ports.iter().sum::<u32>()) / row.rate.max(1e-9)
}

/// Whether this balancer uses as large a share of its ports as the source study's balancer did.
fn compare_port_use(rows: &[CapacityRow]) -> Vec<ClaimResult> {
    let pairs = rows.iter().enumerate().filter_map(|(at, row)| {
        let (_, _, forecast, measured) = TABLE.get(at).filter(|(n, ..)| *n == row.addresses)?;
        Some((row, measured / forecast))
    });
    let verdicts = pairs.map(|(row, theirs)| {
        let ours = row.rate / row.allowed.max(1e-9);
        let because =
            format!("{:.1} % of its ports here, {:.1} % there", ours * 100.0, theirs * 100.0);
        let claim =
            format!("As much of the ports is used as by the study's balancer ({})", row_label(row));
        let tried = row.offered > row.allowed * (1.0 + WITHIN);
        ClaimResult::new(&claim, tried.then_some(ours >= theirs), because)
    });
    verdicts.collect()
}

fn failure_text(row: &CapacityRow) -> String {
    let words: Vec<String> =
        row.failed.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
    if words.is_empty() { String::new() } else { format!("; failed: {}", words.join(", ")) }
}

/// Twice the return addresses must double the rate, and so must half the closing time.
fn check_scaling(rows: &[CapacityRow]) -> Vec<ClaimResult> {
    let mut out = Vec::new();
    let Some(base) = rows.first() else { return out };
    for row in rows.iter().skip(1) {
        let forecast = row.allowed / base.allowed.max(1e-9);
        let found = row.rate / base.rate.max(1e-9);
        let claim = format!(
            "From ({}) to ({}) the rate changes as the ports and their rest do",
            row_label(base),
            row_label(row)
        );
        let because = format!("{found:.2} times; {forecast:.2} by arithmetic");
        out.push(ClaimResult::new(
            &claim,
            (found / forecast.max(1e-9) - 1.0).abs() <= 2.0 * WITHIN,
            because,
        ));
    }
    out
}

fn check_costs(methods: &[MethodRuns]) -> Vec<ClaimResult> {
    let mut out = Vec::new();
    for pair in methods.windows(2) {
        let [cheap, dear] = pair else { continue };
        let of = |method: &MethodRuns| method.figures(|turn| turn.machine_us);
        let first = of(cheap);
        let second = of(dear);
        let comparison = compare(&first, &second, ALPHA);
        let claim = format!(
            "A connection costs less with {} than with {}",
            cheap.method.name(),
            dear.method.name()
        );
        let rate = |method: &MethodRuns| median(&method.figures(|turn| turn.rate));
        let because = format!(
            "{:.0} µs of the machine's processors a connection against {:.0} µs, p {:.3}; {:.0} against {:.0} connections a second",
            median(&first),
            median(&second),
            comparison.p,
            rate(cheap),
            rate(dear)
        );
        let failed = !(cheap.failed().is_empty() && dear.failed().is_empty());
        let unanswered = !first.iter().chain(&second).all(|micros| *micros > 0.0);
        let (holds, why) = if failed || unanswered {
            (None, "; connections failed, or none was answered".to_owned())
        } else if smallest_p(first.len(), second.len()) > ALPHA {
            (None, format!("; too few turns to tell, it takes {}", runs_needed(ALPHA)))
        } else {
            ((comparison.p <= ALPHA).then_some(comparison.shift > 0.0), String::new())
        };
        out.push(ClaimResult::new(&claim, holds, because + &why));
    }
    out
}

fn compare_with_source(rows: &[CapacityRow]) -> Vec<SourceComparison> {
    let mut out = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let theirs = TABLE.get(at).filter(|(addresses, ..)| *addresses == row.addresses);
        let rest = Duration::from_secs_f64(row.closing);
        let differs = theirs.map_or_else(
            || "no such row in the study".to_owned(),
            |(_, closing, ..)| {
                let ports: u32 = row.ports.iter().sum();
                let wanted = TRANSLATED_PORTS * row.addresses;
                let mut words = Vec::new();
                if ports != wanted {
                    words.push(format!("{ports} ports here, {wanted} there"));
                }
                if rest != Duration::from_secs(*closing) {
                    words.push(format!("a rest of {} s here, {closing} s there", row.closing));
                }
                words.join("; ")
            },
        );
        out.push(SourceComparison {
            what: format!("connections a second, {}", row_label(row)),
            unit: "1/s",
            source: theirs.map(|(.., measured)| *measured),
            forecast: Some(row.allowed),
            ours: Some(row.rate),
            differs,
        });
        out.push(SourceComparison {
            what: format!("share of the forecast, {}", row_label(row)),
            unit: "%",
            source: theirs.map(|(_, _, forecast, measured)| measured / forecast * 100.0),
            forecast: Some(100.0),
            ours: Some(row.rate / row.allowed.max(1e-9) * 100.0),
            differs: String::new(),
        });
    }
    out
}

/// The source study's arithmetic and ours. None of these figures is measured.
fn compare_arithmetic() -> Vec<SourceComparison> {
    let row = |what: &str, unit, source: f64, forecast: f64, differs: &str| SourceComparison {
        what: what.to_owned(),
        unit,
        source: Some(source),
        forecast: Some(forecast),
        ours: None,
        differs: differs.to_owned(),
    };
    let client = ports_in_range(1_024, 65_000);
    let page = ByteCount(1_024.0).rate_at(PerSecond(3_500.0)).megabits();
    vec![
        row(
            "connections a second of one client whose ports rest 60 s",
            "1/s",
            1066.3,
            sustained_rate(client, 1, Duration::ZERO, LINUX_TIME_WAIT).0,
            "the range has one port more than the study counted",
        ),
        row("3,500 answers of 1 KiB a second", "Mbit/s", 28.672, page, ""),
        row(
            "the same through a translating balancer",
            "Mbit/s",
            57.344,
            page,
            "on full duplex each direction has the link's rate for itself: nothing doubles",
        ),
        row(
            "replicating 3,500 connections a second",
            "Mbit/s",
            1.262,
            ReplicationFraming::STUDY.update_rate(PerSecond(3_500.0), 2).megabits(),
            "each connection is told of twice, when it opens and when it ends; the study's sum has it once",
        ),
    ]
}

fn rows_section(rows: &[CapacityRow]) -> ReportSection {
    let columns = [
        "return addresses",
        "closing time, s",
        "ports",
        "theoretical, 1/s",
        "tried, 1/s",
        "actual, 1/s",
        "actual of theoretical, %",
        "a port came back after, s",
        "no port in time",
        "failed by cause",
        "study: theoretical",
        "study: actual",
    ];
    let cells = rows.iter().enumerate().map(|(at, row)| -> Vec<TableCell> {
        let theirs = TABLE.get(at).filter(|(addresses, ..)| *addresses == row.addresses);
        let ports: Vec<String> = row.ports.iter().map(u32::to_string).collect();
        vec![
            f64::from(row.addresses).into(),
            row.closing.into(),
            ports.join(" + ").into(),
            row.allowed.into(),
            row.offered.into(),
            row.rate.into(),
            (row.rate / row.allowed.max(1e-9) * 100.0).into(),
            port_reuse_seconds(row).into(),
            (row.no_port as f64).into(),
            failure_text(row).trim_start_matches("; failed: ").into(),
            theirs.map(|(_, _, forecast, _)| *forecast).into(),
            theirs.map(|(.., measured)| *measured).into(),
        ]
    });
    let bars = rows.iter().flat_map(|row| {
        [("forecast", row.allowed), ("measured", row.rate)]
            .map(|(word, value)| PlotBar { name: format!("{word}, {}", row_label(row)), value })
    });
    ReportSection {
        title: "Connections a second by return addresses and closing time".to_owned(),
        text: vec!["Real connections, each with one request, closed by the client. More are tried than the ports allow.".to_owned()],
        table: Some(ReportTable { columns: columns.map(str::to_owned).into(), rows: cells.collect() }),
        plots: vec![ReportPlot {
            title: "Connections a second".to_owned(),
            unit: "1/s".to_owned(),
            drawn: PlotShape::Bars { bars: bars.collect() },
        }],
    }
}

fn replication_section(rows: &[CapacityRow]) -> ReportSection {
    let columns = [
        "connections a second",
        "packets a second",
        "one notice each, Mbit/s",
        "two notices each, Mbit/s",
    ];
    let measured = rows.iter().map(|row| row.rate);
    let cells = measured.chain([3_500.0]).map(|rate| -> Vec<TableCell> {
        let of =
            |notices| ReplicationFraming::STUDY.update_rate(PerSecond(rate), notices).megabits();
        let packets = ReplicationFraming::STUDY.pack_updates((rate * 2.0).ceil() as u64).packets;
        vec![rate.into(), (packets as f64).into(), of(1).into(), of(2).into()]
    });
    ReportSection {
        title: "What it would cost to tell a second balancer".to_owned(),
        text: vec![
            "By the study's framing: 43 bytes a notice, 26 in a packet, 54 bytes of heads. The rates are those measured above and \
             the study's own."
                .to_owned(),
        ],
        table: Some(ReportTable { columns: columns.map(str::to_owned).into(), rows: cells.collect() }),
        plots: Vec::new(),
    }
}

fn methods_section(methods: &[MethodRuns]) -> ReportSection {
    let columns = [
        "method",
        "turns",
        "connections a second",
        "half answered within, µs",
        "machine's processor time each, µs",
        "its standard deviation, %",
        "balancer's process each, µs",
        "failed",
        "by cause",
    ];
    let cells = methods.iter().map(|method| -> Vec<TableCell> {
        let of = |of: fn(&MethodRun) -> f64| TableCell::from(median(&method.figures(of)));
        let failed = method.failed();
        let causes: Vec<String> =
            failed.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
        vec![
            method.method.name().into(),
            (method.runs.len() as f64).into(),
            of(|turn| turn.rate),
            of(|turn| turn.latency_us),
            of(|turn| turn.machine_us),
            deviation_percent(&method.figures(|turn| turn.machine_us)).into(),
            of(|turn| turn.process_us),
            (failed.values().sum::<u64>() as f64).into(),
            causes.join(", ").into(),
        ]
    });
    let bars = |title: &str, unit: &str, of: fn(&MethodRun) -> f64| ReportPlot {
        title: title.to_owned(),
        unit: unit.to_owned(),
        drawn: PlotShape::Bars {
            bars: methods
                .iter()
                .map(|method| PlotBar {
                    name: method.method.name(),
                    value: median(&method.figures(of)),
                })
                .collect(),
        },
    };
    ReportSection {
        title: "Forwarding by address, translation and content".to_owned(),
        text: vec![
            "A connection with one request each, as many at a time as the parameter says; medians of the turns. The machine's \
             time holds client and server too, which are the same for all."
                .to_owned(),
        ],
        table: Some(ReportTable { columns: columns.map(str::to_owned).into(), rows: cells.collect() }),
        plots: vec![
            bars("Connections a second", "1/s", |turn| turn.rate),
            bars("Processor time of the machine for each", "µs", |turn| turn.machine_us),
        ],
    }
}

#[cfg(test)]
mod tests;
