//! `steelyard explain server`: the state of a server with its evidence, and the arithmetic of its weight.
//!
//! Every number comes from the daemon; nothing is calculated here.

use std::process::ExitCode;

use api::types::{
    CheckEvidence, ControllerExplained, EjectionExplained, ServerExplained, ServersExplained,
    Source, WeightExplained,
};

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish};
use crate::refresh::{RefreshArgs, show_or_watch};
use crate::show::paint::Paint;
use crate::show::plain::plain;
use crate::show::screen;
use crate::show::table::{TextTable, left, right};
use crate::show::unit::{count, micros, span};

/// Explain the state and the weight of a server, and its share of requests.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard explain server web/a     state with evidence, and how its weight was computed
  steelyard explain server web       the weights of a pool as a table
  steelyard explain server web --watch
  steelyard explain server web/a --json")]
pub struct ExplainServerArgs {
    /// POOL/NAME, or POOL for all of its servers.
    #[arg(value_name = "POOL[/NAME]")]
    server: String,
    #[command(flatten)]
    again: RefreshArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &ExplainServerArgs) -> ExitCode {
    finish(args.contact.json, block_on(show(args)))
}

async fn show(args: &ExplainServerArgs) -> Result<CommandOutcome, CommandError> {
    let (pool, name) = args.server.split_once('/').unwrap_or((&args.server, "*"));
    let client = args.contact.client()?;
    let ask = || async { Ok(client.explain_server(pool, name).await?) };
    let show = |explained: &ServersExplained| {
        if name == "*" {
            return render_pool(explained, screen::width(), Paint::for_stdout());
        }
        let stories: Vec<String> =
            explained.servers.iter().map(|server| render_server(explained, server)).collect();
        stories.join("\n")
    };
    show_or_watch(args.again, args.contact.json, ask, show).await
}

/// The pool's weights side by side.
fn render_pool(explained: &ServersExplained, width: usize, paint: Paint) -> String {
    let mut table = TextTable::new(&[
        left("SERVER"),
        left("STATE"),
        left("RANK"),
        right("WEIGHT"),
        right("NEW"),
        right("SHARE"),
        right("IN FLIGHT"),
        right("BEGUN"),
        right("PROBE"),
        right("LOAD"),
    ]);
    for server in &explained.servers {
        let row = server.weight.controller.as_ref().map(|judge| &judge.calculation);
        let text = |number: Option<f64>, unit: &str, digits: usize| {
            number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}{unit}"))
        };
        let active = row.map_or(f64::from(server.server.in_flight), |row| row.input.active);
        table.row(vec![
            format!("{}/{}", explained.pool, server.server.name).into(),
            server.server.state.name().into(),
            server.rank.as_str().into(),
            server.weight.active.to_string().into(),
            row.map_or_else(|| "-".to_owned(), |row| row.rounded.to_string()).into(),
            format!("{:.1}%", server.share_percent).into(),
            format!("{active:.1}").into(),
            text(row.map(|row| row.input.new), "", 0).into(),
            text(server.probe_ms, " ms", 1).into(),
            text(server.load.map(|load| load * 100.0), "%", 0).into(),
        ]);
    }
    format!(
        "{}: {}; {}\n{}",
        explained.pool,
        explained.balance,
        explained.selection,
        table.render(width, paint)
    )
}

/// One server, line by line.
fn render_server(explained: &ServersExplained, entry: &ServerExplained) -> String {
    let age = |at: u64| span(explained.now_unix_ms.saturating_sub(at));
    let server = &entry.server;
    let mut lines = vec![
        format!("{}/{} at {}", explained.pool, server.name, plain(&server.address)),
        format!(
            "  state    {}{} for {}",
            if server.assumed { "assumed " } else { "" },
            server.state.name(),
            age(server.since_unix_ms)
        ),
        format!(
            "  reason   {} ({}, {} ago)",
            plain(&server.reason.text),
            source_label(server.reason.source),
            age(server.reason.at_unix_ms)
        ),
    ];
    lines.extend(server.reason.check.as_ref().map(describe_probe));
    lines.push(format!("  choice   {}; {}", entry.rank, explained.selection));
    lines.push(if entry.available {
        format!("  share    {:.1} % by weight", entry.share_percent)
    } else {
        "  share    none now: not available".to_owned()
    });
    let mut policy = format!("  policy   {}", explained.balance);
    if let Some(answer) = entry.first_byte_ms {
        policy.push_str(&format!(", responds in {answer:.1} ms on average"));
    }
    if let (Some(load), Some(source)) = (entry.load, &entry.load_source) {
        policy.push_str(&format!(", says by {source} that it is loaded to {:.0} %", load * 100.0));
    }
    lines.push(policy);
    lines.push(format!(
        "  load     {} in flight, {} connections open{}",
        count(u64::from(server.in_flight)),
        count(u64::from(server.connections)),
        server
            .max_connections
            .map(|cap| format!(", of at most {}", count(u64::from(cap))))
            .unwrap_or_default()
    ));
    lines.extend(describe_weight(&entry.weight, age));
    lines.extend(
        entry.ejection.iter().flat_map(|entry| describe_ejection(entry, explained.now_unix_ms)),
    );
    lines.push(String::new());
    lines.join("\n")
}

