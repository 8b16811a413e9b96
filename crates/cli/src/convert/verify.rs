//! `steelyard convert --verify`: runs the original beside what was converted, and prints what differs.
//!
//! The lab runs and compares; this renders.

use std::io::{IsTerminal, Write};
use std::path::Path;

use ::convert::run::ConversionResult;
use lab::shadow::input::{CorpusSize, ShadowInput};
use lab::shadow::report::{DifferenceVerdict, ShadowReport};
use lab::shadow::run::{ShadowProgress, run_shadow};

use crate::interrupt::stop_on_interrupt;
use crate::outcome::{CommandError, CommandOutcome, print_json, sentence};
use crate::show::paint::Paint;
use crate::show::screen;
use crate::show::table::{TextTable, left, right};

/// How a verification is shown.
#[derive(Clone, Copy, Debug)]
pub struct VerifyOptions<'a> {
    pub json: bool,
    /// Differences that the reviewed table accepts are listed too.
    pub all: bool,
    /// Each kind of request once.
    pub quick: bool,
    /// The original's program, where it is not in the search path.
    pub original: Option<&'a Path>,
}

/// Runs both and prints the differences.
///
/// # Errors
/// Nothing was converted, or one of both cannot run.
pub fn verify(
    source: &str,
    converted: &ConversionResult,
    options: VerifyOptions<'_>,
) -> Result<CommandOutcome, CommandError> {
    let unusable = |text: String| CommandError::Unusable(text);
    let Some(text) = &converted.text else {
        return Err(unusable("nothing could be converted, so there is nothing to run".to_owned()));
    };
    let program = std::env::current_exe()
        .map_err(|error| unusable(format!("cannot find this program: {error}")))?;
    let stop = stop_on_interrupt()?;
    let input = ShadowInput {
        source,
        dialect: converted.from,
        converted: text,
        notes: &converted.notes,
        program: &program,
        original: options.original,
        size: if options.quick { CorpusSize::Quick } else { CorpusSize::Full },
    };
    let mut line = VerifyProgress::new(options.json);
    let report = run_shadow(input, &stop, &mut |progress| line.show(progress));
    line.clear();
    let report = report.map_err(|error| unusable(sentence(&error)))?;
    if options.json {
        print_json(&report)?;
    } else {
        let text = render(&report, options.all, screen::width(), Paint::for_stdout());
        screen::print(&text)?;
    }
    Ok(outcome(&report))
}

/// 0: equal. 1: a difference that nothing explains. 3: only such as the conversion reported.
fn outcome(report: &ShadowReport) -> CommandOutcome {
    if report.has(DifferenceVerdict::Unexplained) {
        CommandOutcome::Negative
    } else if report.interrupted {
        CommandOutcome::Unusable
    } else if report.has(DifferenceVerdict::Explained) {
        CommandOutcome::Partial
    } else {
        CommandOutcome::Done
    }
}

fn render(report: &ShadowReport, all: bool, width: usize, paint: Paint) -> String {
    let mut out = String::new();
    for (verdict, title) in [
        (DifferenceVerdict::Unexplained, "unexplained:"),
        (DifferenceVerdict::Explained, "reported by the conversion:"),
        (DifferenceVerdict::Accepted, "different on purpose:"),
    ] {
        if verdict == DifferenceVerdict::Accepted && !all || !report.has(verdict) {
            continue;
        }
        let columns =
            [right("TIMES"), left("WHAT"), left("ORIGINAL"), left("OURS"), left("REQUEST")];
        let mut table = TextTable::new(&columns);
        for row in report.of(verdict) {
            let because = match row.line {
                0 => row.reason.clone(),
                line => format!("line {line}: {}", row.reason),
            };
            table.row(vec![
                row.count.to_string().into(),
                row.what.as_str().into(),
                row.theirs.as_str().into(),
                row.ours.as_str().into(),
                format!("{}; {because}", row.request).into(),
            ]);
        }
        out.push_str(&format!("{title}\n{}\n", table.render(width, paint)));
    }
    for skipped in &report.skipped {
        out.push_str(&format!("not compared: {skipped}\n"));
    }
    out.push_str(&summary(report));
    out
}

