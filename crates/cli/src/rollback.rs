//! `steelyard rollback`: activates a stored generation, as a new one.

use std::process::ExitCode;

use crate::apply::print_applied;
use crate::common_args::{DaemonArgs, SaveArgs, block_on};
use crate::outcome::finish;

/// Restore an earlier configuration.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard rollback      the one before; again: the one before that
  steelyard rollback 4    generation 4; `steelyard generations` lists the stored ones")]
pub struct RollbackArgs {
    /// The generation; default: the one before the active one, further back each time.
    #[arg(value_name = "N")]
    pub generation: Option<u64>,
    #[command(flatten)]
    saving: SaveArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &RollbackArgs) -> ExitCode {
    finish(
        args.contact.json,
        block_on(async {
            let applied = args
                .contact
                .client()?
                .rollback(args.generation, args.saving.save_preference())
                .await?;
            print_applied(&applied, args.contact.json)
        }),
    )
}
