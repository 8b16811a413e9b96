//! Results as text, like that of ab with additions, or as JSON. It calculates nothing beyond the result.

use lab::machine::activity::MachineActivity;
use lab::rate_search::{SearchEnd, SearchResult};
use lab::result::{BenchResult, BenchRun};
use lab::result_note::NoteSeverity;

use crate::outcome::{CommandError, print_json};
use crate::show::paint::{Colour, Paint};
use crate::show::screen;
use crate::show::table::{TextCell, TextTable, left, right, wrap};
use crate::show::unit::{count, rate};

/// Prints a result; `json`: all of it.
pub fn print(
    result: &BenchResult,
    found: Option<&SearchResult>,
    json: bool,
) -> Result<(), CommandError> {
    if json {
        return print_json(result);
    }
    Ok(screen::print(&render_result(result, found, screen::width(), Paint::for_stdout()))?)
}

fn render_result(
    result: &BenchResult,
    found: Option<&SearchResult>,
    width: usize,
    paint: Paint,
) -> String {
    let mut out = String::new();
    let setting = |name: &str| result.provenance.settings.get(name).map_or("", String::as_str);
    out.push_str(&format!(
        "{} ({}), {} loop, {} connections, {} threads, {}\n\n",
        setting("target"),
        setting("protocol"),
        setting("loop"),
        setting("connections"),
        setting("threads"),
        setting("close"),
    ));
    match (found, result.runs.as_slice()) {
        (None, [run]) => render_run(&mut out, run, setting("connections"), paint),
        _ => render_runs(&mut out, &result.runs, width, paint),
    }
    if let Some(found) = found {
        out.push_str(&format!("\n{}\n", describe_found_rate(found)));
    }
    out.push_str(&render_notes(result, width, paint));
    out
}

/// Notes that a reader needs to interpret a result.
pub fn render_notes(result: &BenchResult, width: usize, paint: Paint) -> String {
    let mut out = String::new();
    for note in &result.notes {
        let (word, colour) = match note.weight {
            NoteSeverity::Hint => ("note", Colour::Quiet),
            NoteSeverity::Warning => ("WARNING", Colour::Bad),
            NoteSeverity::ClientLimit => ("client limit", Colour::Doubt),
            NoteSeverity::Partial => ("partial", Colour::Bad),
        };
        // 20 columns at least: below that, words would be broken on every line.
        let lines = wrap(&note.text, width.saturating_sub(word.len() + 2).max(20));
        out.push_str(&format!("\n{}: {}\n", paint.text(colour, word), lines.join("\n  ")));
    }
    out
}

/// A figure of a run by its name; 0 where it has none.
fn figure(run: &BenchRun, name: &str) -> f64 {
    run.metrics.iter().find(|metric| metric.name == name).map_or(0.0, |metric| metric.value)
}

