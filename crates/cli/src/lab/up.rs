//! `steelyard lab up`: a network from a file, kept by a process of its own that outlives this one.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::common::{RecordsDirArgs, find_record, read_plan, record_failure};
use super::keep::READY;
use super::list;
use crate::outcome::{CommandError, CommandOutcome, print_json};
use crate::show::screen;

/// Create the network of a file; needs root. It stays until `steelyard lab down`.
///
/// Each node is a network namespace. Plain links are veth pairs of the kernel; a process emulates
/// delay, rate, loss and faults.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard lab up wan.toml
  steelyard lab up wan.toml --name second        the same network a second time
  steelyard lab up wan.toml --foreground         until Ctrl-C

Exit codes: 0 created, 2 the file is invalid or the network could not be created.")]
pub struct LabUpArgs {
    /// The file; docs/lab.md describes the format.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Name of the network; default: the name in the file, or the file's name.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Stay in the foreground, and remove the network at the end.
    #[arg(long)]
    foreground: bool,
    #[command(flatten)]
    kept: RecordsDirArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

pub fn up(args: &LabUpArgs) -> Result<CommandOutcome, CommandError> {
    let plan = read_plan(&args.file, args.name.as_deref())?;
    let records = args.kept.open_records();
    records.sweep_dead().map_err(|error| record_failure(&error))?;
    records.reserve_name(&plan.name).map_err(|error| record_failure(&error))?;
    let cannot =
        |error: std::io::Error| CommandError::Unusable(format!("the network's keeper: {error}"));
    let log = records.log(&plan.name);
    let program = std::env::current_exe().map_err(cannot)?;
    let file = std::fs::canonicalize(&args.file).map_err(cannot)?;
    let mut command = Command::new(program);
    command.args(["lab", "keep", "--name", &plan.name]).arg(file);
    command.arg("--state-dir").arg(&args.kept.records);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if args.foreground {
        command.stderr(Stdio::inherit());
    } else {
        command.stderr(files::create::overwrite(&log, 0o644).map_err(cannot)?);
        // Ctrl-C here is not for it.
        command.process_group(0);
    }
    let mut keeper = command.spawn().map_err(cannot)?;
    let mut ready_line = String::new();
    if let Some(out) = keeper.stdout.take() {
        BufReader::new(out).read_line(&mut ready_line).map_err(cannot)?;
    }
    if ready_line.trim() != READY {
        // Reaps the process; its log, read next, has the reason.
        let _ = keeper.wait();
        let log_text = std::fs::read_to_string(&log).unwrap_or_default();
        let log_text = log_text.trim().trim_start_matches("steelyard: ");
        let why = if log_text.is_empty() { "its keeper ended" } else { log_text };
        records.remove_record(&plan.name).map_err(|error| record_failure(&error))?;
        return Err(CommandError::Unusable(format!(
            "the network `{}` could not be made: {why}",
            plan.name
        )));
    }
    let record = find_record(&records, Some(&plan.name))?;
    if args.json {
        print_json(&list::with_state(&record))?;
    } else {
        screen::print(&list::render_network(&record))?;
    }
    if args.foreground {
        keeper.wait().map_err(cannot)?;
    }
    Ok(CommandOutcome::Done)
}
