//! `steelyard capture`: the captures of capture rules. The daemon decides which rules apply.

use std::process::ExitCode;

use api::types::{Capture, CaptureAction, Captures};

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::refresh::{RefreshArgs, show_or_watch};
use crate::show::paint::Paint;
use crate::show::screen;
use crate::show::table::{TextTable, left, right};
use crate::show::unit::{count, moment};

/// List stored packet captures, and start one manually.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard capture list                          active rules, and stored captures
  steelyard capture list --watch                  again every two seconds, until Ctrl-C
  steelyard capture show slow-1795413600000       why it was made, and its file
  steelyard capture show                          the newest one
  steelyard capture start slow                    start a capture by rule `slow` now
  steelyard capture stop slow                     stop it early and write its file
  steelyard explain trace \"$(steelyard capture show --json | jq -r .file)\"

Rules are [capture.NAME] tables of the configuration. Files are pcapng, readable by the daemon's user only.
The first packet of each connection names the exchange.")]
pub struct CaptureArgs {
    #[command(subcommand)]
    verb: CaptureCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum CaptureCommand {
    /// Active rules, and stored captures, newest first.
    List {
        #[command(flatten)]
        again: RefreshArgs,
        #[command(flatten)]
        contact: DaemonArgs,
    },
    /// Show why a capture was made, and its file.
    Show {
        /// Its name in the list; default: the newest.
        #[arg(value_name = "CAPTURE")]
        name: Option<String>,
        #[command(flatten)]
        contact: DaemonArgs,
    },
    /// Start a capture by a rule now.
    Start(CaptureRuleArgs),
    /// Stop a running capture early and write its file.
    Stop(CaptureRuleArgs),
}

#[derive(Clone, Debug, clap::Args)]
struct CaptureRuleArgs {
    /// The NAME of [capture.NAME].
    #[arg(value_name = "RULE")]
    rule: String,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &CaptureArgs) -> ExitCode {
    match &args.verb {
        CaptureCommand::List { again, contact } => {
            finish(contact.json, block_on(list(*again, contact)))
        }
        CaptureCommand::Show { name, contact } => {
            finish(contact.json, block_on(show(name.as_deref(), contact)))
        }
        CaptureCommand::Start(of) => {
            finish(of.contact.json, block_on(send_capture_command(of, CaptureAction::Start)))
        }
        CaptureCommand::Stop(of) => {
            finish(of.contact.json, block_on(send_capture_command(of, CaptureAction::Stop)))
        }
    }
}

async fn list(refresh: RefreshArgs, contact: &DaemonArgs) -> Result<CommandOutcome, CommandError> {
    let client = contact.client()?;
    let ask = || async { Ok(client.captures().await?) };
    let show = |captures: &Captures| render(captures, screen::width(), Paint::for_stdout());
    show_or_watch(refresh, contact.json, ask, show).await
}

async fn send_capture_command(
    of: &CaptureRuleArgs,
    action: CaptureAction,
) -> Result<CommandOutcome, CommandError> {
    print(&of.contact.client()?.capture(&of.rule, action).await?, &of.contact)
}

fn print(captures: &Captures, contact: &DaemonArgs) -> Result<CommandOutcome, CommandError> {
    if contact.json {
        print_json(captures)?;
    } else {
        screen::print(&render(captures, screen::width(), Paint::for_stdout()))?;
    }
    Ok(CommandOutcome::Done)
}

async fn show(name: Option<&str>, contact: &DaemonArgs) -> Result<CommandOutcome, CommandError> {
    let captures = contact.client()?.captures().await?.captures;
    let found = captures.iter().find(|one| name.is_none_or(|name| one.name == name));
    let found = found.ok_or_else(|| {
        CommandError::Absent(name.map_or_else(
            || "nothing was captured yet".to_owned(),
            |name| format!("there is no capture '{name}'; `steelyard capture list` names them"),
        ))
    })?;
    if contact.json {
        print_json(found)?;
    } else {
        let Capture { file, reason: about, at_unix_ms, bytes, .. } = found;
        let head = format!("{}, {} bytes\n{about}\n", moment(*at_unix_ms), count(*bytes));
        screen::print(&format!("{head}{file}\n\n  steelyard explain trace {file}\n"))?;
    }
    Ok(CommandOutcome::Done)
}

fn render(captures: &Captures, width: usize, paint: Paint) -> String {
    let mut rules = TextTable::new(&[left("RULE"), left("STATE")]);
    for rule in &captures.rules {
        let state = match (rule.recording, rule.pause_remaining_ms) {
            (true, _) => "taking".to_owned(),
            (false, 0) => "ready".to_owned(),
            (false, waits) => format!("waits {} s", waits.div_ceil(1_000)),
        };
        rules.row(vec![rule.name.as_str().into(), state.into()]);
    }
    let columns = [left("CAPTURE"), left("WHEN"), right("BYTES"), left("ABOUT")];
    let mut files = TextTable::new(&columns);
    for one in &captures.captures {
        files.row(vec![
            one.name.as_str().into(),
            moment(one.at_unix_ms).into(),
            count(one.bytes).into(),
            one.reason.as_str().into(),
        ]);
    }
    let Captures {
        packets_recorded: packets_kept,
        packets_evicted,
        packets_dropped,
        written: made,
        failed,
        ..
    } = captures;
    let mut text = rules.render(width, paint);
    if !captures.captures.is_empty() {
        text.push('\n');
        text.push_str(&files.render(width, paint));
    }
    text.push_str(&format!(
        "\n{} packets kept since the start, {} of them gone for later ones, {} lost; {} captures made, {} not\n",
        count(*packets_kept),
        count(*packets_evicted),
        count(*packets_dropped),
        count(*made),
        count(*failed)
    ));
    if let Some(trouble) = &captures.problem {
        text.push_str(&format!("{trouble}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use api::types::CaptureRule;

    use super::*;

    #[test]
    fn rules_and_files_are_shown() {
        let rule = |name: &str, taking, waits_ms| CaptureRule {
            name: name.into(),
            recording: taking,
            pause_remaining_ms: waits_ms,
        };
        let one = Capture {
            name: "slow-0".into(),
            rule: "slow".into(),
            at_unix_ms: 0,
            file: "/x/slow-0.pcapng".into(),
            bytes: 4_200,
            reason: "slow: an exchange took 1.2s, above 500ms".into(),
        };
        let all = Captures {
            rules: vec![rule("slow", false, 59_001), rule("lossy", true, 9), rule("odd", false, 0)],
            captures: vec![one],
            packets_recorded: 1_000,
            written: 1,
            ..Captures::default()
        };
        let text = render(&all, 120, Paint::fixed(false));
        for part in [
            "slow   waits 60 s",
            "lossy  taking",
            "odd    ready",
            "4,200",
            "above 500ms",
            "1,000 packets",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
