//! Renders a result as a self-contained HTML page: figures, and plots of rate, latency, percentiles and processors.
//!
//! It draws what a result holds and calculates nothing.

use std::fmt::Write;

use trace::render::axis::{format_bytes, format_seconds, ticks};
use trace::render::svg::{Svg, SvgPoint, escaped};

use super::heatmap::{collect_grids, render_heatmaps};
use super::surface::render_surfaces;
use crate::load::LatencyBucket;
use crate::machine::activity::MachineActivity;
use crate::machine::processors::ProcessorShare;
use crate::result::{BenchResult, BenchRun, SecondSample};
use crate::result_note::NoteSeverity;

pub fn render_page(result: &BenchResult) -> String {
    let mut page = String::new();
    let provenance = &result.provenance;
    let title = escaped(&format!("steelyard bench {}", result.kind));
    // Writing to a `String` cannot fail, here and below.
    let _ = writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>\n{STYLE}</style></head><body>\n\
         <h1>{title}</h1>\n<p class=\"quiet\">{}</p>\n<p class=\"quiet\">{} · {} · steelyard {}</p>",
        escaped(&provenance.command.join(" ")),
        escaped(&provenance.host),
        escaped(&provenance.kernel),
        escaped(&provenance.steelyard),
    );
    if !result.complete {
        page.push_str("<p class=\"partial\">This result is partial: see the notes.</p>\n");
    }
    for note in &result.notes {
        let class = match note.weight {
            NoteSeverity::Hint => "hint",
            NoteSeverity::Warning => "warning",
            NoteSeverity::ClientLimit => "limit",
            NoteSeverity::Partial => "partial",
        };
        let _ = writeln!(page, "<p class=\"note {class}\">{}</p>", escaped(&note.text));
    }
    let grids = collect_grids(&result.runs);
    page.push_str(&render_heatmaps(&grids));
    page.push_str(&render_surfaces(&grids));
    for run in result.runs.iter().take(MOST_RUNS) {
        draw_run(&mut page, run);
    }
    if result.runs.len() > MOST_RUNS {
        let _ = writeln!(
            page,
            "<p class=\"quiet\">{} more runs are not shown.</p>",
            result.runs.len() - MOST_RUNS
        );
    }
    page.push_str("<h2>Settings</h2>\n<table>\n");
    for (name, value) in
        provenance.settings.iter().chain(&provenance.topology).chain(&provenance.sysctls)
    {
        let _ = writeln!(page, "<tr><td>{}</td><td>{}</td></tr>", escaped(name), escaped(value));
    }
    page.push_str("</table>\n</body></html>\n");
    page
}

/// A value of a line: over seconds, or over the nines of a percentile.
#[derive(Clone, Copy)]
struct ChartPoint {
    at: f64,
    value: f64,
}

/// A line of a plot.
struct ChartLine {
    /// Its class in the style sheet.
    class: &'static str,
    points: Vec<ChartPoint>,
}

fn draw_run(page: &mut String, run: &BenchRun) {
    let partial = if run.complete { "" } else { " <small class=\"partial\">partial</small>" };
    let _ = writeln!(page, "<h2>{}, repeat {}{partial}</h2>", escaped(&run.test), run.repeat);
    if run.series.len() > 1 {
        let span = run.series.last().map_or(1.0, |second| second.at);
        let line = |class, of: fn(&SecondSample) -> f64| {
            let point = |second: &SecondSample| ChartPoint { at: second.at, value: of(second) };
            ChartLine { class, points: run.series.iter().map(point).collect() }
        };
        let lines = [line("rate", |s| s.rate), line("failed", |s| s.failed)];
        draw_plot(page, "Answered and failed a second", span, &lines, format_bytes, format_seconds);
        let lines = [
            line("max", |s| s.max_us / 1e6),
            line("p99", |s| s.p99_us / 1e6),
            line("p50", |s| s.p50_us / 1e6),
        ];
        draw_plot(
            page,
            "Latency by the second: half, 99 %, longest",
            span,
            &lines,
            format_seconds,
            format_seconds,
        );
    }
    draw_processor_load(page, run);
    let nines = nines(&run.histogram);
    if nines.len() > 1 {
        let span = nines.last().map_or(1.0, |point| point.at);
        let words = |nines: f64| match nines {
            n if n < 0.5 => "0 %".to_owned(),
            n => format!("{:.*} %", (n as usize).saturating_sub(2), 100.0 - 10_f64.powf(2.0 - n)),
        };
        let title = "Latency by percentile, from the intended start";
        let line = ChartLine { class: "p99", points: nines };
        draw_plot(page, title, span, &[line], format_seconds, words);
    }
    draw_processors(page, &run.processors);
    page.push_str("<table>\n<tr><th>figure</th><th>value</th><th>unit</th></tr>\n");
    if let Some(beside) = &run.beside {
        draw_machine_activity(page, beside);
    }
    for metric in &run.metrics {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&metric.name),
            figure(metric.value),
            escaped(&metric.unit)
        );
    }
    for (cause, count) in &run.failed {
        let _ = writeln!(
            page,
            "<tr><td>failed: {}</td><td>{count}</td><td>1</td></tr>",
            escaped(cause)
        );
    }
    page.push_str("</table>\n");
}

