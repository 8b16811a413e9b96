//! `bench http`: makes the runs of a benchmark in sequence and builds their result.
//!
//! It resolves no names, opens no files and prints nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::drive::{DriveError, DriveOutcome, drive_fleet, drive_load};
use crate::fleet::leader::Fleet;
use crate::load::{FailureCause, LoadModel, LoadPlan, LoadReport};
use crate::machine::facts::{MachineFacts, forecast_limits, generator_limits};
use crate::machine::processors::describe_skew;
use crate::result::{BenchMetric, BenchResult, BenchRun, MetricDirection, SecondSample};
use crate::result_note::{NoteSeverity, ResultNote};

#[derive(Clone, Debug)]
pub struct HttpBenchmark {
    /// The load; its pace is that of the first test.
    pub plan: LoadPlan,
    /// Open loop: one test per rate; empty: the plan's own pace.
    pub rates: Vec<f64>,
    /// Repeats of each test; repeats of all tests alternate.
    pub repeats: u32,
    /// Uncounted load before the first test.
    pub warm_up: Duration,
    /// The machines that make the load; `None`: this machine.
    pub fleet: Option<Fleet>,
}

impl HttpBenchmark {
    pub(super) fn drive(
        &self,
        plan: LoadPlan,
        stop: &Arc<AtomicBool>,
        on_second: &mut dyn FnMut(&SecondSample),
    ) -> Result<DriveOutcome, DriveError> {
        match &self.fleet {
            Some(fleet) => drive_fleet(&plan, fleet, stop, on_second),
            None => Ok(drive_load(plan, stop, on_second)?),
        }
    }

    /// Limits of the machines that made the load.
    pub(super) fn client_limits(
        &self,
        driven: &DriveOutcome,
        plan: &LoadPlan,
        facts: &MachineFacts,
    ) -> Vec<ResultNote> {
        match &self.fleet {
            Some(_) => driven.notes.clone(),
            None => generator_limits(facts, plan, &driven.report, driven.busiest),
        }
    }
}

