//! `steelyard watch`: what happens, as it happens.

use std::process::ExitCode;

use api::types::{Event, Level};

use crate::ask::{Contact, wait};
use crate::end::{End, Failure, finish, json_line};
use crate::show::plain::plain;
use crate::show::screen;
use crate::show::unit::moment;

/// Show events as they come: servers up and down, pools empty and back, orders, alarms.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard watch                         until Ctrl-C, or until the daemon goes
  steelyard watch --on pool-empty,server-down
  steelyard watch --json | jq .about      one object a line
  steelyard watch --last                  the latest ones first")]
pub struct Args {
    /// Only these kinds.
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    on: Vec<String>,
    /// Show the latest ones before those to come.
    #[arg(long)]
    last: bool,
    #[command(flatten)]
    contact: Contact,
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    finish(args.contact.json, wait(follow(args)))
}

async fn follow(args: &Args) -> Result<End, Failure> {
    let client = args.contact.client()?;
    let wanted = |event: &Event| args.on.is_empty() || args.on.contains(&event.what);
    let show = |event: &Event| -> Result<(), Failure> {
        if wanted(event) {
            screen::print(&text(event, args.contact.json)?)?;
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
    failed.map_or(Ok(End::Done), Err)
}

fn text(event: &Event, json: bool) -> Result<String, Failure> {
    if json {
        return json_line(event);
    }
    let level = match event.level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    let text = plain(&event.text);
    Ok(format!("{} {level} {}: {text}\n", moment(event.at_unix_ms), event.what))
}
