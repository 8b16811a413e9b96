//! `steelyard explain users`: SLOs: how operations ended for users, the error budgets that are left, and the networks
//! whose clients fare worst.
//!
//! Every number comes from the daemon; nothing is calculated here.

use std::process::ExitCode;

use api::types::{
    BurnAlarm, BurnSpan, ObjectiveStatus, OperationCounts, ServiceObjectives, SloExplained,
};

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish};
use crate::refresh::{RefreshArgs, show_or_watch};
use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::screen;
use crate::show::table::{TextTable, left, right};
use crate::show::unit::{budget_left, count, moment, percent, span};

/// Networks that are printed.
/// A page of a usual terminal.
const ROWS: usize = 20;

/// Show SLOs: actual shares, error budgets, alarms, and the worst client networks.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard explain users                 every service with an objective
  steelyard explain users shop --watch    again every two seconds, until Ctrl-C
  steelyard explain users shop --json | jq '.services[0].objectives[].\"budget-remaining-percent\"'")]
pub struct ExplainUsersArgs {
    /// Only this service.
    service: Option<String>,
    #[command(flatten)]
    again: RefreshArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &ExplainUsersArgs) -> ExitCode {
    finish(args.contact.json, block_on(show(args)))
}

async fn show(args: &ExplainUsersArgs) -> Result<CommandOutcome, CommandError> {
    let client = args.contact.client()?;
    let ask = || async { Ok(client.explain_users(args.service.as_deref()).await?) };
    let show = |explained: &SloExplained| {
        render_explanation(explained, screen::width(), Paint::for_stdout())
    };
    show_or_watch(args.again, args.contact.json, ask, show).await
}

fn render_explanation(explained: &SloExplained, width: usize, paint: Paint) -> String {
    if explained.services.is_empty() {
        return "No service has an objective: write `objective = \"99.9%\"` in [service.NAME].\n"
            .to_owned();
    }
    explained.services.iter().map(|service| render_service(service, width, paint)).collect()
}

fn render_service(service: &ServiceObjectives, width: usize, paint: Paint) -> String {
    let mut out = format!("{}\n", paint.text(Colour::Strong, &plain(&service.name)));
    for promise in &service.objectives {
        out.push_str(&describe_objective(promise, service.latency_ms, paint));
        for alarm in &promise.alarms {
            out.push_str(&describe_burn_alarm(alarm, paint));
        }
    }
    out.push_str(&format!("\n  the last hour: {}\n", describe_counts(&service.hour)));
    let errors: Vec<String> = service
        .hour
        .tcp_errors
        .iter()
        .map(|(kind, many)| format!("{} {}", plain(kind), count(*many)))
        .collect();
    if !errors.is_empty() {
        out.push_str(&format!("  TCP errors: {}\n", errors.join(", ")));
    }
    let causes: Vec<String> = service
        .causes
        .iter()
        .map(|error| format!("{} {}", plain(&error.cause), count(error.count)))
        .collect();
    if !causes.is_empty() {
        out.push_str(&format!("  failures by cause: {}\n", causes.join(", ")));
    }
    out.push('\n');
    out.push_str(&network_table(service).render(width, paint));
    out.push('\n');
    out
}

/// `available: 99.95 % of 12,000 requests …`
fn describe_objective(promise: &ObjectiveStatus, fast_ms: Option<f64>, paint: Paint) -> String {
    let objective = match (promise.kind.as_str(), fast_ms) {
        ("latency" | "fast", Some(millis)) => format!("latency, within {millis} ms"),
        (objective, _) => plain(objective),
    };
    let is = match (promise.good_percent, promise.since_unix_ms) {
        (Some(is), Some(since)) => format!(
            "{} of {} requests since {} ({} were not)",
            percent(is),
            count(promise.operations),
            moment(since),
            count(promise.bad)
        ),
        _ => "no requests yet".to_owned(),
    };
    let left = format!("error budget left: {}", budget_left(promise.budget_remaining_percent));
    let colour = if promise.budget_remaining_percent > 0.0 { Colour::Good } else { Colour::Bad };
    format!(
        "  {objective}: {is}; target {} over {}; {}\n",
        percent(promise.target_percent),
        span(promise.window_ms),
        paint.text(colour, &left)
    )
}

fn describe_burn_alarm(alarm: &BurnAlarm, paint: Paint) -> String {
    let side = |measured: &BurnSpan| match measured.burn_rate {
        Some(burn) => format!("{burn:.1} over {}", span(measured.span_ms)),
        None => format!("none over {}", span(measured.span_ms)),
    };
    let mut out = format!(
        "    burn rate {}, {}; alarm at {}: ",
        side(&alarm.short),
        side(&alarm.long),
        alarm.factor
    );
    match alarm.since_unix_ms {
        Some(since) => {
            let raised = format!("raised {}", moment(since));
            out.push_str(&format!("{}\n", paint.text(Colour::Bad, &raised)));
            let reason = alarm.reason.as_deref().map(plain).unwrap_or_default();
            out.push_str(&format!("      {reason}\n"));
        }
        None => out.push_str("not raised\n"),
    }
    out
}

