//! Turns the measurements into the report: the throughput of each layout with each policy, and conclusions. Pure.

use std::time::Duration;

use model::capacity::path::{bandwidth_delay_product, overtaking_packets, window_limited_rate};
use model::capacity::quantity::{BitRate, ByteCount};
use model::config::unit::{ByteSize, rounded_rate};

use super::stream_cell::{LinkLayout, SpreadPolicy, StreamCell};
use crate::stats::sample::median;
use crate::stream::request::StreamTransport;
use crate::study::parameter::Parameters;
use crate::study::report::{
    ClaimResult, PlotBar, PlotShape, ReportPlot, ReportSection, ReportTable, SourceComparison,
    StudyReport, TableCell as Place,
};

/// The best throughput of a transport with a layout and a policy, over buffers and messages, Mbit/s.
fn best_throughput(
    cells: &[StreamCell],
    layout: LinkLayout,
    policy: SpreadPolicy,
    carrier: StreamTransport,
) -> Option<f64> {
    let of = cells
        .iter()
        .filter(|cell| (cell.layout, cell.policy, cell.carrier) == (layout, policy, carrier));
    of.map(|cell| cell.mbit).reduce(f64::max)
}

pub const QUESTION: &str =
    "What does one stream get of two links together, when they are alike and when one is longer?";

pub fn build_report(parameters: &Parameters, cells: &[StreamCell]) -> StudyReport {
    let source = "Network Load Balancing (D1.2, 2010): netperf over one and two links of 10 Gbit/s, one of them 17 ms longer";
    let mut report = StudyReport::new("two-links", QUESTION, source, parameters);
    report.verdicts = check_claims(parameters, cells);
    report.beside = compare_with_source(parameters, cells);
    report.sections = vec![
        policies_section(cells),
        figures_section(cells),
        arithmetic_section(parameters, cells),
    ];
    report
}

fn check_claims(parameters: &Parameters, cells: &[StreamCell]) -> Vec<ClaimResult> {
    let tcp = |layout, policy| best_throughput(cells, layout, policy, StreamTransport::Tcp);
    let one = tcp(LinkLayout::SingleLink, SpreadPolicy::SingleLink);
    let mut out = Vec::new();
    let mut claim = |text: &str, of: Option<f64>, fits: fn(f64) -> bool| {
        let (holds, because) = match (of, one) {
            (Some(of), Some(one)) => {
                let times = of / one.max(1e-9);
                (
                    Some(fits(times)),
                    format!(
                        "{of:.1} Mbit/s, {times:.2} times what one link gave ({one:.1} Mbit/s)"
                    ),
                )
            }
            _ => (None, "not measured".to_owned()),
        };
        out.push(ClaimResult::new(text, holds, because));
    };
    claim(
        "Round robin over two equal links gives one stream more than one link",
        tcp(LinkLayout::Equal, SpreadPolicy::Equalised),
        |t| t > 1.4,
    );
    claim(
        "A longer second link ruins a stream of TCP by round robin",
        tcp(LinkLayout::Unequal, SpreadPolicy::Naive),
        |t| t < 1.0,
    );
    claim(
        "Packets of the shorter link that are held mend it",
        tcp(LinkLayout::Unequal, SpreadPolicy::Equalised),
        |t| t > 1.2,
    );
    for policy in [SpreadPolicy::Failover, SpreadPolicy::Hash, SpreadPolicy::Flowlet] {
        let text = format!(
            "With {} one stream keeps to one link: it neither gains nor loses",
            policy.name()
        );
        let worst = [LinkLayout::Equal, LinkLayout::Unequal]
            .into_iter()
            .filter_map(|layout| tcp(layout, policy));
        claim(&text, worst.reduce(f64::min), |t| (0.7..1.3).contains(&t));
    }
    out.push(check_starved_buffer(parameters, cells));
    out
}

