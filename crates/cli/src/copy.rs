//! `steelyard copy`: copies objects of the active configuration under new names. One file for each kind.

mod service;

use std::process::ExitCode;

/// Copy a service with its pools under a new name.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard copy service shop shop-test --listen 10.0.0.10:8080
  steelyard copy service shop shop-test --listen 10.0.0.10:8080 --dry-run")]
pub struct CopyArgs {
    #[command(subcommand)]
    what: CopyCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum CopyCommand {
    Service(service::CopyServiceArgs),
}

pub fn run(args: &CopyArgs) -> ExitCode {
    match &args.what {
        CopyCommand::Service(args) => service::run(args),
    }
}
