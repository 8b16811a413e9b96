//! `steelyard takeover`: has this machine take shared addresses over. Whether it can is the daemon's to say.

use std::process::ExitCode;

use crate::ask::{Contact, wait};
use crate::end::{End, Failure, finish, print_json};
use crate::show::screen;

/// Take shared addresses over from the machine that has them.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard takeover         every group of [vrrp.NAME] that is not active here
  steelyard takeover front   this one

This member's priority is raised above the one that it heard until it stands by again. The other member takes the
address back only by the same order there, or when this one fails.")]
pub struct Args {
    /// The group.
    #[arg(value_name = "GROUP")]
    group: Option<String>,
    #[command(flatten)]
    contact: Contact,
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    finish(args.contact.json, wait(ask(args)))
}

async fn ask(args: &Args) -> Result<End, Failure> {
    let taken = args.contact.client().takeover(args.group.clone()).await?;
    if args.contact.json {
        print_json(&taken)?;
    } else if taken.groups.is_empty() {
        screen::print("every group is active here already\n")?;
    } else {
        screen::print(&format!("active: {}\n", taken.groups.join(", ")))?;
    }
    Ok(End::Done)
}