/// Events of a benchmark for its caller.
#[derive(Clone, Debug)]
pub enum BenchEvent<'a> {
    TestStarted {
        test: &'a str,
        /// Number of the repeat, from 1.
        repeat: u32,
        /// How many repeats are planned; 0: not known.
        repeats: u32,
    },
    SecondElapsed(&'a SecondSample),
    /// A limit that this machine will reach.
    LimitForecast(&'a ResultNote),
}

/// Runs a benchmark. `stop` ends it early; earlier runs stay in the result, which is marked as partial.
///
/// # Errors
/// The first run could not start, so nothing was measured. A later failure becomes a note.
pub fn run_benchmark(
    order: &HttpBenchmark,
    facts: &MachineFacts,
    result: &mut BenchResult,
    stop: &Arc<AtomicBool>,
    on_event: &mut dyn FnMut(BenchEvent<'_>),
) -> Result<(), DriveError> {
    let tests = planned_tests(order);
    // Agents check their own machines.
    for PlannedTest { plan, .. } in tests.iter().filter(|_| order.fleet.is_none()) {
        report_forecast(facts, plan, result, on_event);
    }
    warm_up(order, &tests, stop, on_event)?;
    for repeat in 1..=order.repeats {
        for PlannedTest { name: test, plan } in &tests {
            if stop.load(Ordering::Relaxed) {
                let text =
                    format!("stopped before repeat {repeat} of {} of `{test}`", order.repeats);
                result.add_note(NoteSeverity::Partial, text);
                return Ok(());
            }
            on_event(BenchEvent::TestStarted { test, repeat, repeats: order.repeats });
            let driven = order.drive(plan.clone(), stop, &mut |second| {
                on_event(BenchEvent::SecondElapsed(second))
            });
            let driven = match driven {
                Err(error) if !result.runs.is_empty() => {
                    let text = format!("`{test}`, repeat {repeat} could not start: {error}");
                    result.add_note(NoteSeverity::Partial, text);
                    return Ok(());
                }
                driven => driven?,
            };
            let run = assess_run(order, &driven, plan, facts, test, repeat, result);
            result.runs.push(run);
        }
    }
    Ok(())
}

/// Reports limits that this machine will reach, before the run.
pub(super) fn report_forecast(
    facts: &MachineFacts,
    plan: &LoadPlan,
    result: &mut BenchResult,
    on_event: &mut dyn FnMut(BenchEvent<'_>),
) {
    for note in forecast_limits(facts, plan) {
        on_event(BenchEvent::LimitForecast(&note));
        result.add_note(note.weight, note.text);
    }
}

/// A test of a benchmark: its name in the result, and its load.
#[derive(Clone, Debug)]
pub(super) struct PlannedTest {
    pub name: String,
    pub plan: LoadPlan,
}

pub(super) fn planned_tests(order: &HttpBenchmark) -> Vec<PlannedTest> {
    let connections = order.plan.connections();
    if order.rates.is_empty() {
        let name = format!("{connections} connections");
        return vec![PlannedTest { name, plan: order.plan.clone() }];
    }
    let test = |rate: &f64| {
        let pace = LoadModel::Open { per_second: *rate, connections };
        let plan = LoadPlan { pace, ..order.plan.clone() };
        PlannedTest { name: format!("{rate} requests/s"), plan }
    };
    order.rates.iter().map(test).collect()
}

pub(super) fn warm_up(
    order: &HttpBenchmark,
    tests: &[PlannedTest],
    stop: &Arc<AtomicBool>,
    on_event: &mut dyn FnMut(BenchEvent<'_>),
) -> Result<(), DriveError> {
    let Some(PlannedTest { plan, .. }) = tests.first().filter(|_| !order.warm_up.is_zero()) else {
        return Ok(());
    };
    on_event(BenchEvent::TestStarted { test: "warm-up, not counted", repeat: 1, repeats: 1 });
    let plan = LoadPlan { time: Some(order.warm_up), requests: None, ..plan.clone() };
    order.drive(plan, stop, &mut |second| on_event(BenchEvent::SecondElapsed(second))).map(drop)
}

/// Converts a run to the result's format and adds notes about it.
pub(super) fn assess_run(
    order: &HttpBenchmark,
    driven: &DriveOutcome,
    plan: &LoadPlan,
    facts: &MachineFacts,
    test: &str,
    repeat: u32,
    result: &mut BenchResult,
) -> BenchRun {
    let report = &driven.report;
    for note in order.client_limits(driven, plan, facts) {
        result.add_note(note.weight, format!("`{test}`: {}", note.text));
    }
    if let Some(text) = describe_skew(&driven.processors) {
        result.add_note_once("receive softirqs", NoteSeverity::Hint, text);
    }
    let mut complete = driven.parts.iter().all(|part| part.complete);
    for RunShortfall { grave, text } in find_shortfalls(driven, plan) {
        complete &= !grave;
        result.add_note(NoteSeverity::Partial, format!("`{test}`, repeat {repeat}: {text}"));
    }
    BenchRun {
        test: test.to_owned(),
        repeat,
        complete,
        metrics: metrics(report),
        failed: report.failed_by_cause.iter().map(|(cause, n)| ((*cause).to_owned(), *n)).collect(),
        series: driven.series.clone(),
        histogram: report.histogram(),
        processors: driven.processors.clone(),
        busy: driven.busy.clone(),
        beside: Some(driven.machine_activity.clone()),
        threads_busy: driven.threads_busy.clone(),
        parts: driven.parts.clone(),
    }
}

/// Something that is missing in a run.
struct RunShortfall {
    /// Whether the figures then have another meaning.
    grave: bool,
    text: String,
}

fn find_shortfalls(driven: &DriveOutcome, plan: &LoadPlan) -> Vec<RunShortfall> {
    let report = &driven.report;
    let mut out = Vec::new();
    if driven.stopped {
        let text = format!("stopped after {:.1} s", report.seconds);
        out.push(RunShortfall { grave: true, text });
    }
    if report.failed > 0 {
        let causes: Vec<String> = report
            .failed_by_cause
            .iter()
            .map(|(cause, count)| format!("{count} {cause}"))
            .collect();
        let grave = report.failed as f64 > report.requests as f64 * GRAVE_SHARE;
        let text = format!(
            "{} of {} requests failed: {}",
            report.failed,
            report.requests,
            causes.join(", ")
        );
        out.push(RunShortfall { grave, text });
    }
    if report.answered == 0 {
        out.push(RunShortfall { grave: true, text: "nothing was answered".to_owned() });
    }
    if report.in_flight > 0 {
        let text =
            format!("{} requests were under way at the end and are not counted", report.in_flight);
        out.push(RunShortfall { grave: false, text });
    }
    if let LoadModel::Open { per_second, .. } = plan.pace
        && !driven.stopped
        && falls_short(report, per_second)
    {
        let reached = report.answered_per_second;
        let unsent = report.unsent_at_end;
        let mut text = format!(
            "the rate was not reached: {per_second} requests/s were due, {reached:.0} answered"
        );
        if unsent > 0 {
            text += &format!("; when the last one was due {unsent} still waited for a connection");
        }
        out.push(RunShortfall { grave: true, text });
    }
    out
}

/// Whether the target did not keep up with an open loop. A slow response alone does not show that. Starts without a
/// free connection, or requests that timed out, do.
fn falls_short(report: &LoadReport, per_second: f64) -> bool {
    let late = report.count(FailureCause::NotSent) + report.count(FailureCause::Timeout) > 0;
    let waited = report.unsent_at_end as f64 > report.requests as f64 * (1.0 - REACHED);
    waited || (late && report.answered_per_second < per_second * REACHED)
}

fn metrics(report: &LoadReport) -> Vec<BenchMetric> {
    let mut out = Vec::new();
    let mut add = |name: &str, unit: &str, better, value| {
        out.push(BenchMetric::new(name, unit, better, value))
    };
    add("requests", "1", MetricDirection::Neither, report.requests as f64);
    add("answered", "1", MetricDirection::Neither, report.answered as f64);
    add("failed", "1", MetricDirection::Less, report.failed as f64);
    add("answered-on-kept", "1", MetricDirection::Neither, report.answered_on_reused as f64);
    add("time", "s", MetricDirection::Neither, report.seconds);
    add("rate", "requests/s", MetricDirection::More, report.answered_per_second);
    add("received", "bit/s", MetricDirection::More, report.received_per_second);
    add("sent", "bit/s", MetricDirection::Neither, report.sent_per_second);
    add("received-bytes", "B", MetricDirection::Neither, report.bytes_in as f64);
    add("body-bytes", "B", MetricDirection::Neither, report.bytes_body as f64);
    add("sent-bytes", "B", MetricDirection::Neither, report.bytes_out as f64);
    add("connections", "1", MetricDirection::Neither, report.connects as f64);
    let latency = &report.latency;
    add("latency-mean", "ms", MetricDirection::Less, latency.mean_us / 1e3);
    add("latency-sd", "ms", MetricDirection::Neither, latency.sd_us / 1e3);
    add("latency-min", "ms", MetricDirection::Neither, latency.min_us / 1e3);
    for (name, quantile) in PERCENTILES {
        let value = if report.answered > 0 { report.latency_us(quantile) } else { 0.0 };
        add(&format!("latency-{name}"), "ms", MetricDirection::Less, value / 1e3);
    }
    for (name, part) in
        [("connect", &report.connect), ("waiting", &report.waiting), ("service", &report.service)]
    {
        add(&format!("{name}-count"), "1", MetricDirection::Neither, part.count as f64);
        add(&format!("{name}-min"), "ms", MetricDirection::Neither, part.min_us / 1e3);
        add(&format!("{name}-mean"), "ms", MetricDirection::Neither, part.mean_us / 1e3);
        add(&format!("{name}-sd"), "ms", MetricDirection::Neither, part.sd_us / 1e3);
        add(&format!("{name}-p50"), "ms", MetricDirection::Neither, part.p50_us / 1e3);
        add(&format!("{name}-p99"), "ms", MetricDirection::Neither, part.p99_us / 1e3);
        add(&format!("{name}-max"), "ms", MetricDirection::Neither, part.max_us / 1e3);
    }
    add("start-lag-p99", "ms", MetricDirection::Neither, report.lag.p99_us / 1e3);
    let statuses = report.statuses.iter().enumerate().skip(1);
    statuses.for_each(|(class, n)| {
        add(&format!("status-{class}xx"), "1", MetricDirection::Neither, *n as f64)
    });
    out
}

/// Reported percentiles with their quantiles.
pub const PERCENTILES: [(&str, f64); 11] = [
    ("p50", 0.5),
    ("p66", 0.66),
    ("p75", 0.75),
    ("p80", 0.8),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p98", 0.98),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("max", 1.0),
];
/// A larger share of failed requests changes the meaning of a run's figures.
const GRAVE_SHARE: f64 = 0.01;
/// Share of the requested rate from which the rate counts as reached.
const REACHED: f64 = 0.98;
