//! `steelyard run`: the daemon. This file only reads the command line and prints why the daemon ended.

use std::process::ExitCode;

use clap::ValueEnum;
use daemon::event::LogFormat;
use daemon::{RunError, RunOptions};

use crate::config_file::StandardConfigArgs;
use crate::outcome::{CommandOutcome, print_error, print_findings};

/// Run the daemon in the foreground until it is stopped.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard run                                 the configuration in /etc/steelyard/steelyard.toml
  steelyard run -c shop.toml
  steelyard run -c shop.toml --takeover         take over the listening sockets of the running daemon

Signals: SIGHUP reloads the file, SIGTERM drains and ends, SIGUSR1 reopens the access log.")]
pub struct RunArgs {
    #[command(flatten)]
    pub config: StandardConfigArgs,
    /// Hot restart: take over from the running daemon. No connection is refused meanwhile, and the
    /// old daemon drains.
    #[arg(long)]
    pub takeover: bool,
    /// Format of the daemon's events on standard error.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = EventFormat::Text)]
    pub events: EventFormat,
}

/// The form of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventFormat {
    /// One line of text each.
    Text,
    /// One JSON object on each line.
    Json,
}

/// Runs until a signal or the API stops it.
pub fn run(args: RunArgs) -> ExitCode {
    let events = match args.events {
        EventFormat::Text => LogFormat::Text,
        EventFormat::Json => LogFormat::Json,
    };
    let options =
        RunOptions { config: args.config.path().to_owned(), takeover: args.takeover, events };
    match daemon::run(options) {
        Ok(()) => CommandOutcome::Done.exit_code(),
        Err(error) => {
            match &error {
                RunError::Invalid(findings) => {
                    print_findings(&findings.findings, findings.unlisted)
                }
                other => print_error(other),
            }
            ExitCode::from(error.exit_code())
        }
    }
}
