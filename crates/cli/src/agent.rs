//! `steelyard agent`: reports the load of this machine to a balancer: as a line, as JSON, as an ORCA report.
//!
//! The balancer's weight controller decides about weights. The agent needs no privileges and writes no file.

mod args;
mod sample;
mod script;
mod serve;
mod table;

use std::process::ExitCode;

pub use self::args::AgentArgs;
use crate::common_args::block_on;
use crate::outcome::finish;

pub fn run(args: AgentArgs) -> ExitCode {
    finish(args.once, block_on(serve::run(args)))
}
