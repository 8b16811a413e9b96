//! Renders a study's report as a self-contained HTML page.
//!
//! It draws what the report holds and calculates nothing.

use std::fmt::Write;

use trace::render::axis::{format_bytes, format_seconds, ticks};
use trace::render::svg::{Svg, SvgPoint, escaped};

use super::report::{
    ClaimResult, PlotBar, PlotLine, PlotShape, ReportPlot, ReportSection, ReportTable,
    SourceComparison, StudyReport, TableCell,
};
use crate::result_note::NoteSeverity;

pub fn render_page(report: &StudyReport) -> String {
    let mut out = String::new();
    let provenance = &report.provenance;
    let title = escaped(&format!("steelyard study {}", report.study));
    // Writing to a `String` cannot fail, here and below.
    let _ = writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>\n{STYLE}{MORE}</style></head><body>\n\
         <h1>{title}</h1>\n<p>{}</p>\n<p class=\"quiet\">Repeats: {}</p>\n<p class=\"quiet\">{}</p>\n\
         <p class=\"quiet\">{} · {} · {} · steelyard {}{}</p>",
        escaped(&report.title),
        escaped(&report.source),
        escaped(&provenance.command.join(" ")),
        escaped(&provenance.host),
        escaped(&provenance.kernel),
        escaped(&provenance.processors),
        escaped(&provenance.steelyard),
        if report.quick { " · quick run: scaled down, see the parameters" } else { "" },
    );
    if !report.complete {
        out.push_str("<p class=\"partial\">This report is partial: see the notes.</p>\n");
    }
    for note in &report.notes {
        let class = match note.weight {
            NoteSeverity::Hint => "hint",
            NoteSeverity::Warning => "warning",
            NoteSeverity::ClientLimit => "limit",
            NoteSeverity::Partial => "partial",
        };
        let _ = writeln!(out, "<p class=\"note {class}\">{}</p>", escaped(&note.text));
    }
    draw_claims(&mut out, &report.verdicts);
    draw_source_comparison(&mut out, &report.beside);
    report.sections.iter().for_each(|section| draw_section(&mut out, section));
    draw_parameters(&mut out, report);
    out.push_str("<h2>This machine</h2>\n<table>\n");
    for (name, value) in provenance.topology.iter().chain(&provenance.sysctls) {
        let _ = writeln!(out, "<tr><td>{}</td><td>{}</td></tr>", escaped(name), escaped(value));
    }
    out.push_str("</table>\n</body></html>\n");
    out
}

fn draw_claims(out: &mut String, verdicts: &[ClaimResult]) {
    out.push_str("<h2>What the figures say</h2>\n");
    for ClaimResult { claim, holds, because } in verdicts {
        let (class, word) = match holds {
            Some(true) => ("yes", "yes"),
            Some(false) => ("no", "no"),
            None => ("unknown", "not known"),
        };
        let _ = writeln!(
            out,
            "<p class=\"verdict {class}\"><b>{word}</b> {}<br><span class=\"quiet\">{}</span></p>",
            escaped(claim),
            escaped(because)
        );
    }
}

fn draw_source_comparison(out: &mut String, rows: &[SourceComparison]) {
    if rows.is_empty() {
        return;
    }
    out.push_str("<h2>The study's figures beside ours</h2>\n<table class=\"words\">\n<tr><th>figure</th><th>unit</th><th>study</th><th>forecast here</th><th>measured here</th><th>what differs</th></tr>\n");
    let format_figure = |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), number);
    for row in rows {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&row.what),
            escaped(row.unit),
            format_figure(row.source),
            format_figure(row.forecast),
            format_figure(row.ours),
            escaped(&row.differs)
        );
    }
    out.push_str("</table>\n");
}

