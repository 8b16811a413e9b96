//! `steelyard takeover`: makes this machine take shared addresses over, or hand them over. The daemon decides whether
//! it can.

use std::process::ExitCode;

use api::types::{TakeoverQuery, TakeoverVerb};

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::screen;

/// Take over virtual addresses from the other member, or hand them over to it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard takeover            every group of [vrrp.NAME] that is not active here
  steelyard takeover front      this one
  steelyard takeover --give     every group that is active here: the other member takes over
  steelyard takeover --release  end such commands: priorities and `preempt` apply again

A takeover raises this member's priority above the received one until the member is standby again. After
`--give`, the member does not preempt a lower priority. The opposite command, a failure or `--release` ends
both. With a heartbeat `--give` is rejected if the other member would not take over.")]
pub struct TakeoverArgs {
    /// The group.
    #[arg(value_name = "GROUP")]
    group: Option<String>,
    /// Hand over groups that are active here.
    #[arg(long, conflicts_with = "release")]
    give: bool,
    /// Return to the configured priorities.
    #[arg(long)]
    release: bool,
    /// Hand over even if the other member is not known to accept.
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
        (true, _) => TakeoverVerb::Give,
        (_, true) => TakeoverVerb::Release,
        _ => TakeoverVerb::Take,
    };
    let wanted = TakeoverQuery {
        group: args.group.clone(),
        order: Some(order),
        force: args.force.then_some(true),
    };
    let moved = args.contact.client()?.takeover(&wanted).await?;
    let (done, nothing) = match order {
        TakeoverVerb::Take => ("active", "every group is active here already"),
        TakeoverVerb::Give => ("handed over", "no group is active here"),
        TakeoverVerb::Release => ("released", "no command stands"),
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
