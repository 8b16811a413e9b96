//! `bench stream` as a whole: cells one after the other, each repeated until its mean is known, and what they come to.
//!
//! It prints nothing. Runs never overlap: sums of runs that do say nothing about either.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::machine::beside::between;
use crate::machine::processors::skew;
use crate::machine::read::{counters, texts};
use crate::poller::now;
use crate::result::{BenchResult, Run, Weight};
use crate::stream::ask::{Ask, Seen};
use crate::stream::client::{self, RunError};
use crate::stream::matrix::{Known, Matrix, metrics, metrics_of_cut, name};

/// Carries out a matrix; `told` hears of every run's name, number and throughput (bits a second). Every cell has a run in the
/// result: one that broke off with the figures of this end, one that was never measured without any.
///
/// # Errors
/// The first run moved nothing: nothing was measured. Later ones become notes.
pub fn run(
    matrix: &Matrix,
    to: SocketAddr,
    result: &mut BenchResult,
    stop: &Arc<AtomicBool>,
    told: &mut dyn FnMut(&str, u32, f64),
) -> Result<(), RunError> {
    let cells = matrix.cells();
    for (done, ask) in cells.iter().enumerate() {
        let mut throughputs = Vec::new();
        while matrix.wanted.judge(&throughputs) == Known::NotYet {
            if stop.load(Ordering::Relaxed) {
                let text = format!("stopped: {done} of {} cells are measured", cells.len());
                result.note(Weight::Partial, text);
                let begun = usize::from(!throughputs.is_empty());
                result.runs.extend(cells[done + begun..].iter().map(|ask| cut(ask, 1, None)));
                return Ok(());
            }
            let repeat = throughputs.len() as u32 + 1;
            match one(ask, to, repeat, result) {
                Ok(throughput) => {
                    told(&name(ask), repeat, throughput);
                    throughputs.push(throughput);
                }
                Err(error) if result.runs.is_empty() && seen_until(&error).is_none() => {
                    return Err(error);
                }
                Err(error) => {
                    result.note(Weight::Partial, format!("`{}`: {error}", name(ask)));
                    result.runs.push(cut(ask, repeat, seen_until(&error)));
                    break;
                }
            }
        }
        if let Known::Loose(width) = matrix.wanted.judge(&throughputs) {
            result.note(Weight::Warning, loose(matrix, ask, throughputs.len(), width));
        }
    }
    Ok(())
}

/// That a mean is not known, in words.
fn loose(matrix: &Matrix, ask: &Ask, runs: usize, width: f64) -> String {
    let wanted = matrix.wanted;
    // One run has none, and neither have runs that received nothing.
    let interval = if width.is_finite() {
        format!("its interval at {} % is {width:.1} % wide", wanted.confidence * 100.0)
    } else {
        "it has no interval".to_owned()
    };
    format!(
        "`{}`: the mean is NOT known as well as wanted: after {runs} runs {interval}, {} % was wanted; run longer (-d) or more \
         often (--most)",
        name(ask),
        wanted.width_percent
    )
}

/// What had passed until a run broke off.
fn seen_until(error: &RunError) -> Option<&Seen> {
    match error {
        RunError::Cut { seen, .. } => Some(seen),
        _ => None,
    }
}

/// A run that did not come to its end, with what was seen of it, or was never made.
fn cut(ask: &Ask, repeat: u32, seen: Option<&Seen>) -> Run {
    let metrics = seen.map_or_else(Vec::new, |seen| metrics_of_cut(ask, seen));
    Run { test: name(ask), repeat, complete: false, metrics, ..Run::default() }
}

fn one(ask: &Ask, to: SocketAddr, repeat: u32, result: &mut BenchResult) -> Result<f64, RunError> {
    let (before, earlier, began) = (counters(), texts(), now());
    let seen = client::run(to, ask)?;
    let seconds = now().since(began).as_secs_f64();
    let processors = counters().since(&before, seconds);
    let beside = Some(between(&earlier, &texts(), seconds));
    if let Some(text) = skew(&processors) {
        result.note_first("receive softirqs", Weight::Hint, text);
    }
    let metrics = metrics(ask, &seen);
    let throughput = metrics.iter().find(|metric| metric.name == "throughput");
    let throughput = throughput.map_or(0.0, |metric| metric.value);
    let (test, complete) = (name(ask), true);
    result.runs.push(Run { test, repeat, complete, metrics, processors, beside, ..Run::default() });
    Ok(throughput)
}
