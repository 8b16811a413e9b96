//! How the program ends: exit codes, and errors as people and scripts read them.
//!
//! 0: done. 1: the answer is no. 2: wrong usage, or something could not be read or asked. 3: done in part. 4: done, and
//! the daemon could not keep it on its disk.

use std::io::{self, Write};
use std::process::ExitCode;

use api::CallError;
use api::types::Problem;
use model::config::{Finding, Findings};
use serde::Serialize;

use crate::show::plain::plain;
use crate::show::screen;

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It is done.
    Done,
    /// The answer is no.
    No,
    /// It could not be asked, or what was given could not be read.
    Unusable,
    /// Some of it is done.
    Partial,
    /// It is done, and a restart of the daemon forgets it.
    Unkept,
}

impl End {
    /// The process' exit code.
    pub fn code(self) -> ExitCode {
        ExitCode::from(match self {
            End::Done => 0,
            End::No => 1,
            End::Unusable => 2,
            End::Partial => 3,
            End::Unkept => 4,
        })
    }
}

/// Done; what the daemon could not keep goes to standard error.
pub fn kept(unkept: &[String]) -> End {
    for what in unkept {
        say(&format!("warning: {what}\n"));
    }
    if unkept.is_empty() { End::Done } else { End::Unkept }
}

/// Why a verb could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The daemon refused or could not be asked.
    #[error(transparent)]
    Call(#[from] CallError),
    /// What was asked about does not exist.
    #[error("{0}")]
    Absent(String),
    /// Something could not be read, written or started.
    #[error("{0}")]
    Unusable(String),
    /// Standard output could not be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    fn end(&self) -> End {
        match self {
            Failure::Call(error) if error.is_refusal() => End::No,
            Failure::Absent(_) => End::No,
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => End::Done,
            Failure::Call(_) | Failure::Unusable(_) | Failure::Output(_) => End::Unusable,
        }
    }

    /// As problem details, for scripts.
    pub fn problem(self) -> Problem {
        match self {
            Failure::Call(CallError::Refused(problem)) => *problem,
            other => {
                let kind = match &other {
                    Failure::Call(_) => "/problems/no-answer",
                    Failure::Absent(_) => "/problems/absent",
                    Failure::Unusable(_) | Failure::Output(_) => "/problems/unusable",
                };
                let title = "the command could not be carried out".to_owned();
                Problem {
                    kind: kind.to_owned(),
                    title,
                    detail: other.to_string(),
                    ..Problem::default()
                }
            }
        }
    }
}

/// Prints what went wrong, if anything did, and gives the exit code.
pub fn finish(json: bool, result: Result<End, Failure>) -> ExitCode {
    let failure = match result {
        Ok(end) => return end.code(),
        Err(failure) => failure,
    };
    let end = failure.end();
    if end == End::Done {
        return end.code();
    }
    if !json {
        explain(&failure);
    } else if let Err(error) = print_json(&failure.problem()) {
        explain(&error);
    }
    end.code()
}

/// Prints a value as JSON, indented for reading.
pub fn print_json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(unwritable)?;
    Ok(screen::print(&format!("{text}\n"))?)
}

/// Prints a value as JSON on one line, which a large one passes through without being put together first.
pub fn print_json_line<T: Serialize>(value: &T) -> Result<(), Failure> {
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    serde_json::to_writer(&mut out, value).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// A value as JSON on one line, ended.
pub fn json_line<T: Serialize>(value: &T) -> Result<String, Failure> {
    Ok(format!("{}\n", serde_json::to_string(value).map_err(unwritable)?))
}

fn unwritable(error: serde_json::Error) -> Failure {
    Failure::Unusable(format!("cannot write the answer as JSON: {error}"))
}

/// Prints findings of a configuration to standard error, as `check` does.
pub fn print_findings(findings: &[Finding], unlisted: u64) {
    let all = Findings { findings: findings.to_vec(), unlisted };
    say(&all.to_string());
}

/// An error with its causes, in one sentence.
pub fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

/// Prints an error as a sentence to standard error.
pub fn complain(error: &dyn std::error::Error) {
    say(&format!("steelyard: {error}\n"));
}

fn explain(failure: &Failure) {
    match failure {
        Failure::Call(CallError::Refused(problem)) if !problem.findings.is_empty() => {
            print_findings(&problem.findings, problem.unlisted);
        }
        other => complain(other),
    }
}

/// Tells of progress on standard error.
pub fn note(text: &str) {
    say(text);
}

/// Writes to standard error. When even that is closed, the exit code remains.
fn say(text: &str) {
    let _ = io::stderr().lock().write_all(plain(text).as_bytes());
}