fn describe_counts(counts: &OperationCounts) -> String {
    let share = |label: &str, of: Option<f64>| {
        of.map(|of| format!(", {} {label}", percent(of))).unwrap_or_default()
    };
    format!(
        "{} fast, {} slow, {} failed{}{}; {} aborted by clients ({} of them late), {} denied",
        count(counts.fast),
        count(counts.slow),
        count(counts.failed),
        share("available", counts.availability_percent),
        share("fast", counts.fast_percent),
        count(counts.aborted),
        count(counts.aborted_late),
        count(counts.declined)
    )
}

fn network_table(service: &ServiceObjectives) -> TextTable {
    let mut table = TextTable::new(&[
        left("CLIENTS"),
        right("FAST"),
        right("SLOW"),
        right("FAILED"),
        right("ABORTED"),
        right("AVAILABLE"),
        right("FAST SHARE"),
        left("TCP ERRORS"),
    ]);
    let mut row = |name: String, counts: &OperationCounts| {
        let share = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), percent);
        let errors = counts.tcp_errors.iter();
        let errors = errors.map(|(kind, many)| format!("{kind} {}", count(*many)));
        table.row(vec![
            name.into(),
            count(counts.fast).into(),
            count(counts.slow).into(),
            count(counts.failed).into(),
            count(counts.aborted).into(),
            share(counts.availability_percent).into(),
            share(counts.fast_percent).into(),
            errors.collect::<Vec<_>>().join(", ").into(),
        ]);
    };
    for network in service.networks.iter().take(ROWS) {
        row(network.network.clone(), &network.counts);
    }
    let others = &service.others;
    if others.fast + others.slow + others.failed + others.aborted + others.declined > 0 {
        row(format!("beyond {} networks", service.max_networks), others);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_show_their_budget_and_the_worst_networks() {
        let json = r#"{"now-unix-ms": 3600000, "services": [{
            "name": "shop", "latency-ms": 300.0, "max-networks": 1,
            "objectives": [{"kind": "latency", "target-percent": 99.0, "window-ms": 2592000000, "since-unix-ms": 0,
                "operations": 1000, "bad": 5, "good-percent": 99.5, "budget-remaining-percent": 50.0,
                "alarms": [{"name": "1h", "factor": 14.4, "since-unix-ms": 60000, "reason": "because",
                    "long": {"span-ms": 3600000, "operations": 9, "bad": 9, "burn-rate": 100.0},
                    "short": {"span-ms": 300000, "operations": 0, "bad": 0, "burn-rate": null}}]}],
            "hour": {"fast": 995, "slow": 3, "failed": 2, "aborted": 7, "aborted-late": 1, "declined": 4,
                "availability-percent": 99.8, "fast-percent": 99.5, "tcp-errors": {"timed-out": 2}},
            "causes": [{"cause": "connect-timeout", "count": 2}],
            "networks": [{"network": "192.0.2.0/24", "fast": 990, "slow": 3, "failed": 2, "aborted": 0, "aborted-late": 0,
                "declined": 0, "availability-percent": 99.79, "fast-percent": 99.4, "tcp-errors": {"timed-out": 2}}],
            "others": {"fast": 5, "slow": 0, "failed": 0, "aborted": 7, "aborted-late": 1, "declined": 4,
                "availability-percent": 100.0, "fast-percent": 100.0, "tcp-errors": {}}
        }]}"#;
        let explained: SloExplained = serde_json::from_str(json).unwrap();
        let text = render_explanation(&explained, 200, Paint::fixed(false));
        for part in [
            "latency, within 300 ms: 99.5 % of 1,000 requests since 1970-01-01 00:00:00Z (5 were not); target 99 % over 30d",
            "error budget left: 50 %",
            "burn rate none over 5m, 100.0 over 1h; alarm at 14.4: raised 1970-01-01 00:01:00Z",
            "      because",
            "2 failed, 99.8 % available, 99.5 % fast; 7 aborted by clients (1 of them late), 4 denied",
            "failures by cause: connect-timeout 2",
            "192.0.2.0/24",
            "beyond 1 networks",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        let nothing = super::render_explanation(&SloExplained::default(), 80, Paint::fixed(false));
        assert!(nothing.contains("objective = \"99.9%\""), "{nothing}");
    }
}
