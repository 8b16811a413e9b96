//! `steelyard reload`: the daemon reads its file again and activates it, as on SIGHUP, and the result is shown.

use std::process::ExitCode;

use crate::apply::print_applied;
use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::finish;

/// Reload the daemon's file and activate it, as SIGHUP does.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard reload           shows what changed; mistakes are listed and change nothing
  steelyard reload --json

`steelyard apply FILE` activates another file.")]
pub struct ReloadArgs {
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &ReloadArgs) -> ExitCode {
    finish(
        args.contact.json,
        block_on(async {
            let applied = args.contact.client()?.reload().await?;
            print_applied(&applied, args.contact.json)
        }),
    )
}