fn render_run(out: &mut String, run: &BenchRun, connections: &str, paint: Paint) {
    let of = |name: &str| figure(run, name);
    let whole = |name: &str| count(of(name) as u64);
    let mut facts = TextTable::new(&[left(""), left("")]);
    let mut fact = |name: &str, value: String| facts.row(vec![name.into(), value.into()]);
    fact("Time taken", format!("{:.3} s", of("time")));
    fact(
        "Requests",
        format!(
            "{}: {} answered, {} failed",
            whole("requests"),
            whole("answered"),
            whole("failed")
        ),
    );
    let classes: Vec<String> = (1..=5)
        .filter(|class| of(&format!("status-{class}xx")) > 0.0)
        .map(|class| format!("{class}xx: {}", whole(&format!("status-{class}xx"))))
        .collect();
    if !classes.is_empty() {
        fact("Status", classes.join(", "));
    }
    for (cause, n) in &run.failed {
        fact("Failed", format!("{cause}: {}", count(*n)));
    }
    fact(
        "Connections",
        format!(
            "{}; {} answered on one that had answered before",
            whole("connections"),
            whole("answered-on-kept")
        ),
    );
    fact("Rate", format!("{} requests/s", rate(of("rate"))));
    if of("rate") > 0.0 {
        let across = 1e3 / of("rate");
        let of_each = connections.parse::<f64>().unwrap_or(1.0) * across;
        fact(
            "Time per request",
            format!("{of_each:.3} ms for each connection, {across:.3} ms across all"),
        );
    }
    fact(
        "Received",
        format!(
            "{} B, {} B of bodies; {:.3} Mbit/s ({:.2} KiB/s)",
            whole("received-bytes"),
            whole("body-bytes"),
            of("received") / 1e6,
            of("received") / 8192.0
        ),
    );
    fact("Sent", format!("{} B; {:.3} Mbit/s", whole("sent-bytes"), of("sent") / 1e6));
    if of("answered") > 0.0 {
        fact("Body of an answer", format!("{:.0} B, mean", of("body-bytes") / of("answered")));
    }
    out.push_str(facts.render(100, paint).trim_start_matches('\n'));
    out.push('\n');
    render_times(out, run, paint);
    let mut percentiles = TextTable::new(&[left("latency"), right("ms")]);
    for (name, _) in lab::bench::http::PERCENTILES {
        percentiles.row(vec![name.into(), format!("{:.3}", of(&format!("latency-{name}"))).into()]);
    }
    out.push_str(&percentiles.render(100, paint));
    render_machines(out, run, paint);
    render_processors(out, run, paint);
}

/// The results of each machine, if several made the load.
fn render_machines(out: &mut String, run: &BenchRun, paint: Paint) {
    if run.parts.is_empty() {
        return;
    }
    let mut table = TextTable::new(&[
        left("agent"),
        right("requests"),
        right("answered"),
        right("busiest thread"),
        right("busiest processor"),
        right("end"),
    ]);
    for part in &run.parts {
        let most = |shares: &mut dyn Iterator<Item = f64>| {
            format!("{:.0} %", shares.fold(0.0, f64::max) * 100.0)
        };
        table.row(vec![
            part.agent.clone().into(),
            count(part.requests).into(),
            count(part.answered).into(),
            most(&mut part.threads_busy.iter().copied()).into(),
            most(&mut part.processors.iter().map(lab::machine::processors::ProcessorShare::busy))
                .into(),
            if part.complete { "whole".into() } else { TextCell::coloured("lost", Colour::Bad) },
        ]);
    }
    out.push('\n');
    out.push_str(&table.render(100, paint));
}

/// The table that ab calls connection times.
fn render_times(out: &mut String, run: &BenchRun, paint: Paint) {
    let mut table = TextTable::new(&[
        left("times, ms"),
        right("min"),
        right("mean"),
        right("sd"),
        right("median"),
        right("99 %"),
        right("max"),
    ]);
    for (name, words) in [
        ("connect", "connect"),
        ("waiting", "waiting"),
        ("service", "processing"),
        ("latency", "total, from the intended start"),
    ] {
        let of = |part: &str| format!("{:.3}", figure(run, &format!("{name}-{part}")));
        let cells = ["min", "mean", "sd", "p50", "p99", "max"].map(|part| TextCell::from(of(part)));
        table.row(std::iter::once(TextCell::from(words)).chain(cells).collect());
    }
    out.push_str(&table.render(100, paint));
    out.push('\n');
}

fn render_processors(out: &mut String, run: &BenchRun, paint: Paint) {
    if run.processors.is_empty() {
        return;
    }
    let mut table = TextTable::new(&[
        right("processor"),
        right("user"),
        right("system"),
        right("irq"),
        right("softirq"),
        right("steal"),
        right("idle"),
        right("NET_RX/s"),
    ]);
    for share in &run.processors {
        let percent = |part: f64| TextCell::from(format!("{:.0} %", part * 100.0));
        table.row(vec![
            share.number.to_string().into(),
            percent(share.user),
            percent(share.system),
            percent(share.irq),
            percent(share.softirq),
            percent(share.steal),
            percent(share.idle),
            rate(share.net_rx).into(),
        ]);
    }
    out.push('\n');
    out.push_str(&table.render(100, paint));
    if let Some(beside) = &run.beside {
        render_machine_activity(out, beside, paint);
    }
}

