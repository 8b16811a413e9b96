//! `steelyard run`: the daemon. What it does is the daemon's; this reads the command line and prints why it ended.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use daemon::event::Form;
use daemon::{RunError, RunOptions};

use crate::end::{End, complain, print_findings};

/// Run the daemon until it is told to stop.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard run                                 the configuration in /etc/steelyard/steelyard.toml
  steelyard run -c shop.toml
  steelyard run -c shop.toml --takeover         take the listening sockets over from the daemon that runs

Signals: SIGHUP reads the file again and applies it, SIGTERM drains and ends, SIGUSR1 reopens the access log.")]
pub struct Args {
    /// The configuration.
    #[arg(
        short,
        long = "config",
        value_name = "FILE",
        default_value = "/etc/steelyard/steelyard.toml"
    )]
    pub config: PathBuf,
    /// Take over from the daemon that is running: no connection is refused meanwhile, and the old one drains.
    #[arg(long)]
    pub takeover: bool,
    /// How the daemon's own events are written to standard error.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Events::Text)]
    pub events: Events,
}

/// The form of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Events {
    /// A line of text each.
    Text,
    /// A JSON object each, one a line.
    Json,
}

/// Runs until told to stop.
pub fn run(args: Args) -> ExitCode {
    let events = match args.events {
        Events::Text => Form::Text,
        Events::Json => Form::Json,
    };
    let options = RunOptions { config: args.config, takeover: args.takeover, events };
    match daemon::run(options) {
        Ok(()) => End::Done.code(),
        Err(error) => {
            match &error {
                RunError::Invalid(findings) => {
                    print_findings(&findings.findings, findings.unlisted)
                }
                other => complain(other),
            }
            ExitCode::from(error.exit_code())
        }
    }
}
