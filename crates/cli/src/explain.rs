//! `steelyard explain`: why things are as they are. One file for each thing that can be asked for.

mod server;

use std::process::ExitCode;

/// Say why.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum What {
    Server(server::Args),
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    match &args.what {
        What::Server(args) => server::run(args),
    }
}
