//! `steelyard top`: services, servers and causes of failure on a live screen, with keys for commands.
//!
//! `top/view.rs` decides what keys do and what is shown; `top/event_loop.rs` owns the terminal.

mod canvas;
mod event_loop;
#[cfg(test)]
mod fixture;
mod frame;
mod help;
mod history;
mod keys;
mod panels;
mod plain_output;
mod rows;
mod server_operation;
mod sheet;
mod snapshot;
mod summary;
mod tab;
mod view;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use self::tab::Tab;
use crate::common_args::{DaemonAddressArgs, block_on, span};
use crate::outcome::finish;

/// Watch services, servers, rates and errors on a live screen, and drain, enable and disable
/// servers with keys.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard top                        until q; ? shows the keys
  steelyard top --interval 5s             rates and times over five seconds
  steelyard top --view servers         start with the servers
  steelyard top --once                 one frame of everything, then end
  steelyard top --once --view causes   present causes of failures

Keys: arrows or j and k select, tab changes the view, s sorts, / filters by name, d drains, e enables and x
disables the selected server (after confirmation), p pauses, ? shows help, q quits. Without a terminal one
frame is printed.")]
pub struct TopArgs {
    /// Refresh interval; rates and times cover it (100ms to 60s).
    #[arg(long = "interval", value_name = "TIME", value_parser = every, default_value = "1s")]
    every: Duration,
    /// Print one frame and end.
    #[arg(long)]
    once: bool,
    /// The first view; with --once only this one.
    #[arg(long, value_name = "VIEW")]
    view: Option<Tab>,
    #[command(flatten)]
    place: DaemonAddressArgs,
}

/// The shortest time between two snapshots: more frequent calls would measure themselves.
const EVERY_MIN: Duration = Duration::from_millis(100);

fn every(text: &str) -> Result<Duration, String> {
    let most = Duration::from_millis(api::types::report::INTERVAL_MS_MAX);
    match span(text)? {
        time if time < EVERY_MIN || time > most => {
            Err(format!("found {text}, expected at least 100ms and at most 60s"))
        }
        time => Ok(time),
    }
}

pub fn run(args: TopArgs) -> ExitCode {
    let live = !args.once && std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let shown = args.place.client().and_then(|client| match live {
        true => block_on(event_loop::run_live(&client, args.every, args.view)),
        false => block_on(event_loop::print_once(&client, args.every, args.view)),
    });
    finish(false, shown)
}
