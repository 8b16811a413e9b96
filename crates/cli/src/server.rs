//! `steelyard server`: orders about servers. Which order may be given when is the daemon's to say.

use std::process::ExitCode;
use std::str::FromStr;

use api::types::{ServerAction, ServerChange, ServerChanged};
use api::{CallError, Client};

use crate::ask::{Contact, wait};
use crate::end::{End, Failure, finish, print_json};
use crate::show::paint::Paint;
use crate::show::screen;
use crate::show::table::{Align, Table};
use crate::show::unit::count;

/// Drain, enable, disable or weigh servers while running.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard server drain web/a          finish what it has, give it nothing new
  steelyard server enable web/a,web/b   judged by their health again
  steelyard server disable 'web/*'      every server of the pool takes nothing
  steelyard server weight web/a 3       three times the share of weight 1
  steelyard server weight web/a         the configured weight again")]
pub struct Args {
    #[command(subcommand)]
    order: Order,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Order {
    /// Let servers finish what they have and give them nothing new.
    Drain(Target),
    /// Judge servers by their health alone again.
    Enable(Target),
    /// Give servers nothing.
    Disable(Target),
    /// Change the share of servers.
    Weight {
        #[command(flatten)]
        target: Target,
        /// 0-256; without it, the configured weight again.
        #[arg(value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
        weight: Option<u16>,
    },
}

#[derive(Clone, Debug, clap::Args)]
struct Target {
    /// POOL/NAME, POOL/* for all of a pool, or several with commas.
    #[arg(value_name = "POOL/NAME")]
    servers: Selectors,
    #[command(flatten)]
    contact: Contact,
}

/// What was named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Selectors(Vec<(String, String)>);

impl FromStr for Selectors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |part: &str| match part.split_once('/') {
            Some((pool, name)) if !pool.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok((pool.to_owned(), name.to_owned()))
            }
            _ => Err(format!("found '{part}', expected POOL/NAME or POOL/*, such as web/a")),
        };
        text.split(',').map(|part| one(part.trim())).collect::<Result<_, _>>().map(Selectors)
    }
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    let (target, action) = match &args.order {
        Order::Drain(target) => (target, ServerAction::Drain),
        Order::Enable(target) => (target, ServerAction::Enable),
        Order::Disable(target) => (target, ServerAction::Disable),
        Order::Weight { target, weight } => (target, ServerAction::Weight { weight: *weight }),
    };
    finish(target.contact.json, wait(order(target, action)))
}

async fn order(target: &Target, action: ServerAction) -> Result<End, Failure> {
    let (changed, mut failures) = give(&target.contact.client(), &target.servers, action).await;
    let json = target.contact.json;
    if !changed.servers.is_empty() {
        if json {
            print_json(&changed)?;
        } else {
            screen::print(&render(&changed, screen::width(), Paint::for_stdout()))?;
        }
    }
    let Some(last) = failures.pop() else { return Ok(End::Done) };
    for failure in failures {
        finish(json, Err(failure.into()));
    }
    if changed.servers.is_empty() {
        return Err(last.into());
    }
    finish(json, Err(last.into()));
    Ok(End::Partial)
}

/// Gives the order to each selector; one that is refused does not keep the others from it.
async fn give(
    client: &Client,
    to: &Selectors,
    action: ServerAction,
) -> (ServerChanged, Vec<CallError>) {
    let mut done = ServerChanged::default();
    let mut failures = Vec::new();
    for (pool, name) in &to.0 {
        match client.server(pool, name, action).await {
            Ok(changed) => done.servers.extend(changed.servers),
            Err(error) => {
                let refused = error.is_refusal();
                failures.push(error);
                if !refused {
                    break;
                }
            }
        }
    }
    (done, failures)
}

fn render(changed: &ServerChanged, width: usize, paint: Paint) -> String {
    let columns = [
        ("SERVER", Align::Left),
        ("WEIGHT", Align::Right),
        ("IN FLIGHT", Align::Right),
        ("STATE", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for ServerChange { pool, server, changed, state, weight, in_flight, .. } in &changed.servers {
        table.row(vec![
            format!("{pool}/{server}").into(),
            weight.to_string().into(),
            count(u64::from(*in_flight)).into(),
            format!("{}{}", state.name(), if *changed { "" } else { " (as before)" }).into(),
        ]);
    }
    table.render(width, paint)
}

#[cfg(test)]
mod tests {
    use model::config::Admin;
    use model::snapshot::ServerState;

    use super::*;

    #[test]
    fn selectors_are_pairs_and_nothing_else() {
        let pair = |pool: &str, name: &str| (pool.to_owned(), name.to_owned());
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
            assert_eq!(text.parse::<Selectors>().ok().map(|all| all.0), expected, "{text}");
        }
    }

    #[test]
    fn what_became_of_each_is_shown() {
        let one = |server: &str, changed| ServerChange {
            pool: "web".into(),
            server: server.into(),
            changed,
            admin: Admin::Drain,
            state: ServerState::Drain,
            weight: 3,
            in_flight: 1200,
        };
        let text = render(
            &ServerChanged { servers: vec![one("a", true), one("b", false)] },
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
