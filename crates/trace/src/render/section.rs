//! One connection on the page: its findings, its plots over time, its packets, and a table of its transactions.

use std::fmt::Write;

use super::axis;
use super::bounce::{self, BounceDiagram};
use super::finding_card;
use super::plot::{self, PlotSpan, TracePlot, WIDTH};
use super::svg::escaped;
use crate::event::ConnectionSide;
use crate::report::{BottleneckFinding, ConnectionReport, TraceReport, TransactionReport};
use crate::scene::ConnectionScene;
use crate::sentence::format_span;

/// Width of the bounce diagram.
pub const BOUNCE: f64 = 1_020.0;
/// Transactions in the table.
/// Bounds the elements of the page.
const MAX_ROWS: usize = 500;
/// What the colours and lines of the plots mean.
const LEGEND: &str = "<p class=\"legend\"><i class=\"client\"></i>client <i class=\"network\"></i>network <i class=\"server\"></i>server: who sent, or whose time it was · <i class=\"flight\"></i>bytes on their way <i class=\"window\"></i>receive window, dashed where its scale is unknown <i class=\"repair\"></i>sent again</p>\n";

pub fn plots(scene: &ConnectionScene) -> Vec<TracePlot> {
    let time = PlotSpan::from_scene(scene);
    let mut plots = Vec::new();
    for side in [ConnectionSide::Server, ConnectionSide::Client] {
        for log in [false, true] {
            plots.extend(plot::plot_in_flight(scene, time, side, log));
        }
    }
    plots.push(plot::plot_throughput(scene, time));
    plots.push(plot::plot_round_trips(scene, time));
    plots
}

/// Writes a connection of a report, and returns the diagram of its packets.
pub fn write_section(
    page: &mut String,
    scene: &ConnectionScene,
    report: &TraceReport,
    plots: &[TracePlot],
) -> BounceDiagram {
    let one = report.connections.iter().find(|connection| connection.number == scene.number);
    let verdict = one.map_or(&report.verdict, |connection| &connection.verdict);
    let findings: Vec<BottleneckFinding> =
        verdict.most_significant.iter().chain(&verdict.next).cloned().collect();
    let ends = scene.conversation.ends;
    let end =
        |at: usize| format!("{} port {}", crate::address::ip(ends[at].address), ends[at].port);
    // Writing to a `String` cannot fail, here and below.
    let _ = writeln!(
        page,
        "<section id=\"connection-{0}\">\n<h2>Connection {0} <small>{1} to {2} · round trip {3}</small></h2>",
        scene.number,
        escaped(&end(0)),
        escaped(&end(1)),
        format_span(scene.attribution.path.round_trip_ns()),
    );
    finding_card::write_verdict(page, verdict, Some(scene.number));
    page.push_str("<h2>Over time <button class=\"log\">logarithmic</button> <small>wheel zooms, dragging moves, a double click shows all</small></h2>\n");
    page.push_str(LEGEND);
    for plot in plots {
        let scaled = plot.name.starts_with("flight");
        let hidden = if plot.name.ends_with("-log") { " hidden" } else { "" };
        let class = if scaled { format!("plot scaled{hidden}") } else { "plot".to_owned() };
        let _ = writeln!(
            page,
            "<div class=\"{class}\">{}<small>{}</small></div>",
            svg(plot),
            escaped(&plot.title)
        );
    }
    let diagram = bounce::draw_bounce_diagram(scene, &findings);
    let BounceDiagram { inner: bounce, height } = &diagram;
    page.push_str("<h2>Packet by packet <button class=\"larger\">larger</button> <button class=\"smaller\">smaller</button></h2>\n");
    page.push_str("<p class=\"quiet\">An arrow is a packet: grey without payload, yellow less than a segment, blue a whole one, red sent again; thick where a finding shows. Long silences are compressed.</p>\n");
    let _ = writeln!(
        page,
        "<div class=\"scroll\"><svg class=\"bounce\" viewBox=\"0 0 {BOUNCE:.0} {height:.0}\" width=\"{BOUNCE:.0}\" height=\"{height:.0}\">\n{bounce}</svg></div>"
    );
    if let Some(connection) = one {
        write_table(page, connection);
    }
    let time = PlotSpan::from_scene(scene);
    let from = time.first_seconds();
    let to = time.last_seconds();
    let _ = writeln!(
        page,
        "<script type=\"application/json\" class=\"span\">[{from},{to}]</script>\n</section>"
    );
    diagram
}

fn svg(plot: &TracePlot) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {:.0}\" width=\"100%\">\n{}</svg>", plot.height, plot.inner)
}

fn write_table(page: &mut String, connection: &ConnectionReport) {
    if connection.transactions.is_empty() {
        return;
    }
    page.push_str("<h2>Transactions</h2>\n<table><thead><tr>");
    for name in ["start", "total", "request", "server", "response", "latency", "bytes", "what"] {
        let _ = write!(page, "<th>{name}</th>");
    }
    page.push_str("</tr></thead><tbody>\n");
    for transaction in connection.transactions.iter().take(MAX_ROWS) {
        write_row(page, transaction);
    }
    page.push_str("</tbody></table>\n");
    let hidden = connection.transactions_total - connection.transactions.len().min(MAX_ROWS) as u64;
    if hidden > 0 {
        let _ = writeln!(page, "<p class=\"quiet\">{hidden} more are not shown.</p>");
    }
}

fn write_row(page: &mut String, of: &TransactionReport) {
    let response = of.response.as_ref();
    let seconds = [
        of.start_seconds,
        of.total_seconds,
        of.request.seconds,
        of.server_seconds,
        response.map_or(0.0, |phase| phase.seconds),
        of.latency_seconds + of.setup_seconds,
    ];
    page.push_str("<tr>");
    for value in seconds {
        let _ = write!(page, "<td data-value=\"{value}\">{}</td>", axis::format_seconds(value));
    }
    let bytes = response.map_or(0, |phase| phase.bytes);
    let status = of.status.map_or_else(String::new, |status| format!(" → {status}"));
    let title = of.title.as_deref().unwrap_or(of.kind);
    let _ = writeln!(
        page,
        "<td data-value=\"{bytes}\">{}</td><td>{}{status}</td></tr>",
        axis::format_bytes(bytes as f64),
        escaped(title)
    );
}
