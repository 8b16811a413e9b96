//! `bench http` as a whole: the runs that an order asks for, in which order, and what they come to.
//!
//! It resolves no names, opens no files and prints nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::drive::{DriveError, Driven, drive, drive_fleet};
use crate::fleet::lead::Fleet;
use crate::load::{Fail, Pace, Plan, Report};
use crate::machine::facts::{Facts, forecast, named};
use crate::machine::processors::skew;
use crate::result::{BenchResult, Better, Metric, Note, Run, Second, Weight};
use crate::seek::{Found, Objective, Seek, SeekEnd, Terms, Verdict};

/// An order.
#[derive(Clone, Debug)]
pub struct Order {
    /// The load; its pace is of the first test.
    pub plan: Plan,
    /// Open loop: the rates, each a test; empty: the plan's own pace.
    pub rates: Vec<f64>,
    /// How often each test is repeated; repeats of all tests take turns.
    pub repeats: u32,
    /// Load before the first test that is not counted.
    pub warm_up: Duration,
    /// Who makes the load; `None`: this machine.
    pub fleet: Option<Fleet>,
}

impl Order {
    fn drive(
        &self,
        plan: Plan,
        stop: &Arc<AtomicBool>,
        told: &mut dyn FnMut(&Second),
    ) -> Result<Driven, DriveError> {
        match &self.fleet {
            Some(fleet) => drive_fleet(&plan, fleet, stop, told),
            None => Ok(drive(plan, stop, told)?),
        }
    }

    /// What limited whoever made the load.
    fn limits(&self, driven: &Driven, plan: &Plan, facts: &Facts) -> Vec<Note> {
        match &self.fleet {
            Some(_) => driven.notes.clone(),
            None => named(facts, plan, &driven.report, driven.busiest),
        }
    }
}

