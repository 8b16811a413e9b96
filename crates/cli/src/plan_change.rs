//! `steelyard plan-change`: the effects that `apply` would have, without applying. The daemon compares; this prints.

use std::process::ExitCode;

use api::types::{Changes, KeyChange, PlanChange};

use crate::common_args::{DaemonArgs, block_on, file_name, read_config};
use crate::config_file::NamedConfigArgs;
use crate::outcome::{CommandError, CommandOutcome, finish, print_findings, print_json};
use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::screen;

/// Show what `apply` would change, and which connections it would affect.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard plan-change steelyard.toml
  steelyard diff --json -c steelyard.toml | jq .changed")]
pub struct PlanChangeArgs {
    #[command(flatten)]
    config: NamedConfigArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &PlanChangeArgs) -> ExitCode {
    finish(args.contact.json, block_on(ask(args)))
}

async fn ask(args: &PlanChangeArgs) -> Result<CommandOutcome, CommandError> {
    let text = read_config(args.config.path())?;
    let plan = args.contact.client()?.plan(text, Some(file_name(args.config.path()))).await?;
    print_plan(&plan, args.contact.json)
}

/// Prints what a change would do.
pub fn print_plan(plan: &PlanChange, json: bool) -> Result<CommandOutcome, CommandError> {
    if json {
        print_json(plan)?;
    } else {
        print_findings(&plan.warnings, 0);
        screen::print(&render(plan, Paint::for_stdout()))?;
    }
    Ok(CommandOutcome::Done)
}

fn render(plan: &PlanChange, paint: Paint) -> String {
    if !plan.changed {
        return format!("nothing differs from generation {}\n", plan.generation);
    }
    let mut out = format!("compared with generation {}:\n", plan.generation);
    let mut line = |indent: usize, mark: char, text: &str| {
        let colour = match mark {
            '+' => Colour::Good,
            '-' => Colour::Bad,
            _ => Colour::Doubt,
        };
        let text = paint.text(colour, &plain(&format!("{mark} {text}")));
        out.push_str(&format!("{:indent$}{text}\n", ""));
    };
    keys(&plan.global, 2, "global ", &mut line);
    objects(&plan.services, 2, "service", &mut line);
    for name in &plan.pools.added {
        line(2, '+', &format!("pool {name}"));
    }
    for name in &plan.pools.removed {
        line(2, '-', &format!("pool {name}"));
    }
    for pool in &plan.pools.changed {
        line(2, '~', &format!("pool {}", pool.name));
        keys(&pool.keys, 4, "", &mut line);
        objects(&pool.servers, 4, "server", &mut line);
    }
    for part in &plan.parts {
        keys(&part.keys, 2, &format!("{} ", part.name), &mut line);
    }
    for (kind, changes) in &plan.objects {
        objects(changes, 2, kind, &mut line);
    }
    section(&mut out, "connections and requests affected:", &plan.effects);
    section(&mut out, "what takes effect at the next start:", &plan.needs_restart);
    out
}

fn objects(changes: &Changes, indent: usize, noun: &str, line: &mut impl FnMut(usize, char, &str)) {
    for name in &changes.added {
        line(indent, '+', &format!("{noun} {name}"));
    }
    for name in &changes.removed {
        line(indent, '-', &format!("{noun} {name}"));
    }
    for changed in &changes.changed {
        line(indent, '~', &format!("{noun} {}", changed.name));
        keys(&changed.keys, indent + 2, "", line);
    }
}

fn keys(
    changes: &[KeyChange],
    indent: usize,
    before: &str,
    line: &mut impl FnMut(usize, char, &str),
) {
    for change in changes {
        let values = match (&change.from, &change.to) {
            (None, None) => String::new(),
            (from, to) => {
                let value =
                    |side: &Option<String>| side.clone().unwrap_or_else(|| "unset".to_owned());
                format!(": {} -> {}", value(from), value(to))
            }
        };
        line(indent, '~', &format!("{before}{}{values}", change.key));
    }
}

fn section(out: &mut String, title: &str, sentences: &[String]) {
    if !sentences.is_empty() {
        out.push_str(title);
        out.push('\n');
        for sentence in sentences {
            out.push_str(&format!("  {}\n", plain(sentence)));
        }
    }
}

#[cfg(test)]
mod tests {
    use api::types::{Changed, PoolChanged, PoolChanges};

    use super::*;

    #[test]
    fn every_kind_of_change_has_its_mark() {
        let key = |key: &str, from: Option<&str>, to: Option<&str>| KeyChange {
            key: key.into(),
            from: from.map(Into::into),
            to: to.map(Into::into),
        };
        let servers = Changes {
            added: vec!["c".into()],
            removed: vec!["b".into()],
            changed: vec![Changed {
                name: "a".into(),
                keys: vec![key("weight", Some("1"), Some("3"))],
            }],
        };
        let plan = PlanChange {
            generation: 7,
            changed: true,
            global: vec![key("drain", None, None)],
            services: Changes {
                added: vec!["new".into()],
                removed: vec!["old".into()],
                changed: vec![],
            },
            pools: PoolChanges {
                added: vec!["p".into()],
                removed: vec![],
                changed: vec![PoolChanged {
                    name: "web".into(),
                    keys: vec![key("source", None, Some("x"))],
                    servers,
                }],
            },
            parts: vec![Changed {
                name: "mptcp".into(),
                keys: vec![key("use", None, Some("both"))],
            }],
            objects: [("link".into(), Changes { added: vec!["up".into()], ..Changes::default() })]
                .into(),
            effects: vec!["service old: 3 connections finish within 30s".into()],
            needs_restart: vec!["workers".into()],
            warnings: vec![],
        };
        let expected = "\
compared with generation 7:
  ~ global drain
  + service new
  - service old
  + pool p
  ~ pool web
    ~ source: unset -> x
    + server c
    - server b
    ~ server a
      ~ weight: 1 -> 3
  ~ mptcp use: unset -> both
  + link up
connections and requests affected:
  service old: 3 connections finish within 30s
what takes effect at the next start:
  workers
";
        assert_eq!(render(&plan, Paint::fixed(false)), expected);
        let same = PlanChange { generation: 7, ..PlanChange::default() };
        assert_eq!(render(&same, Paint::fixed(false)), "nothing differs from generation 7\n");
    }
}
