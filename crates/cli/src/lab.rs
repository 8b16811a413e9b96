//! `steelyard lab`: test networks from files: namespaces and links with delay, rate, loss and faults.
//!
//! The lab builds networks and keeps their records; this calls it and prints.

mod common;
mod down;
mod exec;
mod keep;
mod list;
mod up;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use self::common::read_plan;
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::screen;

/// Emulate networks: hosts, routers and bridges, with links that delay and lose packets.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct LabArgs {
    #[command(subcommand)]
    what: LabCommand,
}

const EXAMPLES: &str = "\
Examples:
  steelyard lab check wan.toml                     is the file valid?
  steelyard lab up wan.toml                        create it; as root
  steelyard lab exec client -- ping -c 3 10.0.2.2  run something on a host
  steelyard lab exec server -- steelyard bench serve 0.0.0.0:7007
  steelyard lab list                               networks, and leftovers of killed runs
  steelyard lab down                               remove it";

#[derive(Clone, Debug, Subcommand)]
enum LabCommand {
    Check(LabCheckArgs),
    Up(up::LabUpArgs),
    List(list::LabListArgs),
    Exec(exec::LabExecArgs),
    Down(down::LabDownArgs),
    #[command(hide = true)]
    Keep(keep::LabKeepArgs),
}

/// Check a network file without creating anything.
#[derive(Clone, Debug, clap::Args)]
pub struct LabCheckArgs {
    /// The file; docs/lab.md describes the format.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &LabArgs) -> ExitCode {
    match &args.what {
        LabCommand::Check(args) => finish(args.json, check(args)),
        LabCommand::Up(args) => finish(args.json, up::up(args)),
        LabCommand::List(args) => finish(args.json, list::list(args)),
        LabCommand::Exec(args) => exec::run(args),
        LabCommand::Down(args) => finish(args.json, down::down(args)),
        LabCommand::Keep(args) => finish(false, keep::keep(args)),
    }
}

/// The document that `lab check --json` prints.
#[derive(serde::Serialize)]
struct LabCheckResult {
    name: String,
    nodes: Vec<String>,
    links: Vec<String>,
}

fn check(args: &LabCheckArgs) -> Result<CommandOutcome, CommandError> {
    let plan = read_plan(&args.file, None)?;
    let nodes =
        plan.nodes.iter().map(|node| format!("{} {}", node.kind.keyword(), node.name)).collect();
    let links = plan.links.iter().map(|cord| plan.describe_link(cord)).collect();
    let checked = LabCheckResult { name: plan.name.clone(), nodes, links };
    if args.json {
        print_json(&checked)?;
    } else {
        let LabCheckResult { name, nodes, links } = checked;
        screen::print(&format!("{name}: {}\n", nodes.join(", ")))?;
        for link in links {
            screen::print(&format!("  {link}\n"))?;
        }
    }
    Ok(CommandOutcome::Done)
}
