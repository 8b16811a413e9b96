//! `steelyard doctor links`: what this kernel can do with several links, the state of its bundles, and the forecast of
//! each policy. `links::advice`, `links::forecast` and `links::bond` decide; this reads and prints.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use api::types::{BundleStatus, LinkStatus};
use links::advice::{
    AdviceInput, BundleFacts, FindingSeverity, LinkFacts, LinkFinding, find_problems,
};
use links::{bond, forecast};
use serde::Serialize;

use super::trains::{self, TrainResults};
use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::screen;

/// Check this machine's bundles of links: problems, differences between links, and the best policy.
///
/// Differences and losses come from the daemon's continuous measurements. The throughput of links
/// is measured now, by bursts of 40 full-size echoes to the next hop of each: five over each link,
/// and five that alternate over all links.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor links
  steelyard doctor links --passive
  steelyard doctor links --json | jq -r '.findings[].commands[]?' | sh

Exit codes: 0 no problem, 1 a problem, 2 the daemon could not be reached.")]
pub struct DoctorLinksArgs {
    #[command(flatten)]
    contact: DaemonArgs,
    /// Send no bursts: throughput is not measured.
    #[arg(long)]
    passive: bool,
}

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
struct LinksDiagnosis {
    wrong: usize,
    findings: Vec<LinkFindingRow>,
    /// Bundles whose links were measured.
    measured: Vec<BundleMeasurement>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct BundleMeasurement {
    bundle: String,
    links: Vec<LinkThroughput>,
    policies: Vec<PolicyThroughput>,
    /// Packets that took turns over all links and came back, those of them that were overtaken, and by how many at most.
    turns: [usize; 3],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct LinkThroughput {
    interface: String,
    bits_per_second: Option<u64>,
    at_least: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct PolicyThroughput {
    policy: &'static str,
    /// Nothing: a stream is ruined.
    one_stream: Option<u64>,
    many: u64,
    /// It may give more.
    at_least: bool,
}

#[derive(Debug, Serialize)]
struct LinkFindingRow {
    verdict: &'static str,
    about: String,
    found: String,
    advice: String,
    commands: Vec<String>,
}

pub fn run(args: &DoctorLinksArgs) -> ExitCode {
    finish(args.contact.json, block_on(diagnose_links(args)))
}

async fn diagnose_links(args: &DoctorLinksArgs) -> Result<CommandOutcome, CommandError> {
    let status = args.contact.client()?.status().await?;
    let mptcp = setting("net/mptcp/enabled") == Some(1);
    let mut facts = AdviceInput {
        bonding: ["/sys/module/bonding", "/sys/class/net/bonding_masters"]
            .iter()
            .any(|place| Path::new(place).exists()),
        mptcp,
        bundles: Vec::new(),
    };
    let mut after = Vec::new();
    let mut measured = Vec::new();
    let pins: Vec<LinkFinding> =
        status.pins.iter().map(|doubt| not_persistent_finding(doubt)).collect();
    for status in status.links {
        let trains = if args.passive { None } else { Some(trains::measure_bundle(&status)) };
        let mut bundle = bundle(status);
        match trains {
            Some(Ok(trains)) => {
                for (link, rate) in bundle.links.iter_mut().zip(&trains.rates) {
                    link.rate = *rate;
                }
                after.extend(reordering_finding(&bundle, &trains));
                after.extend(forecast::findings(&bundle, mptcp));
                measured.push(bundle_measurement(&bundle, &trains));
            }
            Some(Err(error)) => after.push(measurement_failed_finding(&bundle, &error)),
            None => {}
        }
        facts.bundles.push(bundle);
    }
    let mut findings = find_problems(&facts);
    findings.extend(kernel_bonds().iter().flat_map(bond::findings));
    findings.extend(after);
    findings.extend(pins);
    let wrong = findings.iter().filter(|one| one.severity == FindingSeverity::Problem).count();
    if args.contact.json {
        let findings = findings.into_iter().map(finding_row).collect();
        print_json(&LinksDiagnosis { wrong, findings, measured })?;
    } else {
        screen::print(&render_findings(&findings))?;
    }
    Ok(if wrong == 0 { CommandOutcome::Done } else { CommandOutcome::Negative })
}

/// Bonds of the kernel's.
fn kernel_bonds() -> Vec<bond::KernelBond> {
    let Ok(all) = fs::read_dir("/proc/net/bonding") else { return Vec::new() };
    let read = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).ok()?;
        Some(bond::read(&entry.file_name().to_string_lossy(), &text))
    };
    all.flatten().filter_map(read).collect()
}

/// By how much packets overtake each other that take turns.
fn reordering_finding(bundle: &BundleFacts, trains: &TrainResults) -> Option<LinkFinding> {
    let turns = trains.reordering;
    (turns.received > 0).then(|| LinkFinding {
        severity: FindingSeverity::Note,
        subject: format!("bundle {}", bundle.name),
        observation: format!(
            "of {} packets that took turns, none of them held, {} were overtaken there and back, by {} at most",
            turns.received, turns.reordered, turns.depth
        ),
        advice: String::new(),
        commands: Vec::new(),
    })
}

/// Something that is pinned goes with the daemon's process.
fn not_persistent_finding(doubt: &str) -> LinkFinding {
    LinkFinding {
        severity: FindingSeverity::Note,
        subject: "pins".to_owned(),
        observation: doubt.to_owned(),
        advice: String::new(),
        commands: Vec::new(),
    }
}

fn measurement_failed_finding(bundle: &BundleFacts, error: &std::io::Error) -> LinkFinding {
    LinkFinding {
        severity: FindingSeverity::Note,
        subject: format!("bundle {}", bundle.name),
        observation: format!("what its links carry was not measured: {error}"),
        advice: "it takes root, in the daemon's network namespace".to_owned(),
        commands: Vec::new(),
    }
}

fn bundle_measurement(bundle: &BundleFacts, trains: &TrainResults) -> BundleMeasurement {
    let carries = |link: &LinkFacts| LinkThroughput {
        interface: link.interface.clone(),
        bits_per_second: link.rate.map(|rate| rate.bits),
        at_least: link.rate.is_some_and(|rate| rate.at_least),
    };
    let policy = |gives: forecast::PolicyForecast| PolicyThroughput {
        policy: gives.policy.name(),
        one_stream: gives.single_flow.map(|bits| bits as u64),
        many: gives.many_flows as u64,
        at_least: gives.at_least,
    };
    BundleMeasurement {
        bundle: bundle.name.clone(),
        links: bundle.links.iter().map(carries).collect(),
        policies: forecast::forecast_policies(bundle, true).into_iter().map(policy).collect(),
        turns: [trains.reordering.received, trains.reordering.reordered, trains.reordering.depth],
    }
}

fn bundle(status: BundleStatus) -> BundleFacts {
    BundleFacts {
        name: status.name,
        policy: status.policy,
        skew: Duration::from_micros(status.skew_us),
        gap: status.gap_us.map(Duration::from_micros),
        links: status.links.into_iter().map(link).collect(),
    }
}

fn link(status: LinkStatus) -> LinkFacts {
    let own = setting(&format!("net/ipv4/conf/{}/rp_filter", status.interface));
    // The stricter of both holds (ip-sysctl).
    let all = setting("net/ipv4/conf/all/rp_filter").unwrap_or(0);
    LinkFacts {
        down_reason: (status.state != "alive").then_some(status.reason),
        master: master_of(&status.interface),
        interface: status.interface,
        loss: status.loss,
        hold_time: Duration::from_micros(status.added_delay_us),
        reverse_path_filter: own.map(|own| own.max(all)),
        rate: None,
        capacity: status.capacity,
    }
}

/// The device that an interface belongs to.
fn master_of(interface: &str) -> Option<String> {
    let place = fs::read_link(Path::new("/sys/class/net").join(interface).join("master")).ok()?;
    Some(place.file_name()?.to_string_lossy().into_owned())
}

fn setting(name: &str) -> Option<u8> {
    fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?.trim().parse().ok()
}

fn finding_row(finding: LinkFinding) -> LinkFindingRow {
    let LinkFinding { severity: verdict, subject: about, observation: found, advice, commands } =
        finding;
    LinkFindingRow { verdict: verdict_label(verdict).trim_end(), about, found, advice, commands }
}

const fn verdict_label(verdict: FindingSeverity) -> &'static str {
    match verdict {
        FindingSeverity::Good => "good ",
        FindingSeverity::Problem => "wrong",
        FindingSeverity::Note => "note ",
    }
}

fn render_findings(findings: &[LinkFinding]) -> String {
    let mut out = String::new();
    for LinkFinding { severity: verdict, subject: about, observation: found, advice, commands } in
        findings
    {
        out.push_str(&format!("{}  {about}: {found}\n", verdict_label(*verdict)));
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
        let finding = LinkFinding {
            severity: FindingSeverity::Problem,
            subject: "eth1 of bundle up".to_owned(),
            observation: "rp_filter 1".to_owned(),
            advice: "it drops".to_owned(),
            commands: vec!["sysctl -w a=0".to_owned()],
        };
        let shown =
            "wrong  eth1 of bundle up: rp_filter 1\n       it drops\n         sysctl -w a=0\n";
        assert_eq!(render_findings(std::slice::from_ref(&finding)), shown);
        assert_eq!(finding_row(finding).verdict, "wrong");
    }
}
