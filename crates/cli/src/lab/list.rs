//! `steelyard lab list`: the networks that are up, and those that a killed keeper left.

use lab::topology::record::{Place, Record};
use serde::Serialize;

use super::common::{Kept, known};
use crate::end::{End, Failure, print_json};
use crate::show::screen;

/// List networks with their nodes and links; `stale`: its keeper was killed, and `lab down` removes what is left.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    kept: Kept,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A network as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Told<'r> {
    state: &'static str,
    #[serde(flatten)]
    record: &'r Record,
}

/// With its state.
pub fn told(record: &Record) -> Told<'_> {
    Told { state: if record.lives() { "up" } else { "stale" }, record }
}

/// For people.
pub fn text(record: &Record) -> String {
    let Told { state, record: Record { name, file, process, nodes, links, .. } } = told(record);
    let mut out = format!("{name}: {state}, from {}, kept by process {process}\n", file.display());
    let width = nodes.iter().map(|node| node.name.len()).max().unwrap_or(0);
    for Place { name, kind, namespace, addresses } in nodes {
        let addresses = addresses.join(", ");
        out += format!("  {kind:<6} {name:<width$}  {addresses:<24} {namespace}").trim_end();
        out.push('\n');
    }
    for link in links {
        out += &format!("  link   {link}\n");
    }
    out
}

/// Carries it out.
pub fn list(args: &ListArgs) -> Result<End, Failure> {
    let all = args.kept.records().all().map_err(|error| known(&error))?;
    if args.json {
        print_json(&all.iter().map(told).collect::<Vec<_>>())?;
    } else if all.is_empty() {
        screen::print("no network is up: steelyard lab up FILE\n")?;
    } else {
        screen::print(&all.iter().map(text).collect::<String>())?;
    }
    Ok(End::Done)
}