/// What a listener hears.
#[derive(Clone, Debug)]
pub enum Told<'a> {
    /// A run begins.
    Begins {
        /// Its test.
        test: &'a str,
        /// Which repeat, from 1, and of how many.
        repeat: (u32, u32),
    },
    /// A second of it.
    Second(&'a Second),
    /// What this machine will run out of.
    Foretold(&'a Note),
}

/// Carries out an order. `stop` ends it; what was measured until then is kept and marked.
///
/// # Errors
/// The first run could not be started; nothing was measured. That a later one could not becomes a note.
pub fn run(
    order: &Order,
    facts: &Facts,
    result: &mut BenchResult,
    stop: &Arc<AtomicBool>,
    told: &mut dyn FnMut(Told<'_>),
) -> Result<(), DriveError> {
    let tests = tests(order);
    // Agents look at themselves.
    for (_, plan) in tests.iter().filter(|_| order.fleet.is_none()) {
        foretell(facts, plan, result, told);
    }
    warm_up(order, &tests, stop, told)?;
    for repeat in 1..=order.repeats {
        for (test, plan) in &tests {
            if stop.load(Ordering::Relaxed) {
                let text =
                    format!("stopped before repeat {repeat} of {} of `{test}`", order.repeats);
                result.note(Weight::Partial, text);
                return Ok(());
            }
            told(Told::Begins { test, repeat: (repeat, order.repeats) });
            let driven = order.drive(plan.clone(), stop, &mut |second| told(Told::Second(second)));
            let driven = match driven {
                Err(error) if !result.runs.is_empty() => {
                    let text = format!("`{test}`, repeat {repeat} could not start: {error}");
                    result.note(Weight::Partial, text);
                    return Ok(());
                }
                driven => driven?,
            };
            let run = judged(order, &driven, (plan, facts), (test, repeat), result);
            result.runs.push(run);
        }
    }
    Ok(())
}

/// What this machine will run out of is said before it does.
fn foretell(facts: &Facts, plan: &Plan, result: &mut BenchResult, told: &mut dyn FnMut(Told<'_>)) {
    for note in forecast(facts, plan) {
        told(Told::Foretold(&note));
        result.note(note.weight, note.text);
    }
}

fn tests(order: &Order) -> Vec<(String, Plan)> {
    let connections = order.plan.connections();
    if order.rates.is_empty() {
        return vec![(format!("{connections} connections"), order.plan.clone())];
    }
    let test = |rate: &f64| {
        let pace = Pace::Open { per_second: *rate, connections };
        (format!("{rate} requests/s"), Plan { pace, ..order.plan.clone() })
    };
    order.rates.iter().map(test).collect()
}

fn warm_up(
    order: &Order,
    tests: &[(String, Plan)],
    stop: &Arc<AtomicBool>,
    told: &mut dyn FnMut(Told<'_>),
) -> Result<(), DriveError> {
    let Some((_, plan)) = tests.first().filter(|_| !order.warm_up.is_zero()) else { return Ok(()) };
    told(Told::Begins { test: "warm-up, not counted", repeat: (1, 1) });
    let plan = Plan { time: Some(order.warm_up), requests: None, ..plan.clone() };
    order.drive(plan, stop, &mut |second| told(Told::Second(second))).map(drop)
}

/// A run as the result keeps it; what must be known of it becomes a note.
fn judged(
    order: &Order,
    driven: &Driven,
    (plan, facts): (&Plan, &Facts),
    (test, repeat): (&str, u32),
    result: &mut BenchResult,
) -> Run {
    let report = &driven.report;
    for note in order.limits(driven, plan, facts) {
        result.note(note.weight, format!("`{test}`: {}", note.text));
    }
    if let Some(text) = skew(&driven.processors) {
        result.note_first("receive softirqs", Weight::Hint, text);
    }
    let mut complete = driven.parts.iter().all(|part| part.complete);
    for (grave, text) in shortfalls(driven, plan) {
        complete &= !grave;
        result.note(Weight::Partial, format!("`{test}`, repeat {repeat}: {text}"));
    }
    Run {
        test: test.to_owned(),
        repeat,
        complete,
        metrics: metrics(report),
        failed: report.failed_by_cause.iter().map(|(cause, n)| ((*cause).to_owned(), *n)).collect(),
        series: driven.series.clone(),
        histogram: report.histogram(),
        processors: driven.processors.clone(),
        busy: driven.busy.clone(),
        beside: Some(driven.beside.clone()),
        threads_busy: driven.threads_busy.clone(),
        parts: driven.parts.clone(),
    }
}

/// What is missing of a run, and whether its figures then mean something else.
fn shortfalls(driven: &Driven, plan: &Plan) -> Vec<(bool, String)> {
    let report = &driven.report;
    let mut out = Vec::new();
    if driven.stopped {
        out.push((true, format!("stopped after {:.1} s", report.seconds)));
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
        out.push((grave, text));
    }
    if report.answered == 0 {
        out.push((true, "nothing was answered".to_owned()));
    }
    if report.in_flight > 0 {
        let text =
            format!("{} requests were under way at the end and are not counted", report.in_flight);
        out.push((false, text));
    }
    if let Pace::Open { per_second, .. } = plan.pace
        && !driven.stopped
        && falls_short(report, per_second)
    {
        let (reached, unsent) = (report.answered_per_second, report.unsent_at_end);
        let mut text = format!(
            "the rate was not reached: {per_second} requests/s were due, {reached:.0} answered"
        );
        if unsent > 0 {
            text += &format!("; when the last one was due {unsent} still waited for a connection");
        }
        out.push((true, text));
    }
    out
}

/// Whether the target did not keep up with an open loop. A slow answer alone is no sign of that: what tells is that starts found
/// no connection free, or that requests ran out of time.
fn falls_short(report: &Report, per_second: f64) -> bool {
    let late = report.count(Fail::NotSent) + report.count(Fail::Timeout) > 0;
    let waited = report.unsent_at_end as f64 > report.requests as f64 * (1.0 - REACHED);
    waited || (late && report.answered_per_second < per_second * REACHED)
}

fn metrics(report: &Report) -> Vec<Metric> {
    let mut out = Vec::new();
    let mut add =
        |name: &str, unit: &str, better, value| out.push(Metric::new(name, unit, better, value));
    add("requests", "1", Better::Neither, report.requests as f64);
    add("answered", "1", Better::Neither, report.answered as f64);
    add("failed", "1", Better::Less, report.failed as f64);
    add("answered-on-kept", "1", Better::Neither, report.answered_on_reused as f64);
    add("time", "s", Better::Neither, report.seconds);
    add("rate", "requests/s", Better::More, report.answered_per_second);
    add("received", "bit/s", Better::More, report.received_per_second);
    add("sent", "bit/s", Better::Neither, report.sent_per_second);
    add("received-bytes", "B", Better::Neither, report.bytes_in as f64);
    add("body-bytes", "B", Better::Neither, report.bytes_body as f64);
    add("sent-bytes", "B", Better::Neither, report.bytes_out as f64);
    add("connections", "1", Better::Neither, report.connects as f64);
    let latency = &report.latency;
    add("latency-mean", "ms", Better::Less, latency.mean_us / 1e3);
    add("latency-sd", "ms", Better::Neither, latency.sd_us / 1e3);
    add("latency-min", "ms", Better::Neither, latency.min_us / 1e3);
    for (name, quantile) in PERCENTILES {
        let value = if report.answered > 0 { report.latency_us(quantile) } else { 0.0 };
        add(&format!("latency-{name}"), "ms", Better::Less, value / 1e3);
    }
    for (name, part) in
        [("connect", &report.connect), ("waiting", &report.waiting), ("service", &report.service)]
    {
        add(&format!("{name}-count"), "1", Better::Neither, part.count as f64);
        add(&format!("{name}-min"), "ms", Better::Neither, part.min_us / 1e3);
        add(&format!("{name}-mean"), "ms", Better::Neither, part.mean_us / 1e3);
        add(&format!("{name}-sd"), "ms", Better::Neither, part.sd_us / 1e3);
        add(&format!("{name}-p50"), "ms", Better::Neither, part.p50_us / 1e3);
        add(&format!("{name}-p99"), "ms", Better::Neither, part.p99_us / 1e3);
        add(&format!("{name}-max"), "ms", Better::Neither, part.max_us / 1e3);
    }
    add("start-lag-p99", "ms", Better::Neither, report.lag.p99_us / 1e3);
    let statuses = report.statuses.iter().enumerate().skip(1);
    statuses
        .for_each(|(class, n)| add(&format!("status-{class}xx"), "1", Better::Neither, *n as f64));
    out
}

/// Searches the highest rate that meets `objective`; every trial becomes a run of the result.
///
/// # Errors
/// The first trial could not be started.
pub fn seek(
    order: &Order,
    (objective, terms): (Objective, Terms),
    facts: &Facts,
    result: &mut BenchResult,
    stop: &Arc<AtomicBool>,
    told: &mut dyn FnMut(Told<'_>),
) -> Result<Option<Found>, DriveError> {
    let mut seek = Seek::new(terms);
    let first = Order { rates: vec![terms.from], ..order.clone() };
    if order.fleet.is_none() {
        tests(&first).iter().for_each(|(_, plan)| foretell(facts, plan, result, told));
    }
    warm_up(&first, &tests(&first), stop, told)?;
    let (mut trial, mut answered, mut causes) = (0, 0, Vec::new());
    while let Some(rate) = seek.next() {
        trial += 1;
        let pace = Pace::Open { per_second: rate, connections: order.plan.connections() };
        let plan = Plan { pace, ..order.plan.clone() };
        let test = format!("trial at {rate:.0} requests/s");
        told(Told::Begins { test: &test, repeat: (trial, 0) });
        let driven = order.drive(plan.clone(), stop, &mut |second| told(Told::Second(second)));
        let driven = match driven {
            Err(error) if !result.runs.is_empty() => {
                let text = format!("{test} could not start: {error}; the search is not over");
                result.note(Weight::Partial, text);
                return Ok(None);
            }
            driven => driven?,
        };
        let limits = order.limits(&driven, &plan, facts);
        let verdict = verdict(
            &objective,
            &driven.report,
            limits.iter().any(|note| note.weight != Weight::Hint),
        );
        // Trials that miss are what a search is made of: what they lack is no fault of the result.
        let mut aside = BenchResult::new("", Default::default());
        let run = judged(order, &driven, (&plan, facts), (&test, trial), &mut aside);
        answered += driven.report.answered;
        causes = driven.report.failed_by_cause.keys().copied().collect();
        result.runs.push(run);
        if verdict == Verdict::ClientLimit {
            limits
                .into_iter()
                .for_each(|note| result.note(note.weight, format!("`{test}`: {}", note.text)));
        }
        if driven.stopped {
            result.note(Weight::Partial, format!("stopped in {test}: the search is not over"));
            return Ok(None);
        }
        seek.tried(verdict);
    }
    let found = seek.found();
    if answered == 0 {
        let text = format!("nothing was answered at any rate: {}", causes.join(", "));
        result.note(Weight::Partial, text);
    } else if found.is_some_and(|found| found.end == SeekEnd::Wavers) {
        let text =
            "trials contradict each other, so no rate is confirmed: search again, with a longer -d";
        result.note(Weight::Partial, text.to_owned());
    }
    result.search = found;
    Ok(found)
}

fn verdict(objective: &Objective, report: &Report, limited: bool) -> Verdict {
    // Failed requests are slow ones; those under way at the end were not fast either.
    let slow = report.slower_than(objective.within_us) + report.failed + report.in_flight;
    match objective.judge(slow, report.requests) {
        Verdict::Misses if limited => Verdict::ClientLimit,
        verdict => verdict,
    }
}

/// Percentiles that are told, with their quantiles.
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
/// More failures than this part of a run's requests, and its figures mean something else.
const GRAVE_SHARE: f64 = 0.01;
/// A rate counts as reached from this part of it on.
const REACHED: f64 = 0.98;
