//! `steelyard try`: a whole balancer with servers and clients inside this process, to be watched while servers die.
//!
//! Without `--packets` there is no root, no files: everything listens on loopback ports that the kernel chooses and is gone at the end. It
//! measures nothing for comparison: `bench` does.

mod args;
mod driver;
mod environment;
mod event_log;
mod keys;
mod packets;
mod script;
mod snapshot;
mod summary;
mod view;

use std::io::IsTerminal;
use std::process::ExitCode;

pub use self::args::TryArgs;
use crate::common_args::block_on;
use crate::outcome::finish;

pub fn run(args: TryArgs) -> ExitCode {
    if args.packets {
        return finish(args.json, block_on(packets::show(args)));
    }
    let interactive =
        !args.once && std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    finish(args.json, block_on(driver::show(args, interactive)))
}
