//! `steelyard takeover`: makes this machine take shared addresses over, or hand them over. The daemon decides whether
//! it can.

use std::process::ExitCode;

use api::types::{TakeoverOrder, TakeoverQuery};

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::screen;

/// Take virtual addresses over from the other machine, or hand them over to it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard takeover            every group of [vrrp.NAME] that is not active here
  steelyard takeover front      this one
  steelyard takeover --give     every group that is active here: the other machine takes it
  steelyard takeover --release  no order stands any more: priorities and `preempt` count again

Taken over, this member's priority is raised above the one that it heard until it stands by again. Handed over, it takes
nothing back from a lower priority. The other order, or a failure, ends both; `--release` ends them without one. With a
heartbeat `--give` is refused when the other member would not take the group.")]
pub struct TakeoverArgs {
    /// The group.
    #[arg(value_name = "GROUP")]
    group: Option<String>,
    /// Hand over what is active here.
    #[arg(long, conflicts_with = "release")]
    give: bool,
    /// Go by priorities again.
    #[arg(long)]
    release: bool,
    /// Hand over although the other member is not known to take it.
    #[arg(long, requires = "give")]
    force: bool,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &TakeoverArgs) -> ExitCode {
    finish(args.contact.json, block_on(send_takeover(args)))
}

async fn send_takeover(args: &TakeoverArgs) -> Result<CommandOutcome, CommandError> {
    let order = match (args.give, args.release) {
        (true, _) => TakeoverOrder::Give,
        (_, true) => TakeoverOrder::Release,
        _ => TakeoverOrder::Take,
    };
    let wanted = TakeoverQuery {
        group: args.group.clone(),
        order: Some(order),
        force: args.force.then_some(true),
    };
    let moved = args.contact.client()?.takeover(&wanted).await?;
    let (done, nothing) = match order {
        TakeoverOrder::Take => ("active", "every group is active here already"),
        TakeoverOrder::Give => ("handed over", "no group is active here"),
        TakeoverOrder::Release => ("released", "no order stands"),
    };
    if args.contact.json {
        print_json(&moved)?;
    } else if moved.groups.is_empty() {
        screen::print(&format!("{nothing}\n"))?;
    } else {
        screen::print(&format!("{done}: {}\n", moved.groups.join(", ")))?;
    }
    Ok(CommandOutcome::Done)
}
