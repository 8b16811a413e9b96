//! `steelyard stop`: drains and ends the daemon, and waits until it is gone.

use std::process::ExitCode;
use std::time::Duration;

use api::ApiClient;
use tokio::time::{Instant, sleep};

use crate::common_args::{DaemonArgs, block_on, span};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::screen;
use crate::show::unit;

/// Stop the daemon gracefully; active requests may finish first.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard stop               wait for active requests as configured
  steelyard stop --timeout 5s  close remaining connections after five seconds
  steelyard stop --no-wait     return when draining has begun
  steelyard stop --detach      the kernel continues to forward packets")]
pub struct StopArgs {
    /// How long active requests may finish; default: the configured `drain`.
    #[arg(long = "timeout", value_name = "TIME", value_parser = span)]
    pub limit: Option<Duration>,
    /// Do not wait until the daemon has ended.
    #[arg(long)]
    pub no_wait: bool,
    /// Leave the packet plane running; otherwise it is removed completely.
    #[arg(long)]
    pub detach: bool,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &StopArgs) -> ExitCode {
    finish(args.contact.json, block_on(stop(args)))
}

async fn stop(args: &StopArgs) -> Result<CommandOutcome, CommandError> {
    let client = args.contact.client()?;
    let stopping = client.stop(args.limit, args.detach).await?;
    if args.contact.json {
        print_json(&stopping)?;
    } else {
        screen::print(&format!(
            "draining: {} connections, {} in flight, at most {}; the daemon's log names what is cut then\n",
            unit::count(stopping.connections),
            unit::count(stopping.in_flight),
            unit::span(stopping.limit_ms),
        ))?;
    }
    if args.no_wait {
        return Ok(CommandOutcome::Done);
    }
    let limit = Duration::from_millis(stopping.limit_ms).saturating_add(MARGIN);
    if !wait_until_gone(&client, limit).await {
        let span = unit::span(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        return Err(CommandError::Absent(format!(
            "the daemon is still there after {span}; look at its log"
        )));
    }
    if !args.contact.json {
        screen::print("stopped\n")?;
    }
    Ok(CommandOutcome::Done)
}

/// Whether the daemon stops listening within the limit.
async fn wait_until_gone(client: &ApiClient, limit: Duration) -> bool {
    let start = Instant::now();
    // Too many questions are refused; it is there then, too.
    while !matches!(client.events().await, Err(error) if !error.is_refusal()) {
        if start.elapsed() >= limit {
            return false;
        }
        sleep(STEP).await;
    }
    true
}

/// The time that the daemon gets to shut down after its limit.
/// The end of a shutdown takes up to 5 s: resets, the API's last answers and the access log.
const MARGIN: Duration = Duration::from_secs(5);
/// Between two looks at whether the daemon has stopped.
/// Bounds how much longer than necessary the user waits; each look is one connection attempt.
const STEP: Duration = Duration::from_millis(100);