/// With a buffer below the bandwidth-delay product, TCP carries at most one buffer each round trip.
fn check_starved_buffer(parameters: &Parameters, cells: &[StreamCell]) -> ClaimResult {
    let (trip, needs) = bandwidth_delay(parameters);
    let far = cells
        .iter()
        .filter(|cell| cell.layout == LinkLayout::LongLink && cell.carrier == StreamTransport::Tcp);
    let small =
        far.clone().filter(|cell| cell.buffer.is_some_and(|bytes| f64::from(bytes) < needs / 2.0));
    let small = small.min_by(|a, b| a.kernel_buffer.cmp(&b.kernel_buffer));
    let best = far.map(|cell| cell.mbit).reduce(f64::max);
    let claim = "On the long link a small socket buffer holds TCP below the link's rate";
    let (Some(small), Some(best)) = (small, best) else {
        return ClaimResult::new(claim, None, "no buffer was below the path's product".to_owned());
    };
    let most = window_limited_rate(ByteCount(small.kernel_buffer as f64), trip).megabits();
    let because = format!(
        "{:.1} Mbit/s with {}, {best:.1} Mbit/s at best; the kernel's {} B a round trip of {:.1} ms would be {most:.1} Mbit/s at \
         most, and the path holds {needs:.0} B",
        small.mbit,
        ByteSize(u64::from(small.buffer.unwrap_or(0))),
        small.kernel_buffer,
        trip.as_secs_f64() * 1e3
    );
    ClaimResult::new(claim, small.mbit < best * 0.8 && small.mbit <= most * 1.1, because)
}

/// Round trip of the long link, and its bandwidth-delay product.
fn bandwidth_delay(parameters: &Parameters) -> (Duration, f64) {
    let trip = parameters.time("delay") * 2 + parameters.time("longer");
    (trip, bandwidth_delay_product(BitRate(parameters.rate("rate") as f64), trip).0)
}

/// Compares shares of one link's rate in per cent, so that links of any rate are comparable.
fn compare_with_source(parameters: &Parameters, cells: &[StreamCell]) -> Vec<SourceComparison> {
    let rate = parameters.rate("rate") as f64 / 1e6;
    let share = |layout, policy, carrier| {
        best_throughput(cells, layout, policy, carrier).map(|mbit| mbit / rate * 100.0)
    };
    let row = |what: &str, source: f64, ours, differs: String| SourceComparison {
        what: what.to_owned(),
        unit: "% of a link",
        source: Some(source),
        forecast: None,
        ours,
        differs,
    };
    let heads = "heads take a part of each packet: 1,448 of 1,514 bytes here, 8,948 of 9,014 there"
        .to_owned();
    let skew = parameters.time("longer") / 2;
    let by = overtaking_packets(BitRate(parameters.rate("rate") as f64), skew, ByteCount(1_514.0));
    let theirs =
        overtaking_packets(BitRate(10e9), Duration::from_micros(8_500), ByteCount(9_014.0));
    vec![
        row(
            "TCP, one link",
            100.0,
            share(LinkLayout::SingleLink, SpreadPolicy::SingleLink, StreamTransport::Tcp),
            heads,
        ),
        row(
            "UDP, one link",
            100.0,
            share(LinkLayout::SingleLink, SpreadPolicy::SingleLink, StreamTransport::Udp),
            String::new(),
        ),
        row(
            "TCP, one long link",
            100.0,
            share(LinkLayout::LongLink, SpreadPolicy::SingleLink, StreamTransport::Tcp),
            String::new(),
        ),
        row(
            "TCP, two equal links, round robin",
            90.0,
            share(LinkLayout::Equal, SpreadPolicy::Naive, StreamTransport::Tcp),
            format!(
                "the study's hosts could not take more; {} a link here",
                rounded_rate(parameters.rate("rate"))
            ),
        ),
        row(
            "UDP, two equal links, round robin",
            125.0,
            share(LinkLayout::Equal, SpreadPolicy::Naive, StreamTransport::Udp),
            "the study's receiver collapsed beyond that".to_owned(),
        ),
        row(
            "TCP, two unequal links, round robin",
            10.0,
            share(LinkLayout::Unequal, SpreadPolicy::Naive, StreamTransport::Tcp),
            format!("{by} packets overtake one on the long link here, {theirs} there"),
        ),
        SourceComparison {
            source: None,
            ..row(
                "TCP, two unequal links, equalised",
                0.0,
                share(LinkLayout::Unequal, SpreadPolicy::Equalised, StreamTransport::Tcp),
                "the study had no such policy".to_owned(),
            )
        },
    ]
}

