//! `steelyard doctor links`: what this kernel can do with several links, and how its bundles stand. `links::advice`
//! judges; this asks and prints.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use api::types::{BundleStatus, LinkStatus};
use links::advice::{Bundle, Facts, Finding, Link, Verdict, examine};
use serde::Serialize;

use crate::ask::{Contact, wait};
use crate::end::{End, Failure, finish, print_json};
use crate::show::screen;

/// Examine this machine's bundles of links: what is there, how links differ, and which policy suits them.
///
/// Differences and losses are those that the daemon measures all the time.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor links
  steelyard doctor links --json | jq -r '.findings[].commands[]?' | sh

Exit codes: 0 nothing is wrong, 1 something is, 2 the daemon could not be asked.")]
pub struct LinksArgs {
    #[command(flatten)]
    contact: Contact,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Answer {
    wrong: usize,
    findings: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    verdict: &'static str,
    about: String,
    found: String,
    advice: String,
    commands: Vec<String>,
}

/// Carries it out.
pub fn run(args: &LinksArgs) -> ExitCode {
    finish(args.contact.json, wait(ask(args)))
}

async fn ask(args: &LinksArgs) -> Result<End, Failure> {
    let status = args.contact.client()?.status().await?;
    let findings = examine(&Facts {
        bonding: ["/sys/module/bonding", "/sys/class/net/bonding_masters"]
            .iter()
            .any(|place| Path::new(place).exists()),
        mptcp: setting("net/mptcp/enabled") == Some(1),
        bundles: status.links.into_iter().map(bundle).collect(),
    });
    let wrong = findings.iter().filter(|one| one.verdict == Verdict::Wrong).count();
    if args.contact.json {
        print_json(&Answer { wrong, findings: findings.into_iter().map(row).collect() })?;
    } else {
        screen::print(&text(&findings))?;
    }
    Ok(if wrong == 0 { End::Done } else { End::No })
}

fn bundle(status: BundleStatus) -> Bundle {
    Bundle {
        name: status.name,
        policy: status.policy,
        skew: Duration::from_micros(status.skew_us),
        gap: status.gap_us.map(Duration::from_micros),
        links: status.links.into_iter().map(link).collect(),
    }
}

fn link(status: LinkStatus) -> Link {
    let own = setting(&format!("net/ipv4/conf/{}/rp_filter", status.interface));
    // The stricter of both holds (ip-sysctl).
    let all = setting("net/ipv4/conf/all/rp_filter").unwrap_or(0);
    Link {
        dead: (status.state != "alive").then_some(status.reason),
        interface: status.interface,
        loss: status.loss,
        held: Duration::from_micros(status.held_us),
        filter: own.map(|own| own.max(all)),
    }
}

fn setting(name: &str) -> Option<u8> {
    fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?.trim().parse().ok()
}

fn row(finding: Finding) -> Row {
    let Finding { verdict, about, found, advice, commands } = finding;
    Row { verdict: word(verdict).trim_end(), about, found, advice, commands }
}

const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good ",
        Verdict::Wrong => "wrong",
        Verdict::Note => "note ",
    }
}

fn text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for Finding { verdict, about, found, advice, commands } in findings {
        out.push_str(&format!("{}  {about}: {found}\n", word(*verdict)));
        if !advice.is_empty() {
            out.push_str(&format!("       {advice}\n"));
        }
        for command in commands {
            out.push_str(&format!("         {command}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mends_stands_below_what_is_wrong() {
        let finding = Finding {
            verdict: Verdict::Wrong,
            about: "eth1 of bundle up".to_owned(),
            found: "rp_filter 1".to_owned(),
            advice: "it drops".to_owned(),
            commands: vec!["sysctl -w a=0".to_owned()],
        };
        let shown =
            "wrong  eth1 of bundle up: rp_filter 1\n       it drops\n         sysctl -w a=0\n";
        assert_eq!(text(std::slice::from_ref(&finding)), shown);
        assert_eq!(row(finding).verdict, "wrong");
    }
}
