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
use crate::stream::ask::Ask;
use crate::stream::client::{self, RunError};
use crate::stream::matrix::{Known, Matrix, metrics, name};

/// Carries out a matrix; `told` hears of every run's name, number and throughput (bits a second).
///
/// # Errors
/// The first run gave no figures: nothing was measured. Later ones become notes.
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
                return Ok(());
            }
            let repeat = throughputs.len() as u32 + 1;
            match one(ask, to, repeat, result) {
                Ok(throughput) => {
                    told(&name(ask), repeat, throughput);
                    throughputs.push(throughput);
                }
                Err(error) if result.runs.is_empty() => return Err(error),
                Err(error) => {
                    result.note(Weight::Partial, format!("`{}`: {error}", name(ask)));
                    break;
                }
            }
        }
        if let Known::Loose(width) = matrix.wanted.judge(&throughputs) {
            let wanted = matrix.wanted;
            let text = format!(
                "`{}`: the mean is NOT known as well as wanted: after {} runs its interval at {} % is {width:.1} % wide, {} % \
                 was wanted; run longer (-d) or more often (--most)",
                name(ask),
                throughputs.len(),
                wanted.confidence * 100.0,
                wanted.width_percent
            );
            result.note(Weight::Hint, text);
        }
    }
    Ok(())
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
    let throughput = metrics.first().map_or(0.0, |metric| metric.value);
    let (test, complete) = (name(ask), true);
    result.runs.push(Run { test, repeat, complete, metrics, processors, beside, ..Run::default() });
    Ok(throughput)
}