fn policies_section(cells: &[StreamCell]) -> ReportSection {
    let mut pairs: Vec<(LinkLayout, SpreadPolicy)> = Vec::new();
    for cell in cells {
        if !pairs.contains(&(cell.layout, cell.policy)) {
            pairs.push((cell.layout, cell.policy));
        }
    }
    let bars = |carrier| {
        let of = pairs.iter().filter_map(|(layout, policy)| {
            let name = format!("{}, {}", layout.name(), policy.name());
            let mbit = best_throughput(cells, *layout, *policy, carrier)?;
            Some(PlotBar { name, value: mbit * 1e6 })
        });
        PlotShape::Bars { bars: of.collect() }
    };
    let plot = |title: &str, carrier| ReportPlot {
        title: title.to_owned(),
        unit: "bit/s".to_owned(),
        drawn: bars(carrier),
    };
    ReportSection {
        title: "One stream, the best over buffers and messages".to_owned(),
        plots: vec![plot("TCP", StreamTransport::Tcp), plot("UDP, received", StreamTransport::Udp)],
        ..ReportSection::default()
    }
}

fn figures_section(cells: &[StreamCell]) -> ReportSection {
    let columns = [
        "links",
        "policy",
        "carrier",
        "buffer asked",
        "kernel's buffer, B",
        "message, B",
        "received, Mbit/s",
        "sent, Mbit/s",
        "lost, %",
        "late datagrams",
    ];
    let rows = cells.iter().map(|cell| -> Vec<Place> {
        let buffer = cell
            .buffer
            .map_or_else(|| "auto".to_owned(), |bytes| ByteSize(bytes.into()).to_string());
        let datagrams = cell.carrier == StreamTransport::Udp;
        vec![
            cell.layout.name().into(),
            cell.policy.name().into(),
            if datagrams { "UDP" } else { "TCP" }.into(),
            buffer.into(),
            (cell.kernel_buffer as f64).into(),
            f64::from(cell.message).into(),
            cell.mbit.into(),
            cell.sent.into(),
            datagrams.then_some(cell.loss).into(),
            datagrams.then_some(cell.reordered as f64).into(),
        ]
    });
    ReportSection {
        title: "Every run".to_owned(),
        text: vec![
            "Datagrams are sent at 98 % of the rate of the links that a stream can use, as a network card would take them.".to_owned(),
        ],
        table: Some(ReportTable { columns: columns.map(str::to_owned).into(), rows: rows.collect() }),
        ..ReportSection::default()
    }
}

fn arithmetic_section(parameters: &Parameters, cells: &[StreamCell]) -> ReportSection {
    let (trip, needs) = bandwidth_delay(parameters);
    let tcp: Vec<f64> = cells
        .iter()
        .filter(|cell| cell.carrier == StreamTransport::Tcp)
        .map(|cell| cell.mbit)
        .collect();
    // The source calculates with 34 ms, although 17 ms was its round trip already.
    let theirs = bandwidth_delay_product(BitRate(20e9), Duration::from_millis(34)).0;
    let right = bandwidth_delay_product(BitRate(20e9), Duration::from_millis(17)).0;
    ReportSection {
        title: "What the paths hold".to_owned(),
        text: vec![
            format!(
                "The long link has a round trip of {:.1} ms and holds {needs:.0} bytes; TCP needs as much in its buffers to fill it.",
                trip.as_secs_f64() * 1e3
            ),
            format!(
                "The study reckoned with {:.0} MB for 20 Gbit/s and 34 ms; 17 ms was the round trip already, which makes it {:.1} MB.",
                theirs / 1e6,
                right / 1e6
            ),
            format!("The median over all runs of TCP here: {:.1} Mbit/s.", median(&tcp)),
        ],
        ..ReportSection::default()
    }
}

#[cfg(test)]
mod tests;
