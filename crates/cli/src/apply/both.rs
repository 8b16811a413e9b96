//! What became of a change of both members, as text. Who may have what is the client's to say.

use api::CallError;
use api::client::pair::BothError;
use api::types::{BothApplied, Problem};

use super::told::render;
use crate::end::{End, Failure, complain, print_findings, print_json};
use crate::show::plain::plain;
use crate::show::screen;

/// Prints it.
///
/// # Errors
/// It cannot be printed.
pub fn show(done: Result<BothApplied, BothError>, json: bool) -> Result<End, Failure> {
    let done = match done {
        Ok(done) => done,
        Err(error) => return refused(&error, json),
    };
    if json {
        print_json(&done)?;
        return Ok(End::Done);
    }
    print_findings(&done.here.warnings, 0);
    print_findings(&done.peer.warnings, 0);
    let mut out = format!("here: {}{}: {}", render(&done.here), done.place, render(&done.peer));
    if !done.own.is_empty() {
        out.push_str(&format!(
            "this member's own, and only here: {}\n",
            plain(&done.own.join(", "))
        ));
    }
    screen::print(&out)?;
    Ok(End::Done)
}

fn refused(error: &BothError, json: bool) -> Result<End, Failure> {
    let said = match error.call() {
        Some(CallError::Refused(problem)) => Some(problem),
        _ => None,
    };
    if json {
        let problem = match said {
            Some(said) => Problem { detail: error.to_string(), ..(**said).clone() },
            None => Failure::Unusable(error.to_string()).problem(),
        };
        print_json(&problem)?;
        return Ok(end(error));
    }
    if let Some(said) = said {
        print_findings(&said.findings, said.unlisted);
    }
    complain(error);
    Ok(end(error))
}

/// 1: somebody said no. 2: somebody could not be asked. 3: one of both may have it alone.
fn end(error: &BothError) -> End {
    match error {
        BothError::Half { .. } => End::Partial,
        error if error.call().is_some_and(|call| !call.is_refusal()) => End::Unusable,
        _ => End::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_says_whether_somebody_refused_or_was_not_there_or_one_has_it_alone() {
        let place = || "there".to_owned();
        let refusal = || CallError::Refused(Box::default());
        let silent = || CallError::Closed { place: place(), path: "/v1/apply".into() };
        let half = |source| BothError::Half { place: place(), source, left: "it changed".into() };
        let rows = [
            (BothError::Before { place: place(), source: refusal() }, End::No),
            (BothError::TakenBack { place: place(), source: refusal() }, End::No),
            (BothError::Moved { place: place(), found: 2, expected: 1 }, End::No),
            (BothError::Stranger("it is nobody's".into()), End::No),
            (BothError::Before { place: place(), source: silent() }, End::Unusable),
            (half(silent()), End::Partial),
            (half(refusal()), End::Partial),
        ];
        for (error, expected) in rows {
            assert_eq!(end(&error), expected, "{error}");
        }
    }
}
