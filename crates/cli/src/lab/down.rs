//! `steelyard lab down`: takes a network down, whether its keeper lives or was killed.

use std::process::Command;
use std::time::{Duration, Instant};

use lab::net::{Keeper, find, said};
use lab::topology::record::{Record, Records};
use serde::Serialize;

use super::common::{Kept, known, meant};
use crate::end::{End, Failure, print_json};
use crate::show::screen;

/// Take a network down with everything in it; programs that run on its hosts are told to end.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard lab down                             the only one
  steelyard lab down wan
  steelyard lab down --all                       every one, and what killed runs left

Exit codes: 0 it is gone, 1 no such network, 2 it could not be taken down.")]
pub struct DownArgs {
    /// Which, where several are up.
    #[arg(value_name = "NAME", conflicts_with = "all")]
    name: Option<String>,
    /// Every one.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    kept: Kept,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// How long a keeper may take.
const WITHIN: Duration = Duration::from_secs(20);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// What `--json` prints of each.
#[derive(Debug, Serialize)]
struct Gone {
    name: String,
    /// Its keeper had been killed.
    stale: bool,
    /// Programs that ran on its hosts and were told to end.
    programs: u32,
}

/// Carries it out.
pub fn down(args: &DownArgs) -> Result<End, Failure> {
    let records = args.kept.records();
    let chosen = if args.all {
        records.all().map_err(|error| known(&error))?
    } else {
        vec![meant(&records, args.name.as_deref())?]
    };
    let mut gone = Vec::new();
    for record in chosen {
        gone.push(end(&records, &record)?);
    }
    if args.json {
        print_json(&gone)?;
        return Ok(End::Done);
    }
    for Gone { name, stale, programs } in &gone {
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
    Ok(End::Done)
}

fn end(records: &Records, record: &Record) -> Result<Gone, Failure> {
    let programs = end_programs(record);
    let stale = !record.lives();
    if stale {
        records.sweep().map_err(|error| known(&error))?;
    } else {
        let keeper = record.keeper();
        keeper
            .tell_to_end()
            .map_err(|error| Failure::Unusable(format!("{}: {error}", record.name)))?;
        let begun = Instant::now();
        while record.lives() {
            if begun.elapsed() > WITHIN {
                return Err(Failure::Unusable(format!(
                    "{} does not end: its keeper, process {}, is still there after {} s",
                    record.name,
                    record.process,
                    WITHIN.as_secs()
                )));
            }
            std::thread::park_timeout(LOOK);
        }
        // A keeper that was killed meanwhile left it.
        records.remove(&record.name).map_err(|error| known(&error))?;
    }
    Ok(Gone { name: record.name.clone(), stale, programs })
}

/// Tells programs on the network's hosts to end: a namespace lives as long as they do.
fn end_programs(record: &Record) -> u32 {
    let mut told = 0;
    for node in &record.nodes {
        let listed = said(Command::new(find("ip")).args(["netns", "pids", &node.namespace]));
        // A namespace that is gone holds nobody.
        let pids = listed.unwrap_or_default();
        let found = pids.split_whitespace().filter_map(|pid| Keeper::of(pid.parse().ok()?));
        for program in found.filter(|program| *program != record.keeper()) {
            told += u32::from(program.tell_to_end().is_ok());
        }
    }
    told
}
