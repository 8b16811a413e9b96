//! Makes one run: starts the load, samples it and this machine every second, and collects the samples.
//!
//! It assesses nothing and prints nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use thiserror::Error;

use crate::fleet::leader::{Fleet, FleetError, run_fleet};
use crate::load::{LoadPlan, LoadReport, LoadRun, LoadStartError};
use crate::machine::activity::{MachineActivity, activity_between};
use crate::machine::processors::{ProcessorCounters, ProcessorShare};
use crate::machine::procfs::{read_proc_snapshot, read_processor_counters};
use crate::poller::now;
use crate::result::{AgentPart, SecondSample};
use crate::result_note::ResultNote;

/// The result of one run.
#[derive(Clone, Debug)]
pub struct DriveOutcome {
    pub report: LoadReport,
    pub series: Vec<SecondSample>,
    pub processors: Vec<ProcessorShare>,
    /// Busy share of each processor in each second of the series.
    pub busy: Vec<Vec<f64>>,
    /// Other activity of this machine.
    pub machine_activity: MachineActivity,
    /// Share of a processor that each thread of the generator used over the run, 0 to 1.
    pub threads_busy: Vec<f64>,
    /// The largest such share of a thread in a second.
    pub busiest: f64,
    /// Whether the run was stopped early from outside.
    pub stopped: bool,
    /// The part of each machine, if several made the load.
    pub parts: Vec<AgentPart>,
    /// Limits of the other machines; the caller assesses this machine.
    pub notes: Vec<ResultNote>,
}

/// Why a run could not start.
#[derive(Debug, Error)]
pub enum DriveError {
    #[error(transparent)]
    Local(#[from] LoadStartError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

/// Runs a plan with other machines.
pub fn drive_fleet(
    plan: &LoadPlan,
    fleet: &Fleet,
    stop: &Arc<AtomicBool>,
    on_second: &mut dyn FnMut(&SecondSample),
) -> Result<DriveOutcome, DriveError> {
    let before = read_processor_counters();
    let earlier = read_proc_snapshot();
    let began = now();
    let mut series = Vec::new();
    let mut last = None::<LoadReport>;
    let led = run_fleet(plan, fleet, stop, &mut |report| {
        let span = last.as_ref().map_or_else(|| report.clone(), |last| report.since(last));
        let second = sample_second(&span, report.seconds, 0.0);
        on_second(&second);
        series.push(second);
        last = Some(report.clone());
    })?;
    if series.is_empty() {
        series.push(sample_second(&led.report, led.report.seconds, 0.0));
    }
    let seconds = now().since(began).as_secs_f64();
    Ok(DriveOutcome {
        report: led.report,
        series,
        processors: read_processor_counters().since(&before, seconds),
        busy: Vec::new(),
        machine_activity: activity_between(&earlier, &read_proc_snapshot(), seconds),
        threads_busy: Vec::new(),
        busiest: 0.0,
        stopped: led.stopped,
        parts: led.parts,
        notes: led.notes,
    })
}

/// The counters at the end of the last second, and the seconds until then.
struct SecondSampler {
    last_report: LoadReport,
    last_cpu: Vec<Duration>,
    last_counters: ProcessorCounters,
    series: Vec<SecondSample>,
    busy_series: Vec<Vec<f64>>,
    busiest: f64,
}

impl SecondSampler {
    /// Adds the counts since the last call as one second of the series. Returns the busiest thread's share.
    fn add(&mut self, report: LoadReport, cpu: Vec<Duration>) -> f64 {
        let span = report.since(&self.last_report);
        let busiest = busy_shares(&cpu, &self.last_cpu, span.seconds).fold(0.0, f64::max);
        let counters = read_processor_counters();
        let shares = counters.since(&self.last_counters, span.seconds);
        self.busy_series.push(shares.iter().map(ProcessorShare::busy).collect());
        self.series.push(sample_second(&span, report.seconds, busiest));
        self.last_report = report;
        self.last_cpu = cpu;
        self.last_counters = counters;
        busiest
    }
}

/// Runs a plan. `stop` ends it early; `on_second` is called at the end of every second.
pub fn drive_load(
    plan: LoadPlan,
    stop: &Arc<AtomicBool>,
    on_second: &mut dyn FnMut(&SecondSample),
) -> Result<DriveOutcome, LoadStartError> {
    let before = read_processor_counters();
    let earlier = read_proc_snapshot();
    let began = now();
    let load = LoadRun::start(plan)?;
    let stopper = load.stopper();
    let mut sampler = SecondSampler {
        last_report: load.report(),
        last_cpu: load.cpu(),
        last_counters: before.clone(),
        series: Vec::new(),
        busy_series: Vec::new(),
        busiest: 0.0,
    };
    let mut next = began + SECOND;
    let mut stopped = false;
    while !load.is_finished() {
        if stop.load(Ordering::Relaxed) && !stopped {
            stopper.stop();
            stopped = true;
        }
        if now() >= next {
            next = now() + SECOND;
            let busiest = sampler.add(load.report(), load.cpu());
            sampler.busiest = f64::max(sampler.busiest, busiest);
            if let Some(second) = sampler.series.last() {
                on_second(second);
            }
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
    let cpu = load.cpu();
    let report = load.wait();
    let tail_seconds = report.since(&sampler.last_report).seconds;
    if tail_seconds > SHORTEST_TAIL || sampler.series.is_empty() {
        sampler.add(report.clone(), cpu.clone());
    }
    let SecondSampler { series, busy_series, mut busiest, .. } = sampler;
    let no_time = vec![Duration::ZERO; cpu.len()];
    let threads_busy: Vec<f64> = busy_shares(&cpu, &no_time, report.seconds).collect();
    if series.len() < 2 {
        busiest = threads_busy.iter().copied().fold(busiest, f64::max);
    }
    let seconds = now().since(began).as_secs_f64();
    Ok(DriveOutcome {
        report,
        series,
        processors: read_processor_counters().since(&before, seconds),
        busy: busy_series,
        machine_activity: activity_between(&earlier, &read_proc_snapshot(), seconds),
        threads_busy,
        busiest,
        stopped,
        parts: Vec::new(),
        notes: Vec::new(),
    })
}

fn sample_second(span: &LoadReport, at: f64, busiest: f64) -> SecondSample {
    let per_second = |count: f64| if span.seconds > 0.0 { count / span.seconds } else { 0.0 };
    SecondSample {
        at,
        rate: span.answered_per_second,
        failed: per_second(span.failed as f64),
        bits: per_second(span.bytes_in as f64 * 8.0),
        p50_us: span.latency.p50_us,
        p99_us: span.latency.p99_us,
        max_us: span.latency.max_us,
        busiest,
    }
}

fn busy_shares<'a>(
    now: &'a [Duration],
    then: &'a [Duration],
    seconds: f64,
) -> impl Iterator<Item = f64> + 'a {
    let seconds = seconds.max(1e-9);
    now.iter().zip(then).map(move |(now, then)| now.saturating_sub(*then).as_secs_f64() / seconds)
}

/// Progress is reported once a second.
const SECOND: Duration = Duration::from_secs(1);
/// How soon the end of a run is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A shorter remainder of a run gives no usable rate.
const SHORTEST_TAIL: f64 = 0.2;
