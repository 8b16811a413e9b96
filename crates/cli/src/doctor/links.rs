//! `steelyard doctor links`: what this kernel can do with several links, how its bundles stand, and what each policy would
//! give. `links::advice`, `links::forecast` and `links::bond` judge; this asks and prints.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use api::types::{BundleStatus, LinkStatus};
use links::advice::{Bundle, Facts, Finding, Link, Verdict, examine};
use links::{bond, forecast};
use serde::Serialize;

use super::trains::{self, Measured};
use crate::ask::{Contact, wait};
use crate::end::{End, Failure, finish, print_json};
use crate::show::screen;

/// Examine this machine's bundles of links: what is there, how links differ, and which policy suits them.
///
/// Differences and losses are those that the daemon measures all the time. What links carry is measured now, by trains of 40
/// full-size echoes to the next hop of each: five over each link, and five that take turns over all.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor links
  steelyard doctor links --passive
  steelyard doctor links --json | jq -r '.findings[].commands[]?' | sh

Exit codes: 0 nothing is wrong, 1 something is, 2 the daemon could not be asked.")]
pub struct LinksArgs {
    #[command(flatten)]
    contact: Contact,
    /// Send nothing: what links carry is not told.
    #[arg(long)]
    passive: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Answer {
    wrong: usize,
    findings: Vec<Row>,
    /// Bundles whose links were measured.
    measured: Vec<Told>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Told {
    bundle: String,
    links: Vec<Carries>,
    policies: Vec<Policy>,
    /// Packets that took turns over all links and came back, those of them that were overtaken, and by how many at most.
    turns: [usize; 3],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Carries {
    interface: String,
    bits_per_second: Option<u64>,
    at_least: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Policy {
    policy: &'static str,
    /// Nothing: a stream is ruined.
    one_stream: Option<u64>,
    many: u64,
    /// It may give more.
    at_least: bool,
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
    let mptcp = setting("net/mptcp/enabled") == Some(1);
    let mut facts = Facts {
        bonding: ["/sys/module/bonding", "/sys/class/net/bonding_masters"]
            .iter()
            .any(|place| Path::new(place).exists()),
        mptcp,
        bundles: Vec::new(),
    };
    let (mut after, mut measured) = (Vec::new(), Vec::new());
    let pins: Vec<Finding> = status.pins.iter().map(|doubt| unlasting(doubt)).collect();
    for status in status.links {
        let trains = if args.passive { None } else { Some(trains::measure(&status)) };
        let mut bundle = bundle(status);
        match trains {
            Some(Ok(trains)) => {
                for (link, rate) in bundle.links.iter_mut().zip(&trains.rates) {
                    link.rate = *rate;
                }
                after.extend(turns(&bundle, &trains));
                after.extend(forecast::findings(&bundle, mptcp));
                measured.push(told(&bundle, &trains));
            }
            Some(Err(error)) => after.push(unmeasured(&bundle, &error)),
            None => {}
        }
        facts.bundles.push(bundle);
    }
    let mut findings = examine(&facts);
    findings.extend(bonds().iter().flat_map(bond::findings));
    findings.extend(after);
    findings.extend(pins);
    let wrong = findings.iter().filter(|one| one.verdict == Verdict::Wrong).count();
    if args.contact.json {
        let findings = findings.into_iter().map(row).collect();
        print_json(&Answer { wrong, findings, measured })?;
    } else {
        screen::print(&text(&findings))?;
    }
    Ok(if wrong == 0 { End::Done } else { End::No })
}

/// Bonds of the kernel's.
fn bonds() -> Vec<bond::Bond> {
    let Ok(all) = fs::read_dir("/proc/net/bonding") else { return Vec::new() };
    let read = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).ok()?;
        Some(bond::read(&entry.file_name().to_string_lossy(), &text))
    };
    all.flatten().filter_map(read).collect()
}

/// By how much packets overtake each other that take turns.
fn turns(bundle: &Bundle, trains: &Measured) -> Option<Finding> {
    let turns = trains.turns;
    (turns.came > 0).then(|| Finding {
        verdict: Verdict::Note,
        about: format!("bundle {}", bundle.name),
        found: format!(
            "of {} packets that took turns, none of them held, {} were overtaken there and back, by {} at most",
            turns.came, turns.overtaken, turns.depth
        ),
        advice: String::new(),
        commands: Vec::new(),
    })
}

/// Something that is pinned goes with the daemon's process.
fn unlasting(doubt: &str) -> Finding {
    Finding {
        verdict: Verdict::Note,
        about: "pins".to_owned(),
        found: doubt.to_owned(),
        advice: String::new(),
        commands: Vec::new(),
    }
}

fn unmeasured(bundle: &Bundle, error: &std::io::Error) -> Finding {
    Finding {
        verdict: Verdict::Note,
        about: format!("bundle {}", bundle.name),
        found: format!("what its links carry was not measured: {error}"),
        advice: "it takes root, in the daemon's network namespace".to_owned(),
        commands: Vec::new(),
    }
}

fn told(bundle: &Bundle, trains: &Measured) -> Told {
    let carries = |link: &Link| Carries {
        interface: link.interface.clone(),
        bits_per_second: link.rate.map(|rate| rate.bits),
        at_least: link.rate.is_some_and(|rate| rate.at_least),
    };
    let policy = |gives: forecast::Gives| Policy {
        policy: gives.policy.name(),
        one_stream: gives.one.map(|bits| bits as u64),
        many: gives.many as u64,
        at_least: gives.at_least,
    };
    Told {
        bundle: bundle.name.clone(),
        links: bundle.links.iter().map(carries).collect(),
        policies: forecast::gives(bundle, true).into_iter().map(policy).collect(),
        turns: [trains.turns.came, trains.turns.overtaken, trains.turns.depth],
    }
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
        master: master(&status.interface),
        interface: status.interface,
        loss: status.loss,
        held: Duration::from_micros(status.held_us),
        filter: own.map(|own| own.max(all)),
        rate: None,
        capacity: status.capacity,
    }
}

/// The device that an interface belongs to.
fn master(interface: &str) -> Option<String> {
    let place = fs::read_link(Path::new("/sys/class/net").join(interface).join("master")).ok()?;
    Some(place.file_name()?.to_string_lossy().into_owned())
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
