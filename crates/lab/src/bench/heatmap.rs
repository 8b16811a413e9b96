//! A heat map of a stream benchmark: throughput by buffer and message size, for each transport and direction.
//!
//! It draws what a result holds.

use std::fmt::Write;

use trace::render::svg::escaped;

use crate::result::BenchRun;
use crate::stats::sample::median;

/// Throughput by buffer and message size, of one transport and direction.
#[derive(Clone, Debug, PartialEq)]
pub struct ThroughputGrid<'a> {
    pub direction: &'a str,
    /// Buffer sizes, one per row.
    pub buffers: Vec<&'a str>,
    /// Message sizes, one per column.
    pub messages: Vec<&'a str>,
    /// The median of the repeats, bits a second; `None` without a complete run.
    pub rows: Vec<Vec<Option<f64>>>,
}

/// A grid for each transport and direction; empty without stream runs.
pub fn collect_grids(runs: &[BenchRun]) -> Vec<ThroughputGrid<'_>> {
    let cells: Vec<GridCell<'_>> = runs.iter().filter_map(grid_cell).collect();
    let grid = |way| {
        let here: Vec<_> = cells.iter().filter(|cell| cell.direction == way).collect();
        let messages = distinct(here.iter().map(|cell| cell.message));
        let buffers = distinct(here.iter().map(|cell| cell.buffer));
        let median_of = |buffer: &str, message: &str| {
            let of = here.iter().filter(|cell| cell.buffer == buffer && cell.message == message);
            let values: Vec<f64> = of.filter_map(|cell| cell.throughput).collect();
            (!values.is_empty()).then(|| median(&values))
        };
        let row =
            |buffer: &&str| messages.iter().map(|message| median_of(buffer, message)).collect();
        let rows = buffers.iter().map(row).collect();
        ThroughputGrid { direction: way, buffers, messages, rows }
    };
    distinct(cells.iter().map(|cell| cell.direction)).into_iter().map(grid).collect()
}

/// A table for each grid.
pub fn render_heatmaps(grids: &[ThroughputGrid<'_>]) -> String {
    let all = grids.iter().flat_map(|grid| grid.rows.iter().flatten().flatten());
    let most = all.copied().fold(0.0, f64::max).max(1.0);
    let mut out = String::new();
    for ThroughputGrid { direction: way, buffers, messages, rows } in grids {
        // Writing to a `String` cannot fail, here and below.
        let _ =
            write!(out, "<h2>{}, Mbit/s</h2>\n<table class=\"heat\">\n<tr><th></th>", escaped(way));
        messages.iter().for_each(|message| {
            let _ = write!(out, "<th>{}</th>", escaped(message));
        });
        out.push_str("</tr>\n");
        for (buffer, row) in buffers.iter().zip(rows) {
            let _ = write!(out, "<tr><th>{}</th>", escaped(buffer));
            for cell in row {
                let Some(bits) = cell else {
                    out.push_str("<td class=\"gap\">not measured</td>");
                    continue;
                };
                let heat = bits / most * 0.8;
                let _ = write!(
                    out,
                    "<td style=\"background:rgba(42,111,187,{heat:.2})\">{:.1}</td>",
                    bits / 1e6
                );
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table>\n");
    }
    out
}

/// Where a run of a stream belongs in a grid.
struct GridCell<'a> {
    direction: &'a str,
    buffer: &'a str,
    message: &'a str,
    /// Bits a second; `None` without a complete run.
    throughput: Option<f64>,
}

fn grid_cell(run: &BenchRun) -> Option<GridCell<'_>> {
    let mut parts = run.test.split(", ");
    let direction = parts.next()?;
    let buffer = parts.next()?.strip_prefix("buffer")?.trim();
    let message = parts.next()?.strip_prefix("message")?.trim();
    let throughput = run.metrics.iter().find(|metric| metric.name == "throughput");
    let throughput = throughput.filter(|_| run.complete).map(|metric| metric.value);
    Some(GridCell { direction, buffer, message, throughput })
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut out = Vec::new();
    names.for_each(|name| {
        if !out.contains(&name) {
            out.push(name);
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{BenchMetric, MetricDirection};

    #[test]
    fn every_cell_has_its_place() {
        let run = |test: &str, bits: f64| {
            let metrics =
                vec![BenchMetric::new("throughput", "bit/s", MetricDirection::More, bits)];
            BenchRun { test: test.to_owned(), complete: true, metrics, ..BenchRun::default() }
        };
        let runs = [
            run("tcp to, buffer auto, message 64 B", 1e6),
            run("tcp to, buffer auto, message 64 B", 3e6),
            run("tcp to, buffer auto, message 1448 B", 8e6),
            run("udp from, buffer 65536 B, message 64 B", 4e6),
            run("10 connections", 9e9),
        ];
        let maps = render_heatmaps(&collect_grids(&runs));
        assert_eq!(maps.matches("<table").count(), 2);
        for word in ["tcp to, Mbit/s", ">2.0<", ">8.0<", "udp from", "65536 B"] {
            assert!(maps.contains(word), "no `{word}` in {maps}");
        }
        assert_eq!((maps.matches("<td").count(), maps.matches("gap").count()), (3, 0));
    }

    #[test]
    fn what_was_not_measured_is_a_gap_and_not_zero() {
        let metrics = vec![BenchMetric::new("throughput", "bit/s", MetricDirection::More, 6e6)];
        let run = |test: &str, complete: bool| BenchRun {
            test: test.to_owned(),
            complete,
            metrics: metrics.clone(),
            ..BenchRun::default()
        };
        let never =
            BenchRun { metrics: Vec::new(), ..run("tcp to, buffer auto, message 64 B", false) };
        let runs = [
            run("tcp to, buffer 65536 B, message 64 B", true),
            // An interrupted run.
            run("tcp to, buffer auto, message 1448 B", false),
            never,
        ];
        let grids = collect_grids(&runs);
        assert_eq!(grids[0].rows, [[Some(6e6), None], [None, None]]);
        let maps = render_heatmaps(&grids);
        assert_eq!((maps.matches(">not measured<").count(), maps.matches(">0.0<").count()), (3, 0));
    }
}
