//! `steelyard completions`: what a shell needs to complete the command line.

use std::process::ExitCode;

use clap_complete::{Shell, generate};

use crate::end::{End, Failure, finish};
use crate::show::screen;

/// Print completions for a shell.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard completions bash > /etc/bash_completion.d/steelyard
  steelyard completions fish > ~/.config/fish/completions/steelyard.fish")]
pub struct Args {
    /// The shell.
    pub shell: Shell,
}

/// Prints those of `program`.
pub fn run(args: &Args, mut program: clap::Command) -> ExitCode {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    generate(args.shell, &mut program, name, &mut script);
    finish(
        false,
        screen::print(&String::from_utf8_lossy(&script))
            .map(|()| End::Done)
            .map_err(Failure::Output),
    )
}
