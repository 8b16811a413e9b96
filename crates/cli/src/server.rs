//! `steelyard server`: commands about servers. The daemon decides whether a command is allowed.

use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

use api::types::{ServerAction, ServerActionRequest, ServerChange, ServerChanged};
use api::{ApiClient, ApiError};
use daemon::local_time::format_local;

use crate::common_args::{DaemonArgs, SaveArgs, block_on, span};
use crate::outcome::{CommandError, CommandOutcome, finish, outcome_with_unsaved, print_json};
use crate::pattern::matches_pattern;
use crate::show::paint::Paint;
use crate::show::screen;
use crate::show::table::{TextTable, left, right};
use crate::show::unit::count;
use crate::time_spec::{TimeSpec, now_ms, when};

/// Drain, enable, disable, weight, add and remove servers at run time.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard server drain web/a            active requests finish; no new ones
  steelyard server quiesce web/a --for 1h only clients of sticky sessions; after an hour, drain
  steelyard server cut web/a              no requests, and reset open connections
  steelyard server maintain web/a --from 22:00 --until 23:30 --reason 'new disks'
  steelyard server enable web/a,web/b     by their health checks again
  steelyard server disable 'web/*'        no requests for any server of the pool
  steelyard server drain '*/rack1-*'      servers of this name in every pool
  steelyard server weight web/a 3         three times the share of weight 1
  steelyard server weight web/a           the configured weight again
  steelyard server add web 10.0.0.13:8080 --name c
  steelyard server remove web/c           active requests finish; then it is removed
  steelyard undo                          undoes the last of these commands

