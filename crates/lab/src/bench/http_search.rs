//! Searches the highest request rate that meets an objective; each trial is a run of the result.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::drive::DriveError;
use super::http::{BenchEvent, HttpBenchmark, assess_run, planned_tests, report_forecast, warm_up};
use crate::load::{LoadModel, LoadPlan, LoadReport};
use crate::machine::facts::MachineFacts;
use crate::rate_search::{
    LatencyObjective, RateSearch, SearchEnd, SearchLimits, SearchResult, TrialOutcome,
};
use crate::result::BenchResult;
use crate::result_note::NoteSeverity;

/// Searches the highest rate that meets `objective`; each trial becomes a run of the result.
///
/// # Errors
/// The first trial could not be started.
pub fn search_rate(
    order: &HttpBenchmark,
    objective: LatencyObjective,
    terms: SearchLimits,
    facts: &MachineFacts,
    result: &mut BenchResult,
    stop: &Arc<AtomicBool>,
    on_event: &mut dyn FnMut(BenchEvent<'_>),
) -> Result<Option<SearchResult>, DriveError> {
    let mut seek = RateSearch::new(terms);
    let first = HttpBenchmark { rates: vec![terms.from], ..order.clone() };
    if order.fleet.is_none() {
        planned_tests(&first)
            .iter()
            .for_each(|test| report_forecast(facts, &test.plan, result, on_event));
    }
    warm_up(&first, &planned_tests(&first), stop, on_event)?;
    let mut trial = 0;
    let mut answered = 0;
    let mut causes = Vec::new();
    while let Some(rate) = seek.next_rate() {
        trial += 1;
        let pace = LoadModel::Open { per_second: rate, connections: order.plan.connections() };
        let plan = LoadPlan { pace, ..order.plan.clone() };
        let test = format!("trial at {rate:.0} requests/s");
        on_event(BenchEvent::TestStarted { test: &test, repeat: trial, repeats: 0 });
        let driven = order
            .drive(plan.clone(), stop, &mut |second| on_event(BenchEvent::SecondElapsed(second)));
        let driven = match driven {
            Err(error) if !result.runs.is_empty() => {
                let text = format!("{test} could not start: {error}; the search is not over");
                result.add_note(NoteSeverity::Partial, text);
                return Ok(None);
            }
            driven => driven?,
        };
        let limits = order.client_limits(&driven, &plan, facts);
        let verdict = assess_trial(
            &objective,
            &driven.report,
            limits.iter().any(|note| note.weight != NoteSeverity::Hint),
        );
        // Failed trials are part of a search, so their shortfalls do not mark the result.
        let mut aside = BenchResult::new("", Default::default());
        let run = assess_run(order, &driven, &plan, facts, &test, trial, &mut aside);
        answered += driven.report.answered;
        causes = driven.report.failed_by_cause.keys().copied().collect();
        result.runs.push(run);
        if verdict == TrialOutcome::ClientLimit {
            limits
                .into_iter()
                .for_each(|note| result.add_note(note.weight, format!("`{test}`: {}", note.text)));
        }
        if driven.stopped {
            result.add_note(
                NoteSeverity::Partial,
                format!("stopped in {test}: the search is not over"),
            );
            return Ok(None);
        }
        seek.record_trial(verdict);
    }
    let found = seek.result();
    note_search_trouble(answered, found, &causes, result);
    result.search = found;
    Ok(found)
}

/// Adds a note when the result of a search proves nothing about the target.
fn note_search_trouble(
    answered: u64,
    found: Option<SearchResult>,
    causes: &[&str],
    result: &mut BenchResult,
) {
    if answered == 0 {
        let text = format!("nothing was answered at any rate: {}", causes.join(", "));
        result.add_note(NoteSeverity::Partial, text);
    } else if found.is_some_and(|found| found.end == SearchEnd::Wavers) {
        let text =
            "trials contradict each other, so no rate is confirmed: search again, with a longer -d";
        result.add_note(NoteSeverity::Partial, text.to_owned());
    }
}

fn assess_trial(objective: &LatencyObjective, report: &LoadReport, limited: bool) -> TrialOutcome {
    // Failed requests count as slow, and so do those in flight at the end.
    let slow = report.slower_than(objective.within_us) + report.failed + report.in_flight;
    match objective.assess_trial(slow, report.requests) {
        TrialOutcome::Misses if limited => TrialOutcome::ClientLimit,
        verdict => verdict,
    }
}
