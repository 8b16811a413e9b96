//! `steelyard man`: writes the manual pages, one a command, from the same texts as `--help`.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::outcome::{CommandError, CommandOutcome, finish};

/// Write the manual pages into a directory.
#[derive(Clone, Debug, clap::Args)]
pub struct ManArgs {
    /// Where to; it must exist.
    pub dir: PathBuf,
}

/// Writes those of `program`.
pub fn run(args: &ManArgs, program: clap::Command) -> ExitCode {
    let written = clap_mangen::generate_to(program, &args.dir)
        .map(|()| CommandOutcome::Done)
        .map_err(|error| {
            CommandError::Unusable(format!(
                "cannot write manual pages into {}: {error}",
                args.dir.display()
            ))
        });
    finish(false, written)
}
