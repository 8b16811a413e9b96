//! From what was measured to the report: Table 1 beside ours, replication, bandwidth, the cost of methods, and verdicts.
//! Pure.

use std::time::Duration;

use model::capacity::ports::{LINUX_TIME_WAIT, TRANSLATED_PORTS, of_range, sustained};
use model::capacity::quantity::{Bytes, PerSecond};
use model::capacity::replication::Framing;

use super::row::{Measured, Method, Row, Turn};
use crate::stats::rank::{compare, runs_needed, smallest_p};
use crate::stats::sample::{deviation_percent, median};
use crate::study::parameter::Parameters;
use crate::study::report::{Beside, Cell, Drawn, Plot, Report, Section, Table, Verdict};

/// Table 1 of the study: return addresses, closing time, what it forecast and what it measured.
const TABLE: [(u32, u64, f64, f64); 3] =
    [(1, 15, 4300.7, 4000.0), (1, 30, 2150.3, 1800.0), (2, 15, 8601.3, 7000.0)];
/// How far a measured rate may be from its forecast.
const WITHIN: f64 = 0.05;
/// How probable a difference of methods may be by chance that is called one.
const ALPHA: f64 = 0.1;
/// A thread of the generator that used more of a processor was the limit.
const BUSY: f64 = 0.95;

/// What the study asks.
pub const ASKS: &str = "How many connections a second does translation carry with one or two return addresses and short or long closing times?";

/// The report.
pub fn report(parameters: &Parameters, measured: &Measured) -> Report {
    let Measured { rows, methods } = measured;
    let source = "Performance study for Load Balancer, NAT forwarding (version 6.0.2): Table 1, tuning of stress tools, \
                  high availability";
    let mut report = Report::new("nat-capacity", ASKS, source, parameters);
    report.verdicts = rows.iter().map(limited).collect();
    report.verdicts.extend(as_near(rows));
    report.verdicts.extend(scales(rows));
    report.verdicts.extend(costs(methods));
    report.beside = beside(rows);
    report.beside.extend(arithmetic());
    report.sections = vec![table(rows), replication(rows), compared(methods)];
    report
}

fn about(row: &Row) -> String {
    let word = if row.addresses == 1 { "return address" } else { "return addresses" };
    format!("{} {word}, {} s", row.addresses, row.closing)
}

fn limited(row: &Row) -> Verdict {
    let share = row.rate / row.allowed.max(1e-9);
    let near = (share - 1.0).abs() <= WITHIN;
    let because = format!(
        "{:.1} a second of {:.1} that {} ports allow ({:.1} %), as if each came back after {:.2} s; {:.1} were tried, {} found \
         no port in time",
        row.rate,
        row.allowed,
        row.ports.iter().sum::<u32>(),
        share * 100.0,
        came_back(row),
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
        _ => (Some(false), failures(row)),
    };
    let claim = format!(
        "Ports limit the rate as forecast, within {:.0} % ({})",
        WITHIN * 100.0,
        about(row)
    );
    Verdict::new(&claim, holds, because + &why)
}

/// After how long a port is used again, seconds, by the rate at which they are.
fn came_back(row: &Row) -> f64 {
    f64::from(row.ports.iter().sum::<u32>()) / row.rate.max(1e-9)
}

/// Whether ours comes as near to its ports as the study's did to those it had.
fn as_near(rows: &[Row]) -> Vec<Verdict> {
    let pairs = rows.iter().enumerate().filter_map(|(at, row)| {
        let (_, _, forecast, measured) = TABLE.get(at).filter(|(n, ..)| *n == row.addresses)?;
        Some((row, measured / forecast))
    });
    let verdicts = pairs.map(|(row, theirs)| {
        let ours = row.rate / row.allowed.max(1e-9);
        let because =
            format!("{:.1} % of its ports here, {:.1} % there", ours * 100.0, theirs * 100.0);
        let claim =
            format!("As much of the ports is used as by the study's balancer ({})", about(row));
        let tried = row.offered > row.allowed * (1.0 + WITHIN);
        Verdict::new(&claim, tried.then_some(ours >= theirs), because)
    });
    verdicts.collect()
}

fn failures(row: &Row) -> String {
    let words: Vec<String> =
        row.failed.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
    if words.is_empty() { String::new() } else { format!("; failed: {}", words.join(", ")) }
}

/// Twice the return addresses carry twice as much, half the closing time too.
fn scales(rows: &[Row]) -> Vec<Verdict> {
    let mut out = Vec::new();
    let Some(base) = rows.first() else { return out };
    for row in rows.iter().skip(1) {
        let (forecast, found) =
            (row.allowed / base.allowed.max(1e-9), row.rate / base.rate.max(1e-9));
        let claim = format!(
            "From ({}) to ({}) the rate changes as the ports and their rest do",
            about(base),
            about(row)
        );
        let because = format!("{found:.2} times; {forecast:.2} by arithmetic");
        out.push(Verdict::new(
            &claim,
            (found / forecast.max(1e-9) - 1.0).abs() <= 2.0 * WITHIN,
            because,
        ));
    }
    out
}

fn costs(methods: &[Method]) -> Vec<Verdict> {
    let mut out = Vec::new();
    for pair in methods.windows(2) {
        let [cheap, dear] = pair else { continue };
        let of = |method: &Method| method.each(|turn| turn.machine_us);
        let (first, second) = (of(cheap), of(dear));
        let told = compare(&first, &second, ALPHA);
        let claim = format!(
            "A connection costs less with {} than with {}",
            cheap.way.name(),
            dear.way.name()
        );
        let rate = |method: &Method| median(&method.each(|turn| turn.rate));
        let because = format!(
            "{:.0} µs of the machine's processors a connection against {:.0} µs, p {:.3}; {:.0} against {:.0} connections a second",
            median(&first),
            median(&second),
            told.p,
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
            ((told.p <= ALPHA).then_some(told.shift > 0.0), String::new())
        };
        out.push(Verdict::new(&claim, holds, because + &why));
    }
    out
}