fn draw_section(out: &mut String, section: &ReportSection) {
    let _ = writeln!(out, "<h2>{}</h2>", escaped(&section.title));
    for text in &section.text {
        let _ = writeln!(out, "<p>{}</p>", escaped(text));
    }
    if let Some(ReportTable { columns, rows }) = &section.table {
        out.push_str("<table>\n<tr>");
        for column in columns {
            let _ = write!(out, "<th>{}</th>", escaped(column));
        }
        out.push_str("</tr>\n");
        for row in rows {
            out.push_str("<tr>");
            for cell in row {
                let text = match cell {
                    TableCell::Text(text) => escaped(text),
                    TableCell::Figure(figure) => number(*figure),
                    TableCell::Nothing => "–".to_owned(),
                };
                let _ = write!(out, "<td>{text}</td>");
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table>\n");
    }
    section.plots.iter().for_each(|plot| draw_plot(out, plot));
}

fn draw_plot(out: &mut String, plot: &ReportPlot) {
    let SizedDrawing { svg, height } = match &plot.drawn {
        PlotShape::Bars { bars } => self::bars(bars, &plot.unit),
        PlotShape::Lines { lines } => self::lines(lines, &plot.unit),
    };
    let _ = writeln!(
        out,
        "<div class=\"plot\"><svg viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"100%\">\n{}</svg><small>{}</small></div>",
        svg.inner(),
        escaped(&plot.title)
    );
}

/// A drawing, and its height in units of the view box.
struct SizedDrawing {
    svg: Svg,
    height: f64,
}

fn bars(bars: &[PlotBar], unit: &str) -> SizedDrawing {
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let mut svg = Svg::default();
    for (at, PlotBar { name, value }) in bars.iter().enumerate() {
        let y = at as f64 * BAR;
        let width = if most > 0.0 { value / most * (INSIDE - 140.0) } else { 0.0 };
        let words = if unit == "s" {
            format_seconds(*value)
        } else {
            format!("{} {unit}", format_bytes(*value))
        };
        svg.text("small", "end", NAMES - 8.0, y + 15.0, name);
        // Half a unit, so that a tiny value is still seen.
        svg.rect("bar", NAMES, y + 3.0, width.max(0.5), BAR - 6.0, &format!("{name}: {words}"));
        svg.text("small", "start", NAMES + width + 6.0, y + 15.0, &words);
    }
    SizedDrawing { svg, height: bars.len() as f64 * BAR + 4.0 }
}

fn lines(lines: &[PlotLine], unit: &str) -> SizedDrawing {
    let points = || lines.iter().flat_map(|line| &line.points);
    let span = points().map(|point| point.seconds).fold(0.0, f64::max).max(1e-9);
    let most = points().map(|point| point.value).fold(0.0, f64::max) * 1.05;
    let most = if most > 0.0 { most } else { 1.0 };
    let x = |at: f64| NAMES + at / span * INSIDE;
    let y = |value: f64| TOP + HEIGHT * (1.0 - value / most);
    let mut svg = Svg::default();
    for mark in ticks(most, 4.0) {
        svg.line("grid", NAMES, y(mark), NAMES + INSIDE, y(mark));
        svg.text(
            "small",
            "end",
            NAMES - 6.0,
            y(mark) + 4.0,
            &format!("{} {unit}", format_bytes(mark)),
        );
    }
    for mark in ticks(span, 8.0) {
        svg.text("small", "middle", x(mark), TOP + HEIGHT + 16.0, &format_seconds(mark));
    }
    for (at, PlotLine { name, points }) in lines.iter().enumerate() {
        let class = format!("line c{}", at % COLOURS);
        let points: Vec<SvgPoint> = points
            .iter()
            .map(|point| SvgPoint { x: x(point.seconds), y: y(point.value) })
            .collect();
        svg.steps(&class, &points);
        let from = TOP + HEIGHT + 34.0 + at as f64 * 16.0;
        svg.line(&class, NAMES, from - 4.0, NAMES + 24.0, from - 4.0);
        svg.text("small", "start", NAMES + 30.0, from, name);
    }
    SizedDrawing { svg, height: TOP + HEIGHT + 34.0 + lines.len() as f64 * 16.0 }
}

fn draw_parameters(out: &mut String, report: &StudyReport) {
    out.push_str("<h2>Parameters</h2>\n<table class=\"words\">\n<tr><th>parameter</th><th>here</th><th>study</th><th>meaning</th></tr>\n");
    for told in &report.parameters {
        let class = if told.differs { " class=\"differs\"" } else { "" };
        let source = if told.source.is_empty() { "–" } else { &told.source };
        let _ = writeln!(
            out,
            "<tr{class}><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&told.name),
            escaped(&told.here),
            escaped(source),
            escaped(&told.meaning)
        );
    }
    out.push_str("</table>\n");
}

/// A figure with its significant digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1e15 || !v.is_finite() => format!("{value:.3e}"),
        v if v >= 1_000.0 || value.fract() == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

const STYLE: &str = include_str!("../bench/page.css");
const MORE: &str = include_str!("page.css");
/// Sizes of the drawings in units of their view box. The names take a quarter, for the longest label.
const WIDTH: f64 = 1_040.0;
const NAMES: f64 = 260.0;
const INSIDE: f64 = WIDTH - NAMES - 10.0;
const BAR: f64 = 22.0;
const TOP: f64 = 8.0;
const HEIGHT: f64 = 180.0;
const COLOURS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::parameter::Parameters;
    use crate::study::report::PlotPoint;

    #[test]
    fn a_page_holds_what_the_report_does_and_needs_nothing() {
        let mut report =
            StudyReport::new("x", "Is it <so>?", "a study", &Parameters::new(&[], true));
        report.note(NoteSeverity::Partial, "died & gone".to_owned());
        report.verdicts.push(ClaimResult::new("it is", true, "7 > 5".to_owned()));
        report.verdicts.push(ClaimResult::new("it was", None, "nobody looked".to_owned()));
        report.beside.push(SourceComparison {
            what: "rate".to_owned(),
            unit: "1/s",
            source: Some(4_000.0),
            forecast: None,
            ours: Some(123.456),
            differs: "ports".to_owned(),
        });
        let table = ReportTable {
            columns: vec!["a".to_owned(), "b".to_owned()],
            rows: vec![vec!["<b>".into(), 0.5.into()], vec![f64::NAN.into(), Some(7.0).into()]],
        };
        let bar = |name: &str, value| PlotBar { name: name.to_owned(), value };
        let bars = PlotShape::Bars { bars: vec![bar("one", 3.0), bar("none", 0.0)] };
        let point = |seconds, value| PlotPoint { seconds, value };
        let points = vec![point(0.0, 1.0), point(2.0, 0.0)];
        let lines = PlotShape::Lines { lines: vec![PlotLine { name: "cpu".to_owned(), points }] };
        let plot = |drawn| ReportPlot { title: "p".to_owned(), unit: "s".to_owned(), drawn };
        report.sections.push(ReportSection {
            title: "t".to_owned(),
            text: Vec::new(),
            table: Some(table),
            plots: vec![plot(bars), plot(lines)],
        });
        let page = render_page(&report);
        for word in [
            "Is it &lt;so&gt;?",
            "died &amp; gone",
            "report is partial",
            "4000",
            "123.5",
            "not known",
            "&lt;b&gt;",
            ">0.50<",
        ] {
            assert!(page.contains(word), "no `{word}` in {page}");
        }
        assert_eq!((page.matches("<svg").count(), page.matches("NaN").count()), (2, 0));
        for word in ["src=", "href=", "@import", "url(", "<script"] {
            assert!(!page.contains(word), "`{word}` in the page");
        }
        assert_eq!(page.matches("<table").count(), page.matches("</table>").count());
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["sections"][0]["table"]["rows"][1][0], serde_json::Value::Null);
        assert_eq!(json["complete"], false);
    }
}
