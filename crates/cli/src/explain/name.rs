//! `steelyard explain name`: which answer a client gets for a name, and why.
//!
//! Every number comes from the daemon; nothing is calculated here.

use std::net::IpAddr;
use std::process::ExitCode;

use api::types::{NameCandidate, NameExplained, NameQuery};

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::paint::Paint;
use crate::show::plain::plain;
use crate::show::screen;
use crate::show::table::{TextTable, left, right};

/// Show which addresses a client gets for a DNS name, and why.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard explain name www.gslb.example.org --from 192.0.2.7
  steelyard explain name www.gslb.example.org --from 2001:db8::1 --type AAAA
  steelyard explain name www.gslb.example.org --from 192.0.2.7 --json

--from is the client if its resolver sends the client's network (EDNS client subnet), and otherwise the
resolver.")]
pub struct ExplainNameArgs {
    /// The name.
    #[arg(value_name = "NAME")]
    name: String,
    /// The client or resolver.
    #[arg(long, value_name = "ADDRESS")]
    from: IpAddr,
    /// The record type.
    #[arg(long = "type", value_name = "TYPE", default_value = "A")]
    kind: String,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &ExplainNameArgs) -> ExitCode {
    finish(args.contact.json, block_on(show(args)))
}

async fn show(args: &ExplainNameArgs) -> Result<CommandOutcome, CommandError> {
    let query =
        NameQuery { name: args.name.clone(), from: args.from, kind: Some(args.kind.clone()) };
    let explained = args.contact.client()?.explain_name(&query).await?;
    if args.contact.json {
        print_json(&explained)?;
    } else {
        screen::print(&render_explanation(&explained, screen::width(), Paint::for_stdout()))?;
    }
    Ok(CommandOutcome::Done)
}

fn render_explanation(explained: &NameExplained, width: usize, paint: Paint) -> String {
    let NameExplained { name, kind, from, zone, scope_bits, steps, candidates, .. } = explained;
    let mut out = format!("{} {kind} for {from}", plain(name));
    if let Some(zone) = zone {
        out.push_str(&format!(", of zone {}", plain(zone)));
    }
    out.push('\n');
    for step in steps {
        out.push_str(&format!("  {}\n", plain(step)));
    }
    if *scope_bits > 0 {
        out.push_str(&format!(
            "  the answer holds for the first {scope_bits} bits of that address\n"
        ));
    }
    let mut table = TextTable::new(&[
        left("CANDIDATE"),
        left("ADDRESS"),
        right("WEIGHT"),
        right("SHARE"),
        left("STATE"),
    ]);
    for NameCandidate { name, addresses, weight, up, reason, share_percent } in candidates {
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let state = if *up { reason.clone() } else { format!("not given: {reason}") };
        table.row(vec![
            name.as_str().into(),
            addresses.join("\n").into(),
            weight.to_string().into(),
            format!("{share_percent:.1}%").into(),
            state.into(),
        ]);
    }
    let table = table.render(width, paint);
    if !table.is_empty() {
        out.push('\n');
        out.push_str(&table);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_comes_before_the_candidates() {
        let explained = NameExplained {
            name: "www.example.org".into(),
            kind: "A".into(),
            from: "192.0.2.7".parse().unwrap(),
            zone: Some("example.org".into()),
            target: Some("www.example.org".into()),
            scope_bits: 24,
            steps: vec!["1 of 2 may be given".into()],
            candidates: vec![NameCandidate {
                name: "b".into(),
                addresses: vec!["10.0.0.2".parse().unwrap()],
                weight: 3,
                up: false,
                reason: "down".into(),
                share_percent: 0.0,
            }],
        };
        let text = render_explanation(&explained, 100, Paint::fixed(false));
        let expected = "www.example.org A for 192.0.2.7, of zone example.org\n  1 of 2 may be given\n  \
                        the answer holds for the first 24 bits of that address\n\nCANDIDATE";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("0.0%") && text.contains("not given: down"), "{text}");
    }
}
