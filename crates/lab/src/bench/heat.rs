//! A heat map of a stream benchmark: throughput by buffer and message, for each carrier and way.
//!
//! It draws what a result holds.

use std::fmt::Write;

use trace::render::svg::escaped;

use crate::result::Run;
use crate::stats::sample::median;

/// A table for each carrier and way; empty without runs of streams.
pub fn maps(runs: &[Run]) -> String {
    let cells: Vec<(&str, &str, &str, f64)> = runs.iter().filter_map(cell).collect();
    let most = cells.iter().map(|cell| cell.3).fold(0.0, f64::max).max(1.0);
    let mut out = String::new();
    for way in distinct(cells.iter().map(|cell| cell.0)) {
        let here: Vec<_> = cells.iter().filter(|cell| cell.0 == way).collect();
        let messages = distinct(here.iter().map(|cell| cell.2));
        let _ =
            write!(out, "<h2>{}, Mbit/s</h2>\n<table class=\"heat\">\n<tr><th></th>", escaped(way));
        messages.iter().for_each(|message| {
            let _ = write!(out, "<th>{}</th>", escaped(message));
        });
        out.push_str("</tr>\n");
        for buffer in distinct(here.iter().map(|cell| cell.1)) {
            let _ = write!(out, "<tr><th>{}</th>", escaped(buffer));
            for message in &messages {
                let of = here.iter().filter(|cell| cell.1 == buffer && cell.2 == *message);
                let values: Vec<f64> = of.map(|cell| cell.3).collect();
                let bits = median(&values);
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

/// Carrier and way, buffer, message, and throughput in bits a second.
fn cell(run: &Run) -> Option<(&str, &str, &str, f64)> {
    let mut parts = run.test.split(", ");
    let way = parts.next()?;
    let (buffer, message) =
        (parts.next()?.strip_prefix("buffer")?, parts.next()?.strip_prefix("message")?);
    let throughput = run.metrics.iter().find(|metric| metric.name == "throughput")?;
    Some((way, buffer.trim(), message.trim(), throughput.value))
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
    use crate::result::{Better, Metric};

    #[test]
    fn every_cell_has_its_place() {
        let run = |test: &str, bits: f64| {
            let metrics = vec![Metric::new("throughput", "bit/s", Better::More, bits)];
            Run { test: test.to_owned(), metrics, ..Run::default() }
        };
        let runs = [
            run("tcp to, buffer auto, message 64 B", 1e6),
            run("tcp to, buffer auto, message 64 B", 3e6),
            run("tcp to, buffer auto, message 1448 B", 8e6),
            run("udp from, buffer 65536 B, message 64 B", 4e6),
            run("10 connections", 9e9),
        ];
        let maps = maps(&runs);
        assert_eq!(maps.matches("<table").count(), 2);
        for word in ["tcp to, Mbit/s", ">2.0<", ">8.0<", "udp from", "65536 B"] {
            assert!(maps.contains(word), "no `{word}` in {maps}");
        }
        assert_eq!(maps.matches("<td").count(), 3);
    }
}
