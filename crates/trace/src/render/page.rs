//! The page: findings as text, the diagrams of one connection, and a table of its transactions. It needs no network:
//! style, script and drawings are inline.

use std::fmt::Write;

use super::axis;
use super::bounce::{self, BounceDiagram};
use super::connection_list;
use super::plot::{self, PlotSpan, TracePlot, WIDTH};
use super::svg::{Svg, escaped};
use crate::event::ConnectionSide;
use crate::report::{
    BottleneckFinding, ConnectionReport, FailureFinding, TimeDiagnosis, TraceReport,
    TransactionReport,
};
use crate::scene::ConnectionScene;
use crate::sentence::format_span;

/// A drawing of the page as a document of its own.
#[derive(Debug)]
pub struct NamedDrawing {
    /// What it shows, as the name of a file without its ending.
    pub name: &'static str,
    pub svg: String,
}

/// A page, and its drawings separately.
#[derive(Debug)]
pub struct RenderedPage {
    pub page: String,
    pub drawings: Vec<NamedDrawing>,
}

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Width of the bounce diagram.
const BOUNCE: f64 = 1_020.0;
/// Transactions in the table.
/// Bounds the elements of the page.
const MAX_ROWS: usize = 500;

/// The style and the script of each page, byte for byte: a server can name their digests in a content security policy.
pub fn inline_assets() -> [String; 2] {
    [STYLE, SCRIPT].map(|text| format!("\n{text}"))
}

/// Draws a connection of a report.
pub fn draw_connection(scene: &ConnectionScene, report: &TraceReport) -> RenderedPage {
    let one = report.connections.iter().find(|connection| connection.number == scene.number);
    let verdict = one.map_or(&report.verdict, |connection| &connection.verdict);
    let findings: Vec<BottleneckFinding> =
        verdict.most_significant.iter().chain(&verdict.next).cloned().collect();
    let time = PlotSpan::from_scene(scene);
    let plots = plots(scene, time);
    let diagram = bounce::draw_bounce_diagram(scene, &findings);
    let BounceDiagram { inner: bounce, height } = &diagram;
    let mut page = String::with_capacity(bounce.len() * 2);
    write_head(&mut page, scene, report, verdict);
    for failure in &verdict.failures {
        write_failure(&mut page, failure);
    }
    for (rank, finding) in findings.iter().enumerate() {
        write_finding(&mut page, rank, finding);
    }
    page.push_str("<h2>Over time <button id=\"log\">logarithmic</button> <small>wheel zooms, dragging moves, a double click shows all</small></h2>\n");
    for plot in &plots {
        let scaled = plot.name.starts_with("flight");
        let hidden = if plot.name.ends_with("-log") { " hidden" } else { "" };
        let class = if scaled { format!("plot scaled{hidden}") } else { "plot".to_owned() };
        // Writing to a `String` cannot fail, here and below.
        let _ = writeln!(
            page,
            "<div class=\"{class}\">{}<small>{}</small></div>",
            svg(plot),
            escaped(&plot.title)
        );
    }
    page.push_str("<h2>Packet by packet <button id=\"larger\">larger</button> <button id=\"smaller\">smaller</button></h2>\n");
    page.push_str("<p class=\"quiet\">An arrow is a packet: grey without payload, yellow less than a segment, blue a whole one, red sent again; thick where a finding shows. Long silences are compressed.</p>\n");
    let _ = writeln!(
        page,
        "<div class=\"scroll\" id=\"bounce-box\"><svg id=\"bounce\" viewBox=\"0 0 {BOUNCE:.0} {height:.0}\" width=\"{BOUNCE:.0}\" height=\"{height:.0}\">\n{bounce}</svg></div>"
    );
    if let Some(connection) = one {
        write_table(&mut page, connection);
    }
    connection_list::write_connections(&mut page, report);
    connection_list::write_quic(&mut page, report);
    let from = time.first_seconds();
    let to = time.last_seconds();
    let [_, script] = inline_assets();
    let _ = writeln!(
        page,
        "<script type=\"application/json\" id=\"span\">[{from},{to}]</script>\n<script>{script}</script>\n</body></html>"
    );
    RenderedPage { page, drawings: drawings(&plots, &diagram) }
}

fn plots(scene: &ConnectionScene, time: PlotSpan) -> Vec<TracePlot> {
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

fn svg(plot: &TracePlot) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {:.0}\" width=\"100%\">\n{}</svg>", plot.height, plot.inner)
}

