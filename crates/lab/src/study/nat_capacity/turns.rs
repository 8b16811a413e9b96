//! Measures forwarding methods under load: a site for each, all there all the time, so that the methods can take turns.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::measure::{Bench, PATIENCE, plan, until};
use super::row::{Method, Turn, Way};
use crate::load::{Load, Pace, Plan};
use crate::machine::read::{counters, used_by};
use crate::study::balancer::Balancer;
use crate::study::parameter::Parameters;
use crate::study::stage::{Stage, StudyError};

/// Connections a second that no method exceeds, for the number of client addresses.
const GUESSED_RATE: f64 = 30_000.0;
/// How long a port of the client rests.
const RESTS: Duration = Duration::from_secs(60);

/// A method that stands ready.
struct Ready {
    bench: Bench,
    sources: Vec<IpAddr>,
}

/// Every method as often as the parameter says; false: stopped before the end.
pub fn all(
    stage: &Stage<'_>,
    parameters: &Parameters,
    ways: &[Way],
    methods: &mut Vec<Method>,
) -> Result<bool, StudyError> {
    let mut ready = Vec::new();
    for way in ways {
        if stage.stops() {
            return Ok(false);
        }
        ready.push(open(stage, parameters, *way)?);
    }
    for round in 0..parameters.number("rounds") {
        // There and back, so that nobody always comes first.
        let mut places: Vec<usize> = (0..ways.len()).collect();
        if round % 2 == 1 {
            places.reverse();
        }
        for place in places {
            if stage.stops() {
                return Ok(false);
            }
            let turn = turn(stage, parameters, &mut ready[place])?;
            if stage.stops() {
                // It ended before its time.
                return Ok(false);
            }
            let way = ways[place];
            (stage.told)(&format!("{}: {:.0} connections a second", way.name(), turn.rate));
            if place == methods.len() {
                methods.push(Method { way, turns: Vec::new() });
            }
            methods[place].turns.push(turn);
        }
    }
    Ok(true)
}

fn open(stage: &Stage<'_>, parameters: &Parameters, way: Way) -> Result<Ready, StudyError> {
    let mut bench = Bench::open(parameters)?;
    let returns: Vec<String> =
        bench.site.returns().iter().map(|host| format!("\"{}\"", host.v4)).collect();
    let packets = format!("return = [{}]", returns.join(", "));
    match way {
        Way::Mac => bench.balance(stage, "mac", "", &packets)?,
        Way::Nat => bench.balance(stage, "nat", "", &packets)?,
        Way::Content(rules) => {
            // Globs are held against the path one after the other; an index would hide what a rule costs.
            let rules: String = (0..rules)
                .map(|n| format!("[[service.shop.rule]]\nwhen = {{ path = \"/*/of-rule-{n}\" }}\npool = \"web\"\n"))
                .collect();
            bench.balance(stage, "http", &rules, &packets)?;
        }
    }
    let loaded = (parameters.time("span") * parameters.number("rounds")).min(RESTS);
    let sources = bench.sources(GUESSED_RATE * loaded.as_secs_f64())?;
    Ok(Ready { bench, sources })
}

fn turn(stage: &Stage<'_>, parameters: &Parameters, ready: &mut Ready) -> Result<Turn, StudyError> {
    let Ready { bench, sources } = ready;
    let (span, connections) = (parameters.time("span"), parameters.number("connections") as usize);
    let pace = Pace::Closed { connections, think: Duration::ZERO };
    let load_plan =
        Plan { time: Some(span), timeout: span + PATIENCE * 5, ..plan(pace, sources.clone()) };
    let before = (counters(), Instant::now());
    let load = bench.site.client.within(|| Load::start(load_plan))??;
    let process = bench.balancer.as_ref().map(Balancer::process);
    let began = process.and_then(used_by);
    let done = until(stage, &load, Instant::now() + span);
    let ended = process.and_then(used_by);
    let shares = counters().since(&before.0, before.1.elapsed().as_secs_f64());
    load.wait();
    bench.still_balances()?;
    let busy: f64 = shares.iter().map(|share| share.busy()).sum();
    let answered = done.answered.max(1) as f64;
    Ok(Turn {
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
