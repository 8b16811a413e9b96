//! `steelyard study`: repeats one of the studies behind this program, and writes its report.
//!
//! The lab measures and compares; this calls it, prints and stores files.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use files::create::{make_dir, write};
use lab::machine::procfs::{machine_facts, raise_descriptor_limit};
use lab::net::sweep_orphans;
use lab::result_note::{NoteSeverity, ResultNote};
use lab::study::catalog::{STUDIES, Study, find_study};
use lab::study::context::StudyContext;
use lab::study::page::{number, render_page};
use lab::study::parameter::Parameters;
use lab::study::report::{ClaimResult, StudyReport};

use crate::bench::{check_writable, provenance, write_atomically};
use crate::interrupt::stop_on_interrupt;
use crate::outcome::{CommandError, CommandOutcome, finish, print_json, print_note, sentence};
use crate::show::screen;

/// Repeat one of the studies behind this program in network namespaces, and write a page with
/// tables, plots and a comparison with the published figures. Needs root.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct StudyArgs {
    /// The study; without it they are listed.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// A smaller version that takes at most a minute.
    #[arg(long)]
    quick: bool,
    /// Set a parameter of the study; --list has them.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// List the study's parameters with their values and measure nothing.
    #[arg(long)]
    list: bool,
    /// Write the page into this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Store captures in this folder, for `steelyard explain trace`.
    #[arg(long, value_name = "FOLDER")]
    captures: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  steelyard study                                       list the studies and their questions
  steelyard study two-balancers --quick --out slow.html
  steelyard study two-balancers --quick --set delay=20ms --set buffers=64KiB,auto
  steelyard study two-balancers --list                  its parameters

Exit codes: 0 measured, 2 nothing could be measured, 3 a partial report.";

pub fn run(args: &StudyArgs) -> ExitCode {
    finish(args.json, carry_out(args))
}

fn carry_out(args: &StudyArgs) -> Result<CommandOutcome, CommandError> {
    let Some(name) = &args.name else {
        return studies(args.json);
    };
    let study = find_study(name).ok_or_else(|| {
        let names = STUDIES.iter().map(|study| study.name).collect::<Vec<_>>().join(", ");
        CommandError::Absent(format!("no study is called `{name}`; there are: {names}"))
    })?;
    let mut parameters = Parameters::new(study.specs, args.quick);
    for setting in &args.set {
        parameters
            .set(setting)
            .map_err(|error| CommandError::Unusable(format!("{name}: {error}")))?;
    }
    if args.list {
        return list(&parameters, args.json);
    }
    if let Some(file) = &args.out {
        check_writable(file)?;
    }
    let mut report = measure(args, study, &parameters)?;
    let written = args.out.as_deref().is_none_or(|file| write_report(file, &mut report));
    if args.json || !written {
        // All of it; the text leaves tables to the page.
        print_json(&report)?;
    } else {
        screen::print(&text(&report))?;
    }
    Ok(if report.complete { CommandOutcome::Done } else { CommandOutcome::Partial })
}

/// Writes the page; false: it could not be, and the report must be shown in another way.
fn write_report(file: &Path, report: &mut StudyReport) -> bool {
    let error = match write_atomically(file, &render_page(report)) {
        Ok(()) => {
            print_note(&format!("the report is in {}\n", file.display()));
            return true;
        }
        Err(error) => error,
    };
    let text = format!(
        "the report could not be written to {}: {error}; it follows on standard output",
        file.display()
    );
    print_note(&format!("steelyard: {text}\n"));
    report.note(NoteSeverity::Partial, text);
    false
}

fn measure(
    args: &StudyArgs,
    study: &Study,
    parameters: &Parameters,
) -> Result<StudyReport, CommandError> {
    let cannot = |error: io::Error| CommandError::Unusable(error.to_string());
    let program = std::env::current_exe().map_err(cannot)?;
    if let Some(folder) = &args.captures {
        make_dir(folder, 0o755).map_err(|error| {
            CommandError::Unusable(format!("cannot make the folder {}: {error}", folder.display()))
        })?;
    }
    let stop = stop_on_interrupt()?;
    sweep_orphans();
    raise_descriptor_limit();
    let quiet = args.json;
    let stage = StudyContext {
        program: &program,
        stop: &stop,
        log: &|step| {
            if !quiet {
                print_note(&format!("{step}\n"));
            }
        },
        captured: &|name, bytes| match &args.captures {
            Some(folder) => write(&capture_file(folder, name), bytes, 0o644),
            None => Ok(()),
        },
    };
    let measured = (study.run)(&stage, parameters);
    let mut report = measured.map_err(|error| CommandError::Unusable(sentence(&error)))?;
    report.provenance = provenance(&machine_facts());
    Ok(report)
}

/// `two-balancers send buffer 32KiB` becomes `two-balancers-send-buffer-32KiB.pcapng`.
fn capture_file(folder: &Path, name: &str) -> PathBuf {
    let words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    folder.join(format!("{}.pcapng", words.join("-")))
}

fn studies(json: bool) -> Result<CommandOutcome, CommandError> {
    #[derive(serde::Serialize)]
    struct StudyRow {
        name: &'static str,
        asks: &'static str,
    }
    let all = STUDIES.iter().map(|study| StudyRow { name: study.name, asks: study.question });
    if json {
        print_json(&all.collect::<Vec<_>>())?;
    } else {
        for StudyRow { name, asks } in all {
            screen::print(&format!("{name:<14} {asks}\n"))?;
        }
    }
    Ok(CommandOutcome::Done)
}

fn list(parameters: &Parameters, json: bool) -> Result<CommandOutcome, CommandError> {
    let rows = parameters.to_report();
    if json {
        print_json(&rows)?;
        return Ok(CommandOutcome::Done);
    }
    let width = rows.iter().map(|row| row.name.len() + row.here.len()).max().unwrap_or(0) + 1;
    for row in rows {
        let setting = format!("{}={}", row.name, row.here);
        let source = if row.source.is_empty() {
            String::new()
        } else {
            format!(" (the study: {})", row.source)
        };
        screen::print(&format!("{setting:<width$}  {}{source}\n", row.meaning))?;
    }
    Ok(CommandOutcome::Done)
}

/// The report for a terminal: results, and the figures side by side.
fn text(report: &StudyReport) -> String {
    let mut out = format!("{}\n\n", report.title);
    let (missing, notes): (Vec<&ResultNote>, Vec<&ResultNote>) =
        report.notes.iter().partition(|note| note.weight == NoteSeverity::Partial);
    for note in &missing {
        // Writing to a `String` cannot fail, here and below.
        let _ = writeln!(out, "PARTIAL: {}\n", note.text);
    }
    for ClaimResult { claim, holds, because } in &report.verdicts {
        let word = match holds {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not known",
        };
        let _ = writeln!(out, "{word:<9} {claim}\n          {because}");
    }
    let figure_text = |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), number);
    let _ = writeln!(out, "\n{:<40} {:>10} {:>10} {:>10}", "figure", "study", "forecast", "here");
    for row in &report.beside {
        let label = format!("{}, {}", row.what, row.unit);
        let _ = writeln!(
            out,
            "{label:<40} {:>10} {:>10} {:>10}",
            figure_text(row.source),
            figure_text(row.forecast),
            figure_text(row.ours)
        );
    }
    for note in notes {
        let _ = writeln!(out, "note: {}", note.text);
    }
    out
}