fn beside(rows: &[Row]) -> Vec<Beside> {
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
        out.push(Beside {
            what: format!("connections a second, {}", about(row)),
            unit: "1/s",
            source: theirs.map(|(.., measured)| *measured),
            forecast: Some(row.allowed),
            ours: Some(row.rate),
            differs,
        });
        out.push(Beside {
            what: format!("share of the forecast, {}", about(row)),
            unit: "%",
            source: theirs.map(|(_, _, forecast, measured)| measured / forecast * 100.0),
            forecast: Some(100.0),
            ours: Some(row.rate / row.allowed.max(1e-9) * 100.0),
            differs: String::new(),
        });
    }
    out
}

/// The study's arithmetic, with ours: nothing of it is measured.
fn arithmetic() -> Vec<Beside> {
    let row = |what: &str, unit, source: f64, forecast: f64, differs: &str| Beside {
        what: what.to_owned(),
        unit,
        source: Some(source),
        forecast: Some(forecast),
        ours: None,
        differs: differs.to_owned(),
    };
    let client = of_range(1_024, 65_000);
    let page = Bytes(1_024.0).at(PerSecond(3_500.0)).megabits();
    vec![
        row(
            "connections a second of one client whose ports rest 60 s",
            "1/s",
            1066.3,
            sustained(client, 1, Duration::ZERO, LINUX_TIME_WAIT).0,
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
            Framing::STUDY.rate(PerSecond(3_500.0), 2).megabits(),
            "each connection is told of twice, when it opens and when it ends; the study's sum has it once",
        ),
    ]
}

fn table(rows: &[Row]) -> Section {
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
    let cells = rows.iter().enumerate().map(|(at, row)| -> Vec<Cell> {
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
            came_back(row).into(),
            (row.no_port as f64).into(),
            failures(row).trim_start_matches("; failed: ").into(),
            theirs.map(|(_, _, forecast, _)| *forecast).into(),
            theirs.map(|(.., measured)| *measured).into(),
        ]
    });
    let bars = rows.iter().flat_map(|row| {
        [
            (format!("forecast, {}", about(row)), row.allowed),
            (format!("measured, {}", about(row)), row.rate),
        ]
    });
    Section {
        title: "Connections a second by return addresses and closing time".to_owned(),
        text: vec!["Real connections, each with one request, closed by the client. More are tried than the ports allow.".to_owned()],
        table: Some(Table { columns: columns.map(str::to_owned).into(), rows: cells.collect() }),
        plots: vec![Plot {
            title: "Connections a second".to_owned(),
            unit: "1/s".to_owned(),
            drawn: Drawn::Bars { bars: bars.collect() },
        }],
    }
}

fn replication(rows: &[Row]) -> Section {
    let columns = [
        "connections a second",
        "packets a second",
        "one notice each, Mbit/s",
        "two notices each, Mbit/s",
    ];
    let measured = rows.iter().map(|row| row.rate);
    let cells = measured.chain([3_500.0]).map(|rate| -> Vec<Cell> {
        let of = |notices| Framing::STUDY.rate(PerSecond(rate), notices).megabits();
        let packets = Framing::STUDY.packed((rate * 2.0).ceil() as u64).0;
        vec![rate.into(), (packets as f64).into(), of(1).into(), of(2).into()]
    });
    Section {
        title: "What it would cost to tell a second balancer".to_owned(),
        text: vec![
            "By the study's framing: 43 bytes a notice, 26 in a packet, 54 bytes of heads. The rates are those measured above and \
             the study's own."
                .to_owned(),
        ],
        table: Some(Table { columns: columns.map(str::to_owned).into(), rows: cells.collect() }),
        plots: Vec::new(),
    }
}

fn compared(methods: &[Method]) -> Section {
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
    let cells = methods.iter().map(|method| -> Vec<Cell> {
        let of = |of: fn(&Turn) -> f64| Cell::from(median(&method.each(of)));
        let failed = method.failed();
        let causes: Vec<String> =
            failed.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
        vec![
            method.way.name().into(),
            (method.turns.len() as f64).into(),
            of(|turn| turn.rate),
            of(|turn| turn.latency_us),
            of(|turn| turn.machine_us),
            deviation_percent(&method.each(|turn| turn.machine_us)).into(),
            of(|turn| turn.process_us),
            (failed.values().sum::<u64>() as f64).into(),
            causes.join(", ").into(),
        ]
    });
    let bars = |title: &str, unit: &str, of: fn(&Turn) -> f64| Plot {
        title: title.to_owned(),
        unit: unit.to_owned(),
        drawn: Drawn::Bars {
            bars: methods
                .iter()
                .map(|method| (method.way.name(), median(&method.each(of))))
                .collect(),
        },
    };
    Section {
        title: "Forwarding by address, translation and content".to_owned(),
        text: vec![
            "A connection with one request each, as many at a time as the parameter says; medians of the turns. The machine's \
             time holds client and server too, which are the same for all."
                .to_owned(),
        ],
        table: Some(Table { columns: columns.map(str::to_owned).into(), rows: cells.collect() }),
        plots: vec![
            bars("Connections a second", "1/s", |turn| turn.rate),
            bars("Processor time of the machine for each", "µs", |turn| turn.machine_us),
        ],
    }
}

#[cfg(test)]
mod tests;
