//! `steelyard try`: a whole balancer with servers and clients inside this process, to be watched while servers die.
//!
//! Without `--packets` there is no root, no files: everything listens on loopback ports that the kernel chooses and is gone at the end. It
//! measures nothing for comparison: `bench` does.

mod args;
mod chronicle;
mod keys;
mod look;
mod packets;
mod show;
mod stage;
mod story;
mod summary;
mod view;

use std::io::IsTerminal;
use std::process::ExitCode;

pub use self::args::Args;
use crate::ask::wait;
use crate::end::finish;

/// Carries it out.
pub fn run(args: Args) -> ExitCode {
    if args.packets {
        return finish(args.json, wait(packets::show(args)));
    }
    let interactive =
        !args.once && std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    finish(args.json, wait(show::show(args, interactive)))
}