fn drawings(plots: &[TracePlot], bounce: &BounceDiagram) -> Vec<NamedDrawing> {
    let styled = |name: &'static str, inner: &str, width: f64, height: f64| {
        let mut svg = Svg::default();
        svg.raw(&format!("<style>{STYLE}</style>"));
        svg.raw(inner);
        NamedDrawing { name, svg: svg.framed(name, width, height) }
    };
    let plots = plots.iter().map(|plot| styled(plot.name, &plot.inner, WIDTH, plot.height));
    plots.chain([styled("bounce", &bounce.inner, BOUNCE, bounce.height)]).collect()
}

fn write_head(
    page: &mut String,
    scene: &ConnectionScene,
    report: &TraceReport,
    verdict: &TimeDiagnosis,
) {
    let ends = scene.conversation.ends;
    let end =
        |at: usize| format!("{} port {}", crate::address::ip(ends[at].address), ends[at].port);
    let title = escaped(&report.files.join(", "));
    let [style, _] = inline_assets();
    let _ = writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>{style}</style></head><body>\n\
         <h1>Whose time was it?</h1>\n<p class=\"quiet\">{title} · connection {} of {} · {} to {} · round trip {}</p>",
        scene.number,
        report.connections_total,
        escaped(&end(0)),
        escaped(&end(1)),
        format_span(scene.attribution.path.round_trip_ns()),
    );
    if let Some(damage) = &report.capture.damage {
        let _ =
            writeln!(page, "<p>Damaged: {}. What came before was analysed.</p>", escaped(damage));
    }
    let owners = &verdict.owners;
    let all = [
        ("client", owners.client),
        ("network", owners.network),
        ("server", owners.server),
        ("balancer", owners.balancer),
        ("unknown", owners.unknown),
    ];
    page.push_str("<div class=\"bar\">");
    for (name, seconds) in all.iter().filter(|(_, seconds)| *seconds > 0.0) {
        let share = seconds / verdict.total_seconds.max(1e-12) * 100.0;
        let _ = write!(
            page,
            "<span class=\"{name}\" data-share=\"{share:.2}\" title=\"{name} {share:.1} %\">{name} {share:.0} %</span>"
        );
    }
    let total = axis::format_seconds(verdict.total_seconds);
    let _ = writeln!(page, "</div>\n<p>Users waited {total} on this connection.</p>");
    if verdict.most_significant.is_none() && verdict.failures.is_empty() {
        page.push_str("<p>Nothing stands out: no part of this is worth changing.</p>\n");
    }
}

fn write_failure(page: &mut String, failure: &FailureFinding) {
    let _ = writeln!(
        page,
        "<div class=\"failure\" id=\"{0}\"><b>Failed: {1}</b> <small>{2} · cause: {3}</small><p>{4}</p><p>{5}.</p>{6}</div>",
        failure.code.name(),
        failure.code.title(),
        failure.code.name(),
        failure.owner.name(),
        escaped(&failure.sentence),
        escaped(&failure.check),
        evidence_links(failure.code.name(), &failure.evidence.filter),
    );
}

fn write_finding(page: &mut String, rank: usize, finding: &BottleneckFinding) {
    let name = match rank {
        0 => "Most significant",
        1 => "Next",
        _ => "After it",
    };
    let id = format!("{}-{}", finding.code.code(), finding.phase);
    let more = [finding.hint.as_deref(), finding.alternative.as_deref()];
    let more: String =
        more.iter().flatten().map(|text| format!("<p>{}</p>", escaped(text))).collect();
    let _ = writeln!(
        page,
        "<div class=\"finding {}\" id=\"{id}\" data-rank=\"{rank}\" data-start=\"{}\" data-length=\"{}\"><b>{name}: {}</b> <small>{} · {}'s time</small><p>{}</p>{more}<p>{}</p>{}</div>",
        finding.owner.name(),
        finding.evidence.start_seconds,
        finding.evidence.longest_seconds,
        finding.code.title(),
        finding.code.code(),
        finding.owner.name(),
        escaped(&finding.sentence),
        escaped(&finding.fix),
        evidence_links(&id, &finding.evidence.filter),
    );
}

/// The filter for Wireshark, and a link to this place of the page that can be passed on.
fn evidence_links(id: &str, filter: &str) -> String {
    format!(
        "<p><small>Wireshark: <code>{}</code> · <a href=\"#{id}\">link to this</a></small></p>",
        escaped(filter)
    )
}

fn write_table(page: &mut String, connection: &ConnectionReport) {
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