/// Load of each processor over time.
fn draw_processor_load(page: &mut String, run: &BenchRun) {
    let many = run.busy.iter().map(Vec::len).min().unwrap_or(0).min(run.processors.len());
    if run.busy.len() < 2 || run.busy.len() != run.series.len() || many == 0 {
        return;
    }
    let line = |number: usize| {
        let points = run.series.iter().zip(&run.busy);
        let points = points.map(|(second, busy)| ChartPoint { at: second.at, value: busy[number] });
        ChartLine { class: COLOURS[number % COLOURS.len()], points: points.collect() }
    };
    let lines: Vec<ChartLine> = (0..many.min(MOST_LINES)).map(line).collect();
    let span = run.series.last().map_or(1.0, |second| second.at);
    let share = |part: f64| format!("{:.0} %", part * 100.0);
    draw_plot(page, "Processors, not idle, by the second", span, &lines, share, format_seconds);
}

/// Points of latency by the nines of its percentile: 1 is 90 %, 2 is 99 %.
fn nines(histogram: &[LatencyBucket]) -> Vec<ChartPoint> {
    let all: u64 = histogram.iter().map(|bucket| bucket.count).sum();
    let mut below = 0;
    let points = histogram.iter().filter_map(|LatencyBucket { upper_us, count }| {
        below += count;
        let rest = (all - below) as f64 / all as f64;
        (rest > 0.0).then(|| ChartPoint { at: -rest.log10(), value: upper_us / 1e6 })
    });
    points.collect()
}

fn draw_plot(
    page: &mut String,
    title: &str,
    span: f64,
    lines: &[ChartLine],
    values: impl Fn(f64) -> String,
    along: impl Fn(f64) -> String,
) {
    let points = lines.iter().flat_map(|line| &line.points);
    let most = points.map(|point| point.value).fold(0.0, f64::max);
    let most = if most > 0.0 { most * 1.05 } else { 1.0 };
    let x = |at: f64| MARGIN_LEFT + at / span * INSIDE;
    let y = |value: f64| TOP + HEIGHT * (1.0 - value / most);
    let mut svg = Svg::default();
    for mark in ticks(most, 4.0) {
        svg.line("grid", MARGIN_LEFT, y(mark), MARGIN_LEFT + INSIDE, y(mark));
        svg.text("small", "end", MARGIN_LEFT - 6.0, y(mark) + 4.0, &values(mark));
    }
    for mark in ticks(span, 8.0) {
        svg.text("small", "middle", x(mark), TOP + HEIGHT + 16.0, &along(mark));
    }
    for ChartLine { class, points } in lines {
        let points: Vec<SvgPoint> =
            points.iter().map(|point| SvgPoint { x: x(point.at), y: y(point.value) }).collect();
        svg.steps(class, &points);
    }
    let height = TOP + HEIGHT + 24.0;
    let _ = writeln!(
        page,
        "<div class=\"plot\"><svg viewBox=\"0 0 {WIDTH} {height}\" width=\"100%\">\n{}</svg><small>{}</small></div>",
        svg.inner(),
        escaped(title)
    );
}

