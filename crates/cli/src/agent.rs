//! `steelyard agent`: tells a balancer how loaded this machine is: as a line, as JSON, as an ORCA report.
//!
//! It decides nothing about weights: the balancer's judge does. It needs no rights and writes no file.

mod args;
mod sample;
mod script;
mod serve;
mod table;

use std::process::ExitCode;

pub use self::args::Args;
use crate::ask::wait;
use crate::end::finish;

/// Carries it out.
pub fn run(args: Args) -> ExitCode {
    finish(args.once, wait(serve::run(args)))
}