/// Other activity of the machine: switches, memory, interfaces with their queues' interrupts, processes.
fn render_machine_activity(out: &mut String, beside: &MachineActivity, paint: Paint) {
    let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    out.push_str(&format!(
        "\n{} context switches/s, {} interrupts/s; memory {:.2} GiB, {:.2} free for programs before and {:.2} after\n",
        rate(beside.context_switches),
        rate(beside.interrupts),
        gibibytes(beside.memory_total),
        gibibytes(beside.memory_available.before),
        gibibytes(beside.memory_available.after),
    ));
    for one in &beside.interfaces {
        out.push_str(&format!(
            "{}: received {} packets/s, {:.2} Mbit/s, dropped {}/s; sent {} packets/s, {:.2} Mbit/s\n",
            one.name,
            rate(one.received_packets),
            one.received_bits / 1e6,
            rate(one.dropped),
            rate(one.sent_packets),
            one.sent_bits / 1e6,
        ));
    }
    for queue in &beside.queues {
        let each = queue.each.iter().map(|(at, found)| format!("processor {at} {}", rate(*found)));
        let each = each.collect::<Vec<_>>().join(", ");
        out.push_str(&format!("{} {}: interrupts/s: {each}\n", queue.interface, queue.name));
    }
    let mut table = TextTable::new(&[
        left("process"),
        right("number"),
        right("processors"),
        right("resident MiB"),
    ]);
    for process in &beside.processes {
        table.row(vec![
            process.name.clone().into(),
            process.number.to_string().into(),
            format!("{:.2}", process.processors).into(),
            format!("{:.1}", process.resident as f64 / f64::from(1 << 20)).into(),
        ]);
    }
    out.push_str(&table.render(100, paint));
}

fn render_runs(out: &mut String, runs: &[BenchRun], width: usize, paint: Paint) {
    let mut table = TextTable::new(&[
        left("test"),
        right("repeat"),
        right("requests/s"),
        right("p50 ms"),
        right("p99 ms"),
        right("p99.9 ms"),
        right("max ms"),
        right("failed"),
        right("busiest processor"),
    ]);
    for run in runs.iter().filter(|run| run.test != "capacity") {
        let ms = |name: &str| TextCell::from(format!("{:.3}", figure(run, name)));
        let failed = figure(run, "failed") as u64;
        let colour = if failed > 0 { Colour::Bad } else { Colour::Quiet };
        table.row(vec![
            run.test.clone().into(),
            run.repeat.to_string().into(),
            rate(figure(run, "rate")).into(),
            ms("latency-p50"),
            ms("latency-p99"),
            ms("latency-p99.9"),
            ms("latency-max"),
            TextCell::coloured(count(failed), colour),
            busiest_processor(run).into(),
        ]);
    }
    out.push_str(&table.render(width, paint));
}

/// The load of the busiest processor among the machines that made the load.
fn busiest_processor(run: &BenchRun) -> String {
    let shares = run.processors.iter().chain(run.parts.iter().flat_map(|part| &part.processors));
    let most = shares.map(lab::machine::processors::ProcessorShare::busy).fold(0.0, f64::max);
    format!("{:.0} %", most * 100.0)
}

fn describe_found_rate(found: &SearchResult) -> String {
    let held = found.held.map_or("none".to_owned(), |held| format!("{} requests/s", rate(held)));
    let missed =
        found.missed.map_or(String::new(), |missed| format!("; {} missed it", rate(missed)));
    match found.end {
        SearchEnd::Confirmed => format!(
            "The highest rate that meets the objective: {held}, which held {} times more{missed}.",
            found.confirmations
        ),
        SearchEnd::AtMost => {
            format!("The objective holds at the highest rate that was tried, {held}.")
        }
        SearchEnd::ClientLimit => format!(
            "The generator is the limit, not the target: the highest rate that was proven is {held}."
        ),
        SearchEnd::NeverHeld => format!("No rate meets the objective{missed}."),
        SearchEnd::Wavers => {
            format!("Trials contradict each other; the last rate that held is {held}.")
        }
    }
}