Server commands survive reloads and restarts until the file's own value for the same setting changes. With
--save they are written into the daemon's file, and its comments stay. That works for drain, enable,
disable, weight, add and remove.")]
pub struct ServerArgs {
    #[command(subcommand)]
    order: ServerCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum ServerCommand {
    /// Let servers finish active requests and give them no new ones.
    Drain(ServerTargetArgs),
    /// Use servers again by their health checks; ends a quiesce or maintenance.
    Enable(ServerTargetArgs),
    /// Give servers no requests.
    Disable(ServerTargetArgs),
    /// Give servers no requests, and reset their open connections.
    Cut(ServerTargetArgs),
    /// Give servers no new clients, except those of sticky sessions. Then drain them.
    Quiesce {
        #[command(flatten)]
        target: ServerTargetArgs,
        /// How long clients of sticky sessions are still accepted.
        #[arg(long = "for", value_name = "TIME", value_parser = span)]
        limit: Duration,
    },
    /// Give servers no requests during a time window.
    Maintain {
        #[command(flatten)]
        target: ServerTargetArgs,
        /// Start: 30m, 22:00, or 2026-11-22T22:00; default: now.
        #[arg(long, value_name = "WHEN", value_parser = when)]
        from: Option<TimeSpec>,
        /// End; default: until they are enabled.
        #[arg(long, value_name = "WHEN", value_parser = when)]
        until: Option<TimeSpec>,
        /// Reason that is shown with the state.
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Change the share of servers.
    Weight {
        #[command(flatten)]
        target: ServerTargetArgs,
        /// 0-256; default: the configured weight again.
        #[arg(value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
        weight: Option<u16>,
    },
    /// Add a server to a pool.
    Add {
        /// The pool.
        #[arg(value_name = "POOL")]
        pool: String,
        /// Its address or name, and port.
        #[arg(value_name = "ADDRESS:PORT")]
        address: String,
        /// Its name; default: its address with `-` for every other character.
        #[arg(long, value_name = "NAME", default_value = "-", hide_default_value = true)]
        name: String,
        /// 0-256; default: the pool's.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
        weight: Option<u16>,
        #[command(flatten)]
        saving: SaveArgs,
        #[command(flatten)]
        contact: DaemonArgs,
    },
    /// Remove servers from their pool; active requests finish.
    Remove(ServerTargetArgs),
}

#[derive(Clone, Debug, clap::Args)]
struct ServerTargetArgs {
    /// POOL/NAME, POOL/* for all of a pool, * within either, or several with commas.
    #[arg(value_name = "POOL/NAME")]
    servers: ServerSelectors,
    #[command(flatten)]
    saving: SaveArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

/// The servers that the command line names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServerSelectors(Vec<ServerSelector>);

/// A server, or a pattern for several.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ServerSelector {
    pool: String,
    name: String,
}

impl ServerSelector {
    /// Whether servers must be looked up; all of a pool is one command.
    fn is_pattern(&self) -> bool {
        self.pool.contains('*') || (self.name != "*" && self.name.contains('*'))
    }
}

impl FromStr for ServerSelectors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |part: &str| match part.split_once('/') {
            Some((pool, name)) if !pool.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(ServerSelector { pool: pool.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!("found '{part}', expected POOL/NAME, such as web/a, web/* or */a-*")),
        };
        text.split(',').map(|part| one(part.trim())).collect::<Result<_, _>>().map(ServerSelectors)
    }
}

pub fn run(args: &ServerArgs) -> ExitCode {
    let (target, action) = match args.order.clone() {
        ServerCommand::Drain(target) => (target, ServerAction::Drain),
        ServerCommand::Enable(target) => (target, ServerAction::Enable),
        ServerCommand::Disable(target) => (target, ServerAction::Disable),
        ServerCommand::Cut(target) => (target, ServerAction::Cut),
        ServerCommand::Remove(target) => (target, ServerAction::Remove),
        ServerCommand::Weight { target, weight } => (target, ServerAction::Weight { weight }),
        ServerCommand::Quiesce { target, limit } => {
            let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            (target, ServerAction::Quiesce { limit_ms })
        }
        ServerCommand::Maintain { target, from, until, reason } => {
            let now = now_ms();
            let from_unix_ms = from.map(|from| from.ahead(now));
            // A time of day after the window's beginning, not after now.
            let until_unix_ms = until.map(|until| until.ahead(from_unix_ms.unwrap_or(now)));
            (target, ServerAction::Maintain { from_unix_ms, until_unix_ms, reason })
        }
        ServerCommand::Add { pool, address, name, weight, saving, contact } => {
            let servers = ServerSelectors(vec![ServerSelector { pool, name }]);
            (ServerTargetArgs { servers, saving, contact }, ServerAction::Add { address, weight })
        }
    };
    let order =
        ServerActionRequest { action, save: target.saving.save_preference(), part_of: None };
    finish(target.contact.json, block_on(self::send_order(&target, &order)))
}

/// The window of a maintenance in words: an end that passed midnight is seen.
fn describe_window(action: &ServerAction) -> String {
    let ServerAction::Maintain { from_unix_ms, until_unix_ms, .. } = action else {
        return String::new();
    };
    let at = |unix_ms: u64| format_local(UNIX_EPOCH + Duration::from_millis(unix_ms));
    let from = from_unix_ms.unwrap_or_else(now_ms);
    let begin = if from_unix_ms.is_some() { at(from) } else { "now".to_owned() };
    match until_unix_ms {
        None => format!("maintenance from {begin} until it is enabled\n"),
        Some(until) => {
            let long = crate::show::unit::span(until.saturating_sub(from));
            let end = at(*until);
            let same_day = at(from).get(..10) == end.get(..10);
            let midnight = if same_day { "" } else { ", past midnight" };
            format!("maintenance from {begin} until {end}: {long}{midnight}\n")
        }
    }
}

async fn send_order(
    target: &ServerTargetArgs,
    order: &ServerActionRequest,
) -> Result<CommandOutcome, CommandError> {
    let client = target.contact.client()?;
    let servers = expand_patterns(&client, &target.servers).await?;
    let OrderResults { changed, mut failures } = order_each(&client, &servers, order).await;
    let json = target.contact.json;
    if !changed.servers.is_empty() {
        if json {
            print_json(&changed)?;
        } else {
            screen::print(&render(&changed, screen::width(), Paint::for_stdout()))?;
        }
    }
    if !changed.servers.is_empty() && !json {
        screen::print(&describe_window(&order.action))?;
    }
    let end = outcome_with_unsaved(&changed.unsaved);
    let Some(last) = failures.pop() else { return Ok(end) };
    for failure in failures {
        finish(json, Err(failure.into()));
    }
    if changed.servers.is_empty() {
        return Err(last.into());
    }
    finish(json, Err(last.into()));
    Ok(CommandOutcome::Partial)
}

/// The servers that patterns stand for; names stay as they are.
async fn expand_patterns(
    client: &ApiClient,
    named: &ServerSelectors,
) -> Result<ServerSelectors, CommandError> {
    if !named.0.iter().any(ServerSelector::is_pattern) {
        return Ok(named.clone());
    }
    let status = client.status().await?;
    let mut all = Vec::new();
    for one in &named.0 {
        if !one.is_pattern() {
            all.push(one.clone());
            continue;
        }
        let before = all.len();
        let pools = status.pools.iter().filter(|pool| matches_pattern(&one.pool, &pool.name));
        for pool in pools {
            let servers =
                pool.servers.iter().filter(|server| matches_pattern(&one.name, &server.name));
            all.extend(servers.map(|server| ServerSelector {
                pool: pool.name.clone(),
                name: server.name.clone(),
            }));
        }
        if all.len() == before {
            return Err(CommandError::Absent(format!(
                "no server is meant by '{}/{}'",
                one.pool, one.name
            )));
        }
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|one| seen.insert(one.clone()));
    Ok(ServerSelectors(all))
}

/// The results of the same command to several selectors.
struct OrderResults {
    changed: ServerChanged,
    failures: Vec<ApiError>,
}

/// Sends the command to each selector; a refused one does not stop the others.
async fn order_each(
    client: &ApiClient,
    to: &ServerSelectors,
    order: &ServerActionRequest,
) -> OrderResults {
    let mut done = ServerChanged::default();
    let mut failures = Vec::new();
    for ServerSelector { pool, name } in &to.0 {
        let part = ServerActionRequest { part_of: done.record, ..order.clone() };
        match client.server(pool, name, part).await {
            Ok(changed) => {
                done.record = changed.record;
                done.servers.extend(changed.servers);
                done.saved = changed.saved.or(done.saved);
                let new: Vec<String> = changed
                    .unsaved
                    .into_iter()
                    .filter(|change| !done.unsaved.contains(change))
                    .collect();
                done.unsaved.extend(new);
            }
            Err(error) => {
                let refused = error.is_refusal();
                failures.push(error);
                if !refused {
                    break;
                }
            }
        }
    }
    OrderResults { changed: done, failures }
}

fn render(changed: &ServerChanged, width: usize, paint: Paint) -> String {
    let columns = [left("SERVER"), right("WEIGHT"), right("IN FLIGHT"), left("STATE")];
    let mut table = TextTable::new(&columns);
    for one in &changed.servers {
        let ServerChange { pool, server, changed, state, weight, in_flight, removed, .. } = one;
        let state = if *removed { "removed" } else { state.name() };
        table.row(vec![
            format!("{pool}/{server}").into(),
            weight.to_string().into(),
            count(u64::from(*in_flight)).into(),
            format!("{state}{}", if *changed { "" } else { " (as before)" }).into(),
        ]);
    }
    let mut text = table.render(width, paint);
    if let Some(file) = &changed.saved {
        text.push_str(&format!("written to {file}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use model::config::AdminState;
    use model::snapshot::ServerState;

    use super::*;

    #[test]
    fn selectors_are_pairs_and_nothing_else() {
        let pair = |pool: &str, name: &str| ServerSelector {
            pool: pool.to_owned(),
            name: name.to_owned(),
        };
        for (text, expected) in [
            ("web/a", Some(vec![pair("web", "a")])),
            ("web/*", Some(vec![pair("web", "*")])),
            ("web/a, db/b", Some(vec![pair("web", "a"), pair("db", "b")])),
            ("web", None),
            ("/a", None),
            ("web/", None),
            ("a/b/c", None),
            ("web/a,", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<ServerSelectors>().ok().map(|all| all.0), expected, "{text}");
        }
    }

    #[test]
    fn what_became_of_each_is_shown() {
        let one = |server: &str, changed| ServerChange {
            pool: "web".into(),
            server: server.into(),
            changed,
            admin: AdminState::Drain,
            state: ServerState::Drain,
            weight: 3,
            in_flight: 1200,
            removed: false,
        };
        let text = render(
            &ServerChanged {
                servers: vec![one("a", true), one("b", false)],
                ..ServerChanged::default()
            },
            100,
            Paint::fixed(false),
        );
        let expected = "\
SERVER  WEIGHT  IN FLIGHT  STATE
web/a        3      1,200  drain
web/b        3      1,200  drain (as before)
";
        assert_eq!(text, expected);
    }
}
