//! `steelyard watch`: events, as they happen.

use std::process::ExitCode;

use api::types::{Event, Level};
use daemon::event_kinds::event_kinds;
use model::config::renamed_event;
use model::config::suggestion::nearest_match;

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish, json_line, print_note};
use crate::show::plain::plain;
use crate::show::screen;
use crate::show::unit::moment;

/// Show events as they happen: servers up and down, pools empty and back, commands, alarms.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard watch                         until Ctrl-C, or until the daemon ends
  steelyard watch --on pool-empty,server-down
  steelyard watch --json | jq .about      one object a line
  steelyard watch --last                  the latest ones first")]
pub struct WatchArgs {
    /// Only these kinds.
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    on: Vec<String>,
    /// Show the latest events first.
    #[arg(long)]
    last: bool,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &WatchArgs) -> ExitCode {
    finish(args.contact.json, block_on(watch_events(args)))
}

async fn watch_events(args: &WatchArgs) -> Result<CommandOutcome, CommandError> {
    let on: Vec<String> = args.on.iter().map(|kind| current_kind(kind)).collect();
    check_kinds(&on)?;
    let client = args.contact.client()?;
    let wanted = |event: &Event| on.is_empty() || on.contains(&event.kind);
    let show = |event: &Event| -> Result<(), CommandError> {
        if wanted(event) {
            screen::print(&render_event(event, args.contact.json)?)?;
        }
        Ok(())
    };
    if args.last {
        for event in &client.events().await?.events {
            show(event)?;
        }
    }
    let mut failed = None;
    client
        .follow(|event| match show(&event) {
            Ok(()) => true,
            Err(failure) => {
                failed = Some(failure);
                false
            }
        })
        .await?;
    failed.map_or(Ok(CommandOutcome::Done), Err)
}

/// The name of a kind of event, with a warning if it has another one now.
fn current_kind(kind: &str) -> String {
    let Some(now) = renamed_event(kind) else { return kind.to_owned() };
    print_note(&format!("warning: the event `{kind}` is called `{now}` now\n"));
    now.to_owned()
}

/// Refuses kinds that no event has: nobody should wait for them.
fn check_kinds(kinds: &[String]) -> Result<(), CommandError> {
    let unknown = kinds.iter().find(|kind| !event_kinds().any(|known| known == **kind));
    let Some(unknown) = unknown else { return Ok(()) };
    let mut known: Vec<&str> = event_kinds().collect();
    known.sort_unstable();
    let near = nearest_match(unknown, known.iter().copied());
    let near = near.map_or(String::new(), |near| format!(" did you mean {near}?"));
    Err(CommandError::Absent(format!(
        "no event is called '{unknown}';{near} there are: {}",
        known.join(", ")
    )))
}

fn render_event(event: &Event, json: bool) -> Result<String, CommandError> {
    if json {
        return json_line(event);
    }
    let level = match event.level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    let text = plain(&event.text);
    Ok(format!("{} {level} {}: {text}\n", moment(event.at_unix_ms), event.kind))
}
