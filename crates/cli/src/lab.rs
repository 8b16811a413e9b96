//! `steelyard lab`: networks from files, to prove things in: namespaces and links with delay, rate, loss and faults.
//!
//! The lab builds and keeps records; this orders and prints.

mod common;
mod down;
mod exec;
mod keep;
mod list;
mod up;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use self::common::plan;
use crate::end::{End, Failure, finish, print_json};
use crate::show::screen;

/// Set up networks to prove things in: hosts, routers and bridges, with links that take time and lose packets.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

const EXAMPLES: &str = "\
Examples:
  steelyard lab check wan.toml                     is the file right?
  steelyard lab up wan.toml                        make it; as root
  steelyard lab exec client -- ping -c 3 10.0.2.2  run something on a host
  steelyard lab exec server -- steelyard bench serve 0.0.0.0:7007
  steelyard lab list                               what is up, and what killed runs left
  steelyard lab down                               take it down";

#[derive(Clone, Debug, Subcommand)]
enum What {
    Check(FileArgs),
    Up(up::UpArgs),
    List(list::ListArgs),
    Exec(exec::ExecArgs),
    Down(down::DownArgs),
    #[command(hide = true)]
    Keep(keep::KeepArgs),
}

/// Check a network's file; nothing is made.
#[derive(Clone, Debug, clap::Args)]
pub struct FileArgs {
    /// The file; docs/lab.md tells what stands in it.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    match &args.what {
        What::Check(args) => finish(args.json, check(args)),
        What::Up(args) => finish(args.json, up::up(args)),
        What::List(args) => finish(args.json, list::list(args)),
        What::Exec(args) => exec::run(args),
        What::Down(args) => finish(args.json, down::down(args)),
        What::Keep(args) => finish(false, keep::keep(args)),
    }
}

/// What `lab check --json` prints.
#[derive(serde::Serialize)]
struct Checked {
    name: String,
    nodes: Vec<String>,
    links: Vec<String>,
}

fn check(args: &FileArgs) -> Result<End, Failure> {
    let plan = plan(&args.file, None)?;
    let nodes =
        plan.nodes.iter().map(|node| format!("{} {}", node.kind.word(), node.name)).collect();
    let links = plan.cords.iter().map(|cord| plan.told(cord)).collect();
    let checked = Checked { name: plan.name.clone(), nodes, links };
    if args.json {
        print_json(&checked)?;
    } else {
        let Checked { name, nodes, links } = checked;
        screen::print(&format!("{name}: {}\n", nodes.join(", ")))?;
        for link in links {
            screen::print(&format!("  {link}\n"))?;
        }
    }
    Ok(End::Done)
}
