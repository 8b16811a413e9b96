//! `steelyard lab list`: the networks that are up, and those that a killed keeper left.

use lab::topology::record::{RecordedNode, TopologyRecord};
use serde::Serialize;

use super::common::{RecordsDirArgs, record_failure};
use crate::outcome::{CommandError, CommandOutcome, print_json};
use crate::show::screen;

/// List networks with their nodes and links; `stale`: its process was killed, and `lab down`
/// removes the rest.
#[derive(Clone, Debug, clap::Args)]
pub struct LabListArgs {
    #[command(flatten)]
    kept: RecordsDirArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A network as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct ListedNetwork<'r> {
    state: &'static str,
    #[serde(flatten)]
    record: &'r TopologyRecord,
}

pub fn with_state(record: &TopologyRecord) -> ListedNetwork<'_> {
    ListedNetwork { state: if record.is_running() { "up" } else { "stale" }, record }
}

pub fn render_network(record: &TopologyRecord) -> String {
    let ListedNetwork { state, record: TopologyRecord { name, file, process, nodes, links, .. } } =
        with_state(record);
    let mut out = format!("{name}: {state}, from {}, kept by process {process}\n", file.display());
    let width = nodes.iter().map(|node| node.name.len()).max().unwrap_or(0);
    for RecordedNode { name, kind, namespace, addresses } in nodes {
        let addresses = addresses.join(", ");
        out += format!("  {kind:<6} {name:<width$}  {addresses:<24} {namespace}").trim_end();
        out.push('\n');
    }
    for link in links {
        out += &format!("  link   {link}\n");
    }
    out
}

pub fn list(args: &LabListArgs) -> Result<CommandOutcome, CommandError> {
    let all = args.kept.open_records().all().map_err(|error| record_failure(&error))?;
    if args.json {
        print_json(&all.iter().map(with_state).collect::<Vec<_>>())?;
    } else if all.is_empty() {
        screen::print("no network is up: steelyard lab up FILE\n")?;
    } else {
        screen::print(&all.iter().map(render_network).collect::<String>())?;
    }
    Ok(CommandOutcome::Done)
}
