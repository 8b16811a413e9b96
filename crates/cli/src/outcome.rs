//! Exit codes, and errors for people and scripts.
//!
//! 0: done. 1: the answer is no. 2: wrong usage, unreadable input, or the daemon did not answer. 3: done in part. 4:
//! done, but the daemon could not save it to disk.

use std::io::{self, Write};
use std::process::ExitCode;

use api::ApiError;
use api::types::Problem;
use files::plain_error::plain_error_text;
use model::config::{ConfigFinding, ConfigFindings};
use serde::Serialize;

use crate::show::plain::plain;
use crate::show::screen;

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    Done,
    /// The answer is no.
    Negative,
    /// The daemon did not answer, or the input is unreadable.
    Unusable,
    /// Some of it is done.
    Partial,
    /// It is done, and a restart of the daemon forgets it.
    NotSaved,
}

impl CommandOutcome {
    /// The process' exit code.
    pub fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            CommandOutcome::Done => 0,
            CommandOutcome::Negative => 1,
            CommandOutcome::Unusable => 2,
            CommandOutcome::Partial => 3,
            CommandOutcome::NotSaved => 4,
        })
    }
}

/// Done; changes that the daemon could not save are listed on standard error.
pub fn outcome_with_unsaved(unkept: &[String]) -> CommandOutcome {
    for change in unkept {
        print_stderr(&format!("warning: {change}\n"));
    }
    if unkept.is_empty() { CommandOutcome::Done } else { CommandOutcome::NotSaved }
}

/// Why a verb could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The daemon refused or did not answer.
    #[error(transparent)]
    Call(#[from] ApiError),
    /// The named object does not exist.
    #[error("{0}")]
    Absent(String),
    /// Something could not be read, written or started.
    #[error("{0}")]
    Unusable(String),
    /// Standard output could not be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl CommandError {
    fn end(&self) -> CommandOutcome {
        match self {
            CommandError::Call(error) if error.is_refusal() => CommandOutcome::Negative,
            CommandError::Absent(_) => CommandOutcome::Negative,
            CommandError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                CommandOutcome::Done
            }
            CommandError::Call(_) | CommandError::Unusable(_) | CommandError::Output(_) => {
                CommandOutcome::Unusable
            }
        }
    }

    /// As problem details, for scripts.
    pub fn problem(self) -> Problem {
        match self {
            CommandError::Call(ApiError::Refused(problem)) => *problem,
            other => {
                let kind = match &other {
                    CommandError::Call(_) => "/problems/no-answer",
                    CommandError::Absent(_) => "/problems/absent",
                    CommandError::Unusable(_) | CommandError::Output(_) => "/problems/unusable",
                };
                let title = "the command could not be carried out".to_owned();
                Problem {
                    kind: kind.to_owned(),
                    title,
                    detail: plain_error_text(other.to_string()),
                    ..Problem::default()
                }
            }
        }
    }
}

/// Prints the error, if any, and returns the exit code.
pub fn finish(json: bool, result: Result<CommandOutcome, CommandError>) -> ExitCode {
    let failure = match result {
        Ok(end) => return end.exit_code(),
        Err(failure) => failure,
    };
    let end = failure.end();
    if end == CommandOutcome::Done {
        return end.exit_code();
    }
    if !json {
        print_failure(&failure);
    } else if let Err(error) = print_json(&failure.problem()) {
        print_failure(&error);
    }
    end.exit_code()
}

/// Prints a value as JSON, indented for reading.
pub fn print_json<T: Serialize>(value: &T) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value).map_err(output_failure)?;
    Ok(screen::print(&format!("{text}\n"))?)
}

/// Prints a value as JSON on one line, which a large one passes through without being put together first.
pub fn print_json_line<T: Serialize>(value: &T) -> Result<(), CommandError> {
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    serde_json::to_writer(&mut out, value).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// A value as JSON on one line, ended.
pub fn json_line<T: Serialize>(value: &T) -> Result<String, CommandError> {
    Ok(format!("{}\n", serde_json::to_string(value).map_err(output_failure)?))
}

fn output_failure(error: serde_json::Error) -> CommandError {
    CommandError::Unusable(format!("cannot write the answer as JSON: {error}"))
}

/// Prints findings of a configuration to standard error, as `check` does.
pub fn print_findings(findings: &[ConfigFinding], unlisted: u64) {
    let all = ConfigFindings { findings: findings.to_vec(), unlisted };
    print_stderr(&all.to_string());
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
pub fn print_error(error: &dyn std::error::Error) {
    print_stderr(&format!("steelyard: {}\n", plain_error_text(error.to_string())));
}

fn print_failure(failure: &CommandError) {
    match failure {
        CommandError::Call(ApiError::Refused(problem)) if !problem.findings.is_empty() => {
            print_findings(&problem.findings, problem.unlisted);
        }
        other => print_error(other),
    }
}

/// Tells of progress on standard error.
pub fn print_note(text: &str) {
    print_stderr(text);
}

/// Writes to standard error. When even that is closed, the exit code remains.
fn print_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(plain(text).as_bytes());
}
