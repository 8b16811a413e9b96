//! `steelyard agent`: tells a balancer how loaded this machine is: as a line, as JSON, as an ORCA report.
//!
//! It decides nothing about weights: the balancer's judge does. It needs no rights and writes no file.

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
