//! Carries out one run: starts the load, looks at it and at this machine every second, and collects what was seen.
//!
//! It judges nothing and prints nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::load::{Load, Plan, Report, StartError};
use crate::machine::processors::Share;
use crate::machine::read::counters;
use crate::poller::now;
use crate::result::Second;

/// What one run came to.
#[derive(Clone, Debug)]
pub struct Driven {
    /// Its figures.
    pub report: Report,
    /// Second by second.
    pub series: Vec<Second>,
    /// What each processor did meanwhile.
    pub processors: Vec<Share>,
    /// Share of a processor that each thread of the generator used over the run, 0 to 1.
    pub threads_busy: Vec<f64>,
    /// The largest such share of any thread in any second.
    pub busiest: f64,
    /// Whether it was stopped from outside.
    pub stopped: bool,
}

/// Runs a plan. `stop` ends it early; `told` hears of every second.
pub fn drive(
    plan: Plan,
    stop: &Arc<AtomicBool>,
    told: &mut dyn FnMut(&Second),
) -> Result<Driven, StartError> {
    let before = counters();
    let began = now();
    let load = Load::start(plan)?;
    let stopper = load.stopper();
    let mut last = load.report();
    let mut last_cpu = load.cpu();
    let mut next = began + SECOND;
    let (mut series, mut busiest, mut stopped) = (Vec::new(), 0.0, false);
    while !load.is_finished() {
        if stop.load(Ordering::Relaxed) && !stopped {
            stopper.stop();
            stopped = true;
        }
        if now() >= next {
            next = now() + SECOND;
            let report = load.report();
            let second = second(&report.since(&last), report.seconds);
            let cpu = load.cpu();
            busiest = busy(&cpu, &last_cpu, report.seconds - last.seconds).fold(busiest, f64::max);
            told(&second);
            series.push(second);
            (last, last_cpu) = (report, cpu);
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
    let cpu = load.cpu();
    let report = load.wait();
    let tail = report.since(&last);
    if tail.seconds > SHORTEST_TAIL || series.is_empty() {
        series.push(second(&tail, report.seconds));
    }
    let none = vec![Duration::ZERO; cpu.len()];
    let threads_busy: Vec<f64> = busy(&cpu, &none, report.seconds).collect();
    if series.len() < 2 {
        busiest = threads_busy.iter().copied().fold(busiest, f64::max);
    }
    let processors = counters().since(&before, now().since(began).as_secs_f64());
    Ok(Driven { report, series, processors, threads_busy, busiest, stopped })
}

fn second(span: &Report, at: f64) -> Second {
    let per_second = |count: f64| if span.seconds > 0.0 { count / span.seconds } else { 0.0 };
    Second {
        at,
        rate: span.answered_per_second,
        failed: per_second(span.failed as f64),
        bits: per_second(span.bytes_in as f64 * 8.0),
        p50_us: span.latency.p50_us,
        p99_us: span.latency.p99_us,
        max_us: span.latency.max_us,
    }
}

fn busy<'a>(
    now: &'a [Duration],
    then: &'a [Duration],
    seconds: f64,
) -> impl Iterator<Item = f64> + 'a {
    let seconds = seconds.max(1e-9);
    now.iter().zip(then).map(move |(now, then)| now.saturating_sub(*then).as_secs_f64() / seconds)
}

const SECOND: Duration = Duration::from_secs(1);
/// How soon an end is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A shorter rest of a run has no rate of its own.
const SHORTEST_TAIL: f64 = 0.2;
