//! The page: what all connections waited for, the list of them, and the drawings of those that failed or waited longest.
//! It needs no network: style, script and drawings are inline.

use std::fmt::Write;

use super::bounce::BounceDiagram;
use super::connection_list;
use super::finding_card;
use super::plot::{TracePlot, WIDTH};
use super::section::{self, BOUNCE};
use super::svg::{Svg, escaped};
use crate::report::TraceReport;
use crate::scene::ConnectionScene;

/// A drawing of the page as a document of its own.
#[derive(Debug)]
pub struct NamedDrawing {
    /// What it shows, as the name of a file without its ending.
    pub name: &'static str,
    pub svg: String,
}

/// A page, and the drawings of its first connection separately.
#[derive(Debug)]
pub struct RenderedPage {
    pub page: String,
    pub drawings: Vec<NamedDrawing>,
}

/// Connections that a page draws: bounds its size to some megabytes.
const MAX_DRAWN: usize = 16;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The style and the script of each page, byte for byte: a server can name their digests in a content security policy.
pub fn inline_assets() -> [String; 2] {
    [STYLE, SCRIPT].map(|text| format!("\n{text}"))
}

/// The connections that a page draws beside this one: those that findings name, and those that failed or waited longest.
pub fn further_connections(report: &TraceReport, number: u32) -> Vec<u32> {
    let verdict = &report.verdict;
    let failed = verdict.failures.iter().map(|failure| failure.evidence.connection);
    let slow = verdict.most_significant.iter().chain(&verdict.next);
    let named = failed.chain(slow.map(|finding| finding.evidence.connection));
    let ranked = connection_list::rank_connections(report).into_iter().map(|one| one.number);
    let mut drawn = vec![number];
    for one in named.chain(ranked) {
        if drawn.len() < MAX_DRAWN && !drawn.contains(&one) {
            drawn.push(one);
        }
    }
    drawn.split_off(1)
}

/// Draws a connection of a report.
pub fn draw_connection(scene: &ConnectionScene, report: &TraceReport) -> RenderedPage {
    draw_connections(std::slice::from_ref(scene), report)
}

/// Draws connections of a report, of which the first is shown until another one is chosen.
pub fn draw_connections(scenes: &[ConnectionScene], report: &TraceReport) -> RenderedPage {
    let mut page = String::new();
    write_head(&mut page, report);
    if report.connections_total > 1 {
        write_whole(&mut page, report);
        let drawn: Vec<u32> = scenes.iter().map(|scene| scene.number).collect();
        connection_list::write_connections(&mut page, report, &drawn);
        connection_list::write_quic(&mut page, report);
    }
    let mut drawings = Vec::new();
    for (at, scene) in scenes.iter().enumerate() {
        let plots = section::plots(scene);
        let diagram = section::write_section(&mut page, scene, report, &plots);
        if at == 0 {
            drawings = name_drawings(&plots, &diagram);
        }
    }
    if report.connections_total <= 1 {
        connection_list::write_connections(&mut page, report, &[]);
        connection_list::write_quic(&mut page, report);
    }
    let [_, script] = inline_assets();
    // Writing to a `String` cannot fail, here and below.
    let _ = writeln!(page, "<script>{script}</script>\n</body></html>");
    RenderedPage { page, drawings }
}

fn name_drawings(plots: &[TracePlot], bounce: &BounceDiagram) -> Vec<NamedDrawing> {
    let styled = |name: &'static str, inner: &str, width: f64, height: f64| {
        let mut svg = Svg::default();
        svg.raw(&format!("<style>{STYLE}</style>"));
        svg.raw(inner);
        NamedDrawing { name, svg: svg.framed(name, width, height) }
    };
    let plots = plots.iter().map(|plot| styled(plot.name, &plot.inner, WIDTH, plot.height));
    plots.chain([styled("bounce", &bounce.inner, BOUNCE, bounce.height)]).collect()
}

fn write_head(page: &mut String, report: &TraceReport) {
    let title = escaped(&report.files.join(", "));
    let [style, _] = inline_assets();
    let many = if report.connections_total == 1 { "connection" } else { "connections" };
    let _ = writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>{style}</style></head><body>\n\
         <h1>Whose time was it?</h1>\n<p class=\"quiet\">{title} · {} {many}</p>",
        report.connections_total,
    );
    if let Some(damage) = &report.capture.damage {
        let _ =
            writeln!(page, "<p>Damaged: {}. What came before was analysed.</p>", escaped(damage));
    }
}

/// What all connections waited for, and how they failed.
fn write_whole(page: &mut String, report: &TraceReport) {
    finding_card::write_verdict(page, &report.verdict, None);
}
