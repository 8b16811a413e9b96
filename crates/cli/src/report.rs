//! `steelyard report`: forwarded and discarded traffic, the reasons, and the time attribution.

mod history;
mod refused;
mod render;
mod rules;

use std::process::ExitCode;
use std::time::Duration;

use api::ApiClient;

use crate::common_args::{DaemonArgs, block_on, span};
use crate::outcome::{CommandError, CommandOutcome, finish, json_line, print_json};
use crate::refresh::redraw_every;
use crate::show::paint::Paint;
use crate::show::screen;
use crate::time_spec::{TimeSpec, now_ms, when};

/// Show totals, rates, errors by cause and latencies, and discrepancies between counters.
#[derive(Clone, Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  steelyard report                    since the start; rates over the daemon's last interval
  steelyard report --interval 5s      rates and times over the next five seconds
  steelyard report shop --watch       one service, repeatedly, until Ctrl-C
  steelyard report 'shop,api-*'       several services and pools, with * for anything
  steelyard report --since 2h         totals, rates, states and the worst minutes of the last two hours
  steelyard report --json | jq .total.requests.unaccounted
  steelyard report refused            the last rejected requests, and the reasons

Totals count since the daemon's start. 'unaccounted' is the difference between counters that should agree.
It is 0, or what changed while a busy daemon was being read."
)]
pub struct ReportArgs {
    /// Only this service or pool, several with commas, `*` for anything within a name.
    #[arg(value_name = "SERVICE|POOL")]
    pub only: Option<String>,
    /// Repeat until Ctrl-C; with --json one object on each line.
    #[arg(long)]
    pub watch: bool,
    /// Measure for this long first (at most 60s), and report rates and times over that interval.
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub interval: Option<Duration>,
    /// Report since then, from the history on disk: 2h, 08:00, or 2026-11-22T08:00.
    #[arg(long, value_name = "WHEN", value_parser = when, conflicts_with_all = ["watch", "interval"])]
    pub since: Option<TimeSpec>,
    /// With --since: until then; default: now.
    #[arg(long, value_name = "WHEN", value_parser = when, requires = "since")]
    pub until: Option<TimeSpec>,
    #[command(flatten)]
    contact: DaemonArgs,
    #[command(subcommand)]
    part: Option<ReportPart>,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum ReportPart {
    Refused(refused::ReportRefusedArgs),
}

/// The default time between two frames with --watch: long enough for rates to be steady.
const STEP: Duration = Duration::from_secs(2);

fn interval(text: &str) -> Result<Duration, String> {
    let most = Duration::from_millis(api::types::report::INTERVAL_MS_MAX);
    match span(text)? {
        time if time.is_zero() || time > most => {
            Err(format!("found {text}, expected more than 0s and at most 60s"))
        }
        time => Ok(time),
    }
}

pub fn run(args: ReportArgs) -> ExitCode {
    if let Some(ReportPart::Refused(args)) = &args.part {
        return refused::run(args);
    }
    let json = args.contact.json;
    finish(json, block_on(show(args)))
}

async fn show(args: ReportArgs) -> Result<CommandOutcome, CommandError> {
    let client = args.contact.client()?;
    let only = args.only.as_deref();
    let json = args.contact.json;
    if let Some(since) = args.since {
        let now = now_ms();
        let until = args.until.map(|until| until.before(now));
        let history = client.history(since.before(now), until).await?;
        if json {
            print_json(&history)?;
        } else {
            screen::print(&history::render(&history, only, screen::width(), Paint::for_stdout()))?;
        }
        return Ok(CommandOutcome::Done);
    }
    if args.watch {
        let every = args.interval.unwrap_or(STEP);
        return redraw_every(every, !json, || fetch_and_render(&client, only, Some(every), json))
            .await;
    }
    if json {
        print_json(&render::select(client.report(args.interval).await?, only)?)?;
    } else {
        screen::print(&fetch_and_render(&client, only, args.interval, false).await?)?;
    }
    Ok(CommandOutcome::Done)
}

async fn fetch_and_render(
    client: &ApiClient,
    only: Option<&str>,
    interval: Option<Duration>,
    json: bool,
) -> Result<String, CommandError> {
    let report = render::select(client.report(interval).await?, only)?;
    if json {
        return json_line(&report);
    }
    Ok(render::render(&report, only, screen::width(), Paint::for_stdout()))
}
