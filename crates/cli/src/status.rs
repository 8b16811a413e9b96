//! `steelyard status`: services, pools and servers with their states, the reasons, and since when.

mod render;

use std::process::ExitCode;
use std::time::Duration;

use api::ApiClient;

use crate::common_args::{DaemonArgs, block_on, span};
use crate::outcome::{CommandError, CommandOutcome, finish, json_line, print_json};
use crate::refresh::redraw_every;
use crate::show::paint::Paint;
use crate::show::screen;

/// Show services, pools and servers: their states, why, and since when.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard status                 everything
  steelyard status web             one service, or one pool
  steelyard status 'shop,api-*'    several, with * for anything
  steelyard status --watch         again every second, until Ctrl-C
  steelyard status --json | jq '.pools[].servers[] | select(.state != \"up\")'")]
pub struct StatusArgs {
    /// Only this service or pool, several with commas, `*` for anything within a name.
    #[arg(value_name = "SERVICE|POOL")]
    pub only: Option<String>,
    /// Repeat until Ctrl-C; with --json one object on each line.
    #[arg(long)]
    pub watch: bool,
    /// Interval between updates with --watch.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "1s", requires = "watch")]
    pub interval: Duration,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: StatusArgs) -> ExitCode {
    let json = args.contact.json;
    finish(json, block_on(show(args)))
}

async fn show(args: StatusArgs) -> Result<CommandOutcome, CommandError> {
    let client = args.contact.client()?;
    let only = args.only.as_deref();
    if args.watch {
        let json = args.contact.json;
        return redraw_every(args.interval, !json, || frame(&client, only, json)).await;
    }
    if args.contact.json {
        print_json(&render::select(client.status().await?, only)?)?;
    } else {
        screen::print(&frame(&client, only, false).await?)?;
    }
    Ok(CommandOutcome::Done)
}

async fn frame(client: &ApiClient, only: Option<&str>, json: bool) -> Result<String, CommandError> {
    let status = render::select(client.status().await?, only)?;
    if json {
        return json_line(&status);
    }
    Ok(render::render(&status, screen::width(), Paint::for_stdout()))
}