fn draw_processors(page: &mut String, shares: &[ProcessorShare]) {
    if shares.is_empty() {
        return;
    }
    page.push_str("<table>\n<tr><th>processor</th><th>user</th><th>system</th><th>irq</th><th>softirq</th><th>steal</th><th>idle</th><th>NET_RX/s</th></tr>\n");
    for share in shares.iter().take(MOST_PROCESSORS) {
        let _ = write!(page, "<tr><td>{}</td>", share.number);
        for part in [share.user, share.system, share.irq, share.softirq, share.steal, share.idle] {
            // The busier a processor, the darker its cell.
            let _ = write!(
                page,
                "<td style=\"background:rgba(42,111,187,{:.2})\">{:.0} %</td>",
                part * 0.5,
                part * 100.0
            );
        }
        let _ = writeln!(page, "<td>{:.0}</td></tr>", share.net_rx);
    }
    page.push_str("</table>\n");
}

fn draw_machine_activity(page: &mut String, beside: &MachineActivity) {
    let mut row = |name: &str, value: f64, unit: &str| {
        let name = escaped(name);
        let _ = writeln!(page, "<tr><td>{name}</td><td>{}</td><td>{unit}</td></tr>", figure(value));
    };
    row("context switches", beside.context_switches, "1/s");
    row("interrupts", beside.interrupts, "1/s");
    row("memory free for programs", beside.memory_available.after as f64, "B");
    for one in &beside.interfaces {
        row(&format!("{} received", one.name), one.received_packets, "packets/s");
        row(&format!("{} sent", one.name), one.sent_packets, "packets/s");
        row(&format!("{} dropped", one.name), one.dropped, "packets/s");
    }
    for queue in &beside.queues {
        for (processor, rate) in &queue.each {
            let name = format!("{} {}, processor {processor}", queue.interface, queue.name);
            row(&name, *rate, "interrupts/s");
        }
    }
    for process in &beside.processes {
        row(&format!("{} ({})", process.name, process.number), process.processors, "processors");
    }
}

fn figure(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    }
}

const STYLE: &str = include_str!("page.css");
/// Sizes of the drawings in units of their view box. The left margin holds the longest figure.
const WIDTH: f64 = 1_000.0;
const MARGIN_LEFT: f64 = 80.0;
const INSIDE: f64 = WIDTH - MARGIN_LEFT - 20.0;
const TOP: f64 = 10.0;
const HEIGHT: f64 = 160.0;
/// Limit for drawn runs.
const MOST_RUNS: usize = 60;
/// Limit for processors drawn over time.
const MOST_LINES: usize = 16;
/// Classes of the lines in the style sheet.
const COLOURS: [&str; 4] = ["rate", "p99", "p50", "max"];
/// Limit for listed processors.
const MOST_PROCESSORS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ResultProvenance;

    #[test]
    fn a_page_is_whole_escaped_and_alone() {
        let mut result = BenchResult::new("http", ResultProvenance::default());
        result.provenance.command = vec!["bench".to_owned(), "<script>".to_owned()];
        result.add_note(NoteSeverity::Partial, "died & gone".to_owned());
        let second = |at| SecondSample {
            at,
            rate: 10.0,
            p99_us: 500.0,
            max_us: 900.0,
            ..SecondSample::default()
        };
        let histogram = [(100.0, 90), (200.0, 9), (900.0, 1)].map(LatencyBucket::from).into();
        let series = vec![second(1.0), second(2.0)];
        result.runs.push(BenchRun {
            test: "t".to_owned(),
            series,
            histogram,
            ..BenchRun::default()
        });
        let page = render_page(&result);
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
        assert!(page.contains("died &amp; gone") && page.contains("This result is partial"));
        assert_eq!(page.matches("<svg").count(), 3);
        assert!(page.contains("99 %"), "the axis of percentiles");
        for word in ["src=", "href=", "@import", "url("] {
            assert!(!page.contains(word), "`{word}` in the page");
        }
        assert_eq!(page.matches("<table>").count(), page.matches("</table>").count());
    }

    #[test]
    fn nines_are_shares_that_were_slower() {
        let found = nines(&[(1e6, 90), (2e6, 9), (3e6, 1)].map(LatencyBucket::from));
        assert_eq!(found.len(), 2, "the last has nothing above it");
        assert!((found[0].at - 1.0).abs() < 1e-9 && (found[1].at - 2.0).abs() < 1e-9);
    }
}
