//! `steelyard rollback`: puts a kept generation in force again, as a new one.

use std::process::ExitCode;

use crate::apply::show;
use crate::ask::{Contact, Saving, wait};
use crate::end::finish;

/// Put an earlier configuration in force again.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard rollback      the one before
  steelyard rollback 4    generation 4; `steelyard generations` lists those that are kept")]
pub struct Args {
    /// The generation; without it, the one before the one in force.
    #[arg(value_name = "N")]
    pub generation: Option<u64>,
    #[command(flatten)]
    saving: Saving,
    #[command(flatten)]
    contact: Contact,
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    finish(
        args.contact.json,
        wait(async {
            let applied =
                args.contact.client()?.rollback(args.generation, args.saving.asked()).await?;
            show(&applied, args.contact.json)
        }),
    )
}
