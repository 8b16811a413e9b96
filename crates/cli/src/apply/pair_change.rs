//! The result of a change of both members, as text. The API client coordinates the members.

use api::ApiError;
use api::client::pair::PairChangeError;
use api::types::{PairApplied, Problem};

use super::rendering::render_applied;
use crate::outcome::{CommandError, CommandOutcome, print_error, print_findings, print_json};
use crate::show::plain::plain;
use crate::show::screen;

/// Prints it.
///
/// # Errors
/// It cannot be printed.
pub fn print_pair_applied(
    done: Result<PairApplied, PairChangeError>,
    json: bool,
) -> Result<CommandOutcome, CommandError> {
    let done = match done {
        Ok(done) => done,
        Err(error) => return print_refusal(&error, json),
    };
    if json {
        print_json(&done)?;
        return Ok(CommandOutcome::Done);
    }
    print_findings(&done.local.warnings, 0);
    print_findings(&done.peer.warnings, 0);
    let mut out = format!(
        "here: {}{}: {}",
        render_applied(&done.local),
        done.peer_address,
        render_applied(&done.peer)
    );
    if !done.local_keys.is_empty() {
        out.push_str(&format!(
            "this member's own, and only here: {}\n",
            plain(&done.local_keys.join(", "))
        ));
    }
    screen::print(&out)?;
    Ok(CommandOutcome::Done)
}

fn print_refusal(error: &PairChangeError, json: bool) -> Result<CommandOutcome, CommandError> {
    let refusal = match error.call() {
        Some(ApiError::Refused(problem)) => Some(problem),
        _ => None,
    };
    if json {
        let problem = match refusal {
            Some(refusal) => Problem { detail: error.to_string(), ..(**refusal).clone() },
            None => CommandError::Unusable(error.to_string()).problem(),
        };
        print_json(&problem)?;
        return Ok(outcome_of_error(error));
    }
    if let Some(refusal) = refusal {
        print_findings(&refusal.findings, refusal.unlisted);
    }
    print_error(error);
    Ok(outcome_of_error(error))
}

/// 1: a member refused. 2: a member did not answer. 3: one of both may have it alone.
fn outcome_of_error(error: &PairChangeError) -> CommandOutcome {
    match error {
        PairChangeError::OneMemberOnly { .. } => CommandOutcome::Partial,
        error if error.call().is_some_and(|call| !call.is_refusal()) => CommandOutcome::Unusable,
        _ => CommandOutcome::Negative,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_distinguishes_refusal_absence_and_half_changes() {
        let place = || "there".to_owned();
        let refusal = || ApiError::Refused(Box::default());
        let silent = || ApiError::Closed { place: place(), path: "/v1/apply".into() };
        let half = |source| PairChangeError::OneMemberOnly {
            place: place(),
            source,
            left: "it changed".into(),
        };
        let rows = [
            (
                PairChangeError::NotStarted { place: place(), source: refusal() },
                CommandOutcome::Negative,
            ),
            (
                PairChangeError::RolledBack { place: place(), source: refusal() },
                CommandOutcome::Negative,
            ),
            (
                PairChangeError::GenerationChanged { place: place(), found: 2, expected: 1 },
                CommandOutcome::Negative,
            ),
            (PairChangeError::NotAPair("it is nobody's".into()), CommandOutcome::Negative),
            (
                PairChangeError::NotStarted { place: place(), source: silent() },
                CommandOutcome::Unusable,
            ),
            (half(silent()), CommandOutcome::Partial),
            (half(refusal()), CommandOutcome::Partial),
        ];
        for (error, expected) in rows {
            assert_eq!(outcome_of_error(&error), expected, "{error}");
        }
    }
}
