//! `steelyard lab down`: takes a network down, whether its keeper lives or was killed.

use std::process::Command;
use std::time::{Duration, Instant};

use lab::net::{OwnerProcess, find, run_command};
use lab::topology::record::{TopologyRecord, TopologyRecords};
use serde::Serialize;

use super::common::{RecordsDirArgs, find_record, record_failure};
use crate::outcome::{CommandError, CommandOutcome, print_json};
use crate::show::screen;

/// Remove a network with everything in it; programs on its hosts are ended.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard lab down                             the only one
  steelyard lab down wan
  steelyard lab down --all                       all networks, and leftovers of killed runs

Exit codes: 0 removed, 1 no such network, 2 it could not be removed.")]
pub struct LabDownArgs {
    /// The network, if several exist.
    #[arg(value_name = "NAME", conflicts_with = "all")]
    name: Option<String>,
    /// Remove all of the networks.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    kept: RecordsDirArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// How long a keeper may take.
/// A keeper removes namespaces and links one after the other; the largest network has 64 and 256 of them.
const WITHIN: Duration = Duration::from_secs(20);
/// Between two looks at whether a process has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The document that `--json` prints of each.
#[derive(Debug, Serialize)]
struct RemovedNetwork {
    name: String,
    /// Its keeper had been killed.
    stale: bool,
    /// Programs on its hosts that were ended by a signal.
    programs: u32,
}

pub fn down(args: &LabDownArgs) -> Result<CommandOutcome, CommandError> {
    let records = args.kept.open_records();
    let chosen = if args.all {
        records.all().map_err(|error| record_failure(&error))?
    } else {
        vec![find_record(&records, args.name.as_deref())?]
    };
    let mut gone = Vec::new();
    for record in chosen {
        gone.push(remove_network(&records, &record)?);
    }
    if args.json {
        print_json(&gone)?;
        return Ok(CommandOutcome::Done);
    }
    for RemovedNetwork { name, stale, programs } in &gone {
        let how = if *stale { "what its killed keeper left is gone" } else { "is down" };
        let programs = if *programs > 0 {
            format!("; {programs} programs on its hosts were told to end")
        } else {
            String::new()
        };
        screen::print(&format!("{name} {how}{programs}\n"))?;
    }
    if gone.is_empty() {
        screen::print("no network is up\n")?;
    }
    Ok(CommandOutcome::Done)
}

fn remove_network(
    records: &TopologyRecords,
    record: &TopologyRecord,
) -> Result<RemovedNetwork, CommandError> {
    let programs = end_programs(record);
    let stale = !record.is_running();
    if stale {
        records.sweep_dead().map_err(|error| record_failure(&error))?;
    } else {
        let keeper = record.owner();
        keeper
            .terminate()
            .map_err(|error| CommandError::Unusable(format!("{}: {error}", record.name)))?;
        let begun = Instant::now();
        while record.is_running() {
            if begun.elapsed() > WITHIN {
                return Err(CommandError::Unusable(format!(
                    "{} does not end: its keeper, process {}, is still there after {} s",
                    record.name,
                    record.process,
                    WITHIN.as_secs()
                )));
            }
            std::thread::park_timeout(LOOK);
        }
        // A keeper that was killed meanwhile left it.
        records.remove_record(&record.name).map_err(|error| record_failure(&error))?;
    }
    Ok(RemovedNetwork { name: record.name.clone(), stale, programs })
}

/// Tells programs on the network's hosts to end: a namespace lives as long as they do.
fn end_programs(record: &TopologyRecord) -> u32 {
    let mut ended = 0;
    for node in &record.nodes {
        let listed = run_command(Command::new(find("ip")).args(["netns", "pids", &node.namespace]));
        // A namespace that is gone has no processes.
        let pids = listed.unwrap_or_default();
        let found = pids.split_whitespace().filter_map(|pid| OwnerProcess::find(pid.parse().ok()?));
        for program in found.filter(|program| *program != record.owner()) {
            ended += u32::from(program.terminate().is_ok());
        }
    }
    ended
}
