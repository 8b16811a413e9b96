//! `steelyard undo`: reverts a command. The daemon decides whether that is possible.

use std::process::ExitCode;

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish, print_error, print_json};
use crate::show::screen;

/// Undo a command: the latest one for all its servers, or one by its number in `steelyard audit`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard undo          the latest command, for all its servers
  steelyard undo 17       only record 17 of `steelyard audit`

It is rejected if something changed the same setting since. Connections that were closed stay closed.")]
pub struct UndoArgs {
    /// The record's number.
    #[arg(value_name = "RECORD")]
    id: Option<u64>,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &UndoArgs) -> ExitCode {
    finish(args.contact.json, block_on(ask(args)))
}

async fn ask(args: &UndoArgs) -> Result<CommandOutcome, CommandError> {
    let undone = args.contact.client()?.undo(args.id).await?;
    if args.contact.json {
        print_json(&undone)?;
    } else {
        for record in &undone.records {
            let of = record.undoes.map(|id| format!(" (record {id})")).unwrap_or_default();
            let text = format!("{}{of}: undone; it is now: {}\n", record.target, record.after);
            screen::print(&text)?;
        }
    }
    let Some(failed) = undone.failed else { return Ok(CommandOutcome::Done) };
    print_error(&CommandError::Absent(failed));
    Ok(CommandOutcome::Partial)
}