/// The probe, its result, its duration, and how often it had that result.
fn describe_probe(seen: &CheckEvidence) -> String {
    let whose = seen.probe.as_deref().unwrap_or("clients' connections");
    let took = seen.duration_us.map(|took| format!(" after {}", micros(took))).unwrap_or_default();
    let kind = if seen.passed { "good" } else { "bad" };
    let whose = plain(whose);
    let saw = plain(&seen.result);
    format!(
        "  check    by {whose}: {saw}{took}; {} {kind} in a row",
        count(u64::from(seen.consecutive))
    )
}

fn source_label(source: Source) -> &'static str {
    match source {
        Source::Probe => "health check",
        Source::Agent => "agent",
        Source::Traffic => "traffic",
        Source::Operator => "operator",
        Source::Configuration => "configuration",
        Source::Resolver => "resolver",
    }
}

fn describe_weight(weight: &WeightExplained, age: impl Fn(u64) -> String) -> Vec<String> {
    let mut lines = vec![format!("  weight   {} effective", weight.active)];
    lines.push(format!("    {} in the file", weight.configured));
    if let Some(word) = &weight.operator {
        lines.push(format!(
            "    {} by {}, {} ago",
            word.weight,
            plain(&word.by),
            age(word.at_unix_ms)
        ));
    }
    if let Some(judge) = &weight.controller {
        lines.extend(describe_weight_calculation(judge, &age));
    }
    if let Some(computed) = weight.controller_weight {
        lines.push(format!("    {computed} by the weight controller"));
    }
    if weight.slow_start_percent < 100 {
        lines.push(format!(
            "    {} % of its share by slow start; the pool's weights are scaled up meanwhile",
            weight.slow_start_percent
        ));
    }
    lines
}

/// Whether it is put out, why, and by which rules.
fn describe_ejection(ejection: &EjectionExplained, now: u64) -> [String; 2] {
    let out = ejection.until_unix_ms.map_or_else(String::new, |until| {
        format!("out for another {}, ", span(until.saturating_sub(now)))
    });
    [
        format!("  ejection {out}{}", plain(&ejection.text)),
        format!(
            "    for {} failures in a row, or within {} {} % of at least {} failed or {} % cut; at most {} % of the \
             pool",
            ejection.failures,
            span(ejection.interval_ms),
            ejection.rate_percent,
            ejection.min_requests,
            ejection.truncation_rate_percent,
            ejection.max_percent
        ),
    ]
}

fn describe_weight_calculation(
    judge: &ControllerExplained,
    age: &impl Fn(u64) -> String,
) -> Vec<String> {
    let row = &judge.calculation;
    let unknown = || "not known".to_owned();
    let values = [
        ("in flight", format!("{:.1}", row.input.active)),
        ("begun", format!("{:.0}", row.input.new)),
        ("probe", row.input.latency_ms.map_or_else(unknown, |value| format!("{value:.1} ms"))),
        ("load", row.input.load.map_or_else(unknown, |value| format!("{:.0} %", value * 100.0))),
    ];
    let mut lines =
        vec![format!("    computed {} ago, from base {:.2}:", age(judge.at_unix_ms), row.base)];
    for (((name, value), say), ratio) in values.iter().zip(judge.proportions).zip(row.ratios) {
        if say > 0 {
            lines.push(format!("      {say:>3} % {name:<10} {value:>10}  room {ratio:.2}"));
        }
    }
    let verdict = if judge.change_percent > f64::from(judge.sensitivity_percent) {
        "more"
    } else {
        "not more"
    };
    lines.push(format!(
        "      factor {:.2}, target {:.2}, level {:.2} after a step of {:.2} of the way",
        row.factor, row.target, row.state.level, row.state.step
    ));
    lines.push(format!(
        "      {} → {} wanted; the pool's weights change by {:.1} %, {verdict} than {} %: {} published",
        row.previous, row.rounded, judge.change_percent, judge.sensitivity_percent, row.state.published
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arithmetic_reads_from_top_to_bottom() {
        let json = r#"{
            "calculation": {
                "input": {"configured": 1, "active": 3.0, "new": 40.0, "latency_ms": null, "load": 0.25},
                "base": 10.0, "ratios": [1.5, 0.9, 1.0, 1.2], "factor": 1.2, "target": 12.5, "previous": 10,
                "rounded": 11, "state": {"level": 11.2, "step": 0.66, "gain": 0.5, "last": [10, 12.0], "published": 10}
            },
            "proportions": [50, 25, 0, 25], "change-percent": 4.5, "sensitivity-percent": 5, "at-unix-ms": 1000
        }"#;
        let judge: ControllerExplained = serde_json::from_str(json).unwrap();
        let text = describe_weight_calculation(&judge, &|_| "1 s".to_owned()).join("\n");
        let expected = "    computed 1 s ago, from base 10.00:\n       \
             50 % in flight         3.0  room 1.50\n       \
             25 % begun              40  room 0.90\n       \
             25 % load             25 %  room 1.20\n      \
             factor 1.20, target 12.50, level 11.20 after a step of 0.66 of the way\n      \
             10 → 11 wanted; the pool's weights change by 4.5 %, not more than 5 %: 10 published";
        assert_eq!(text, expected);
    }
}
