//! `bench stream`: measures cells in sequence, each repeated until its mean is precise, and builds the result.
//!
//! It prints nothing. Runs never overlap, because the sum of overlapping runs shows nothing about either.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::machine::activity::activity_between;
use crate::machine::processors::describe_skew;
use crate::machine::procfs::{read_proc_snapshot, read_processor_counters};
use crate::poller::now;
use crate::result::{BenchResult, BenchRun};
use crate::result_note::NoteSeverity;
use crate::stream::client::{self, StreamRunError};
use crate::stream::matrix::{CellPrecision, Matrix, cell_name, metrics, partial_metrics};
use crate::stream::request::{StreamReport, StreamRequest};

/// Measures a matrix. `on_run` receives the name, number and throughput (bits a second) of every run. Every cell has a
/// run in the result. An interrupted cell has the figures of this end, and a cell that was never measured has none.
///
/// # Errors
/// The first run transferred nothing, so nothing was measured. Later failures become notes.
pub fn run_matrix(
    matrix: &Matrix,
    to: SocketAddr,
    result: &mut BenchResult,
    stop: &Arc<AtomicBool>,
    on_run: &mut dyn FnMut(&str, u32, f64),
) -> Result<(), StreamRunError> {
    let cells = matrix.cells();
    for (done, ask) in cells.iter().enumerate() {
        let mut throughputs = Vec::new();
        while matrix.precision.check_precision(&throughputs) == CellPrecision::NotYet {
            if stop.load(Ordering::Relaxed) {
                let text = format!("stopped: {done} of {} cells are measured", cells.len());
                result.add_note(NoteSeverity::Partial, text);
                let begun = usize::from(!throughputs.is_empty());
                result.runs.extend(
                    cells[done + begun..].iter().map(|ask| record_interrupted_run(ask, 1, None)),
                );
                return Ok(());
            }
            let repeat = throughputs.len() as u32 + 1;
            match run_cell(ask, to, repeat, result) {
                Ok(throughput) => {
                    on_run(&cell_name(ask), repeat, throughput);
                    throughputs.push(throughput);
                }
                Err(error) if result.runs.is_empty() && partial_report(&error).is_none() => {
                    return Err(error);
                }
                Err(error) => {
                    result
                        .add_note(NoteSeverity::Partial, format!("`{}`: {error}", cell_name(ask)));
                    result.runs.push(record_interrupted_run(ask, repeat, partial_report(&error)));
                    break;
                }
            }
        }
        if let CellPrecision::Imprecise(width) = matrix.precision.check_precision(&throughputs) {
            result.add_note(
                NoteSeverity::Warning,
                explain_imprecision(matrix, ask, throughputs.len(), width),
            );
        }
    }
    Ok(())
}

/// Explains why a mean is not precise.
fn explain_imprecision(matrix: &Matrix, ask: &StreamRequest, runs: usize, width: f64) -> String {
    let wanted = matrix.precision;
    // A single run has no interval, and neither have runs that received nothing.
    let interval = if width.is_finite() {
        format!("its interval at {} % is {width:.1} % wide", wanted.confidence * 100.0)
    } else {
        "it has no interval".to_owned()
    };
    format!(
        "`{}`: the mean is NOT known as well as wanted: after {runs} runs {interval}, {} % was wanted; run longer (-d) or more \
         often (--max-runs)",
        cell_name(ask),
        wanted.width_percent
    )
}

/// The figures of an interrupted run at this end, if any.
fn partial_report(error: &StreamRunError) -> Option<&StreamReport> {
    match error {
        StreamRunError::Interrupted { seen, .. } => Some(seen),
        _ => None,
    }
}

/// Records an interrupted run with its partial figures, or a cell without a run.
fn record_interrupted_run(
    ask: &StreamRequest,
    repeat: u32,
    seen: Option<&StreamReport>,
) -> BenchRun {
    let metrics = seen.map_or_else(Vec::new, |seen| partial_metrics(ask, seen));
    BenchRun { test: cell_name(ask), repeat, complete: false, metrics, ..BenchRun::default() }
}

fn run_cell(
    ask: &StreamRequest,
    to: SocketAddr,
    repeat: u32,
    result: &mut BenchResult,
) -> Result<f64, StreamRunError> {
    let before = read_processor_counters();
    let earlier = read_proc_snapshot();
    let began = now();
    let seen = client::run_stream(to, ask)?;
    let seconds = now().since(began).as_secs_f64();
    let processors = read_processor_counters().since(&before, seconds);
    let beside = Some(activity_between(&earlier, &read_proc_snapshot(), seconds));
    if let Some(text) = describe_skew(&processors) {
        result.add_note_once("receive softirqs", NoteSeverity::Hint, text);
    }
    let metrics = metrics(ask, &seen);
    let throughput = metrics.iter().find(|metric| metric.name == "throughput");
    let throughput = throughput.map_or(0.0, |metric| metric.value);
    let test = cell_name(ask);
    let complete = true;
    result.runs.push(BenchRun {
        test,
        repeat,
        complete,
        metrics,
        processors,
        beside,
        ..BenchRun::default()
    });
    Ok(throughput)
}
