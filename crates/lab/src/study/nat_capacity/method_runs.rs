//! Measures forwarding methods under load. Each has its own site, and all sites run throughout, so that runs can
//! alternate.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::measure::{NatSite, REQUEST_TIMEOUT, connection_plan, wait_until};
use super::measurements::{ForwardingMethod, MethodRun, MethodRuns};
use crate::load::{LoadModel, LoadPlan, LoadRun};
use crate::machine::procfs::{process_seconds, read_processor_counters};
use crate::study::balancer::StudyBalancer;
use crate::study::context::{StudyContext, StudyError};
use crate::study::parameter::Parameters;

/// An upper limit of any method's connection rate, from which the number of client addresses follows.
const GUESSED_RATE: f64 = 30_000.0;
/// How long a client port stays in TIME_WAIT.
/// TIME_WAIT of Linux, TCP_TIMEWAIT_LEN.
const RESTS: Duration = Duration::from_secs(60);

/// The site and client addresses of a method.
struct PreparedMethod {
    site: NatSite,
    sources: Vec<IpAddr>,
}

/// Measures every method for the configured number of rounds. Returns false when the study was stopped early.
pub fn measure_methods(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    ways: &[ForwardingMethod],
    methods: &mut Vec<MethodRuns>,
) -> Result<bool, StudyError> {
    let mut ready = Vec::new();
    for way in ways {
        if stage.is_stopped() {
            return Ok(false);
        }
        ready.push(prepare_method(stage, parameters, *way)?);
    }
    for round in 0..parameters.number("rounds") {
        // The order reverses in every other round, so that no method always runs first.
        let mut places: Vec<usize> = (0..ways.len()).collect();
        if round % 2 == 1 {
            places.reverse();
        }
        for place in places {
            if stage.is_stopped() {
                return Ok(false);
            }
            let turn = measure_method(stage, parameters, &mut ready[place])?;
            if stage.is_stopped() {
                // The run was cut short.
                return Ok(false);
            }
            let way = ways[place];
            (stage.log)(&format!("{}: {:.0} connections a second", way.name(), turn.rate));
            if place == methods.len() {
                methods.push(MethodRuns { method: way, runs: Vec::new() });
            }
            methods[place].runs.push(turn);
        }
    }
    Ok(true)
}

fn prepare_method(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    way: ForwardingMethod,
) -> Result<PreparedMethod, StudyError> {
    let mut bench = NatSite::open(parameters)?;
    let returns: Vec<String> =
        bench.site.return_addresses().iter().map(|host| format!("\"{}\"", host.v4)).collect();
    let packets = format!("return = [{}]", returns.join(", "));
    match way {
        ForwardingMethod::Mac => bench.start_balancer(stage, "mac", "", &packets)?,
        ForwardingMethod::Nat => bench.start_balancer(stage, "nat", "", &packets)?,
        ForwardingMethod::Content(rules) => {
            // Glob patterns are matched one after the other; an index would hide the cost of a rule.
            let rules: String = (0..rules)
                .map(|n| format!("[[service.shop.rule]]\nwhen = {{ path = \"/*/of-rule-{n}\" }}\npool = \"web\"\n"))
                .collect();
            bench.start_balancer(stage, "http", &rules, &packets)?;
        }
    }
    let loaded = (parameters.time("span") * parameters.number("rounds")).min(RESTS);
    let sources = bench.sources(GUESSED_RATE * loaded.as_secs_f64())?;
    Ok(PreparedMethod { site: bench, sources })
}

fn measure_method(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    ready: &mut PreparedMethod,
) -> Result<MethodRun, StudyError> {
    let PreparedMethod { site: bench, sources } = ready;
    let span = parameters.time("span");
    let connections = parameters.number("connections") as usize;
    let pace = LoadModel::Closed { connections, think: Duration::ZERO };
    let load_plan = LoadPlan {
        time: Some(span),
        timeout: span + REQUEST_TIMEOUT * 5,
        ..connection_plan(pace, sources.clone())
    };
    let before = (read_processor_counters(), Instant::now());
    let load = bench.site.client.run_inside(|| LoadRun::start(load_plan))??;
    let process = bench.balancer.as_ref().map(StudyBalancer::process);
    let began = process.and_then(process_seconds);
    let done = wait_until(stage, &load, Instant::now() + span);
    let ended = process.and_then(process_seconds);
    let shares = read_processor_counters().since(&before.0, before.1.elapsed().as_secs_f64());
    load.wait();
    bench.check_balancer()?;
    let busy: f64 = shares.iter().map(|share| share.busy()).sum();
    let answered = done.answered.max(1) as f64;
    Ok(MethodRun {
        rate: done.answered_per_second,
        latency_us: done.latency.p50_us,
        machine_us: busy * done.seconds * 1e6 / answered,
        process_us: ended
            .zip(began)
            .map_or(f64::NAN, |(after, before)| (after - before) * 1e6 / answered),
        failed: done
            .failed_by_cause
            .iter()
            .map(|(cause, count)| ((*cause).to_owned(), *count))
            .collect(),
    })
}