fn summary(report: &ShadowReport) -> String {
    let count = |verdict| report.of(verdict).map(|row| row.count).sum::<u64>();
    let ended = match report.interrupted {
        true => "; interrupted, so that this says nothing of the requests that were not sent",
        false => "",
    };
    format!(
        "{} requests to {} and to Steelyard: {} equal; differences: {} unexplained, {} reported by the conversion, {} on purpose{ended}\n",
        report.requests,
        report.original,
        report.equal,
        count(DifferenceVerdict::Unexplained),
        count(DifferenceVerdict::Explained),
        count(DifferenceVerdict::Accepted),
    )
}

/// A line on standard error: drawn over on terminals, and one at the start elsewhere.
struct VerifyProgress {
    terminal: bool,
    quiet: bool,
}

impl VerifyProgress {
    fn new(json: bool) -> VerifyProgress {
        let terminal = std::io::stderr().is_terminal();
        VerifyProgress { terminal, quiet: json && !terminal }
    }

    fn show(&mut self, progress: ShadowProgress) {
        match progress {
            ShadowProgress::Starting => self.print("starting both …", true),
            ShadowProgress::Asking { done, all } => {
                self.print(&format!("{done} of {all} requests"), false);
            }
        }
    }

    fn clear(&self) {
        if self.terminal {
            write_stderr("\r\x1b[K");
        }
    }

    fn print(&self, text: &str, once: bool) {
        if self.terminal {
            write_stderr(&format!("\r\x1b[K{text}"));
        } else if once && !self.quiet {
            write_stderr(&format!("{text}\n"));
        }
    }
}

fn write_stderr(text: &str) {
    let mut err = std::io::stderr().lock();
    // Ignored: a comparison must not stop because its progress cannot be shown.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

#[cfg(test)]
mod tests {
    use lab::shadow::report::DifferenceRow;

    use super::*;

    fn report(verdict: DifferenceVerdict) -> ShadowReport {
        let row = DifferenceRow {
            verdict,
            request: "GET a / at 127.0.0.1:80 (host and path)".into(),
            count: 2,
            what: "status".into(),
            theirs: "200".into(),
            ours: "404 of its own".into(),
            reason: "filter trace".into(),
            line: 7,
        };
        let original = "haproxy".to_owned();
        ShadowReport { original, requests: 9, equal: 7, rows: vec![row], ..ShadowReport::default() }
    }

    #[test]
    fn the_table_has_both_answers_and_the_line_and_the_exit_code_the_verdict() {
        let explained = report(DifferenceVerdict::Explained);
        let text = render(&explained, false, 120, Paint::fixed(false));
        for part in [
            "reported by the conversion:",
            "200       404 of its own",
            "GET a / at 127.0.0.1:80 (host and path); line 7: filter trace",
            "9 requests to haproxy and to Steelyard: 7 equal; differences: 0 unexplained, 2 reported",
        ] {
            assert!(text.contains(part), "{part} in:\n{text}");
        }
        assert_eq!(outcome(&explained), CommandOutcome::Partial);
        assert_eq!(outcome(&report(DifferenceVerdict::Unexplained)), CommandOutcome::Negative);
        let accepted = report(DifferenceVerdict::Accepted);
        assert_eq!(outcome(&accepted), CommandOutcome::Done);
        assert!(!render(&accepted, false, 120, Paint::fixed(false)).contains("filter trace"));
        assert!(render(&accepted, true, 120, Paint::fixed(false)).contains("filter trace"));
        let stopped = ShadowReport { interrupted: true, ..accepted };
        assert_eq!(outcome(&stopped), CommandOutcome::Unusable);
    }
}
