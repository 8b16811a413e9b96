//! `steelyard doctor host`: the settings that decide how much this machine carries. The model checks; this reads,
//! prints, and writes settings only with `--apply`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use lab::machine::procfs::{descriptor_limits, machine_facts};
use lab::net::{find, run_command};
use model::capacity::quantity::BitRate;
use model::host::{
    HostCheckResult, HostFinding, HostInterface, HostSnapshot, HostWorkload, SettingChange,
    check_host,
};
use serde::Serialize;

use crate::common_args::{bit_rate, positive_span};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::paint::{Colour, Paint};
use crate::show::screen;
use crate::show::table::wrap;

/// Check the settings that limit this machine: ports, TIME_WAIT, open files, backlogs, buffers,
/// offloads, steering, CPU governor.
///
/// Each is compared with the requirements below. Nothing is changed without --apply.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor host
  steelyard doctor host --connections 50000 --per-second 2000 --link 10Gbit/s --round-trip 80ms
  steelyard doctor host --json | jq -r '.findings[].command // empty'
  steelyard doctor host --apply          raises kernel settings, and prints how to undo it

Changes last until the next boot: write settings to /etc/sysctl.d. Offloads, queues, open file limits and
CPU governors are never changed: their commands are printed.

Exit codes: 0 everything fits, 1 something is too small, 2 a setting could not be written.")]
pub struct DoctorHostArgs {
    /// Number of concurrent connections required.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    connections: u64,
    /// Required new connections a second to one server from one address.
    #[arg(long, value_name = "N", default_value_t = 400)]
    per_second: u32,
    /// Rate of the link.
    #[arg(long, value_name = "RATE", value_parser = bit_rate, default_value = "1Gbit/s")]
    link: BitRate,
    /// The longest round trip time at which one connection should fill the link.
    #[arg(long, value_name = "TIME", value_parser = positive_span, default_value = "20ms")]
    round_trip: Duration,
    /// Raise kernel settings that are too small.
    #[arg(long)]
    apply: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct HostDiagnosis {
    goal: HostWorkload,
    findings: Vec<HostFindingRow>,
    /// The written settings, each with the command that reverts it.
    changed: Vec<ChangedSetting>,
    picture: HostSnapshot,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct HostFindingRow {
    #[serde(flatten)]
    finding: HostFinding,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct ChangedSetting {
    setting: String,
    before: String,
    after: String,
    undo: String,
}

pub fn run(args: &DoctorHostArgs) -> ExitCode {
    finish(args.json, carry_out(args))
}

fn carry_out(args: &DoctorHostArgs) -> Result<CommandOutcome, CommandError> {
    let goal = HostWorkload {
        connections: args.connections,
        per_second: f64::from(args.per_second),
        link: args.link,
        round_trip: args.round_trip,
    };
    let mut snapshot = read_host_settings();
    let mut findings = check_host(&snapshot, &goal);
    let mut changed = Vec::new();
    if args.apply {
        changed = apply(&findings, &snapshot)?;
        // The kernel may have adjusted the value: read it back.
        snapshot = self::read_host_settings();
        findings = check_host(&snapshot, &goal);
        for one in &mut changed {
            one.after = snapshot.settings.get(&one.setting).cloned().unwrap_or_default();
        }
    }
    let poor = findings.iter().any(|one| one.verdict == HostCheckResult::Poor);
    if args.json {
        let row = |finding: HostFinding| {
            let command = finding.change.as_ref().map(SettingChange::command);
            HostFindingRow { finding, command }
        };
        let findings = findings.into_iter().map(row).collect();
        print_json(&HostDiagnosis { goal, findings, changed, picture: snapshot })?;
    } else {
        screen::print(&render_findings(&findings, &changed, screen::width(), Paint::for_stdout()))?;
    }
    Ok(if poor { CommandOutcome::Negative } else { CommandOutcome::Done })
}

/// Writes the settings that are too small. The first failure ends it, and lists what was written.
fn apply(
    findings: &[HostFinding],
    snapshot: &HostSnapshot,
) -> Result<Vec<ChangedSetting>, CommandError> {
    let mut changed: Vec<ChangedSetting> = Vec::new();
    for finding in findings {
        let Some(SettingChange::Setting(name, value)) = &finding.change else { continue };
        let before = snapshot.settings.get(name).cloned().unwrap_or_default();
        fs::write(sysctl_path(name), value).map_err(|error| {
            let undo: Vec<&str> = changed.iter().map(|one| one.undo.as_str()).collect();
            let back = match undo.as_slice() {
                [] => "nothing was changed".to_owned(),
                undo => format!("to undo what was changed before: {}", undo.join("; ")),
            };
            CommandError::Unusable(format!("cannot write {name}: {error}; {back}"))
        })?;
        let undo = SettingChange::Setting(name.clone(), before.clone()).command();
        changed.push(ChangedSetting { setting: name.clone(), before, after: value.clone(), undo });
    }
    Ok(changed)
}

fn read_host_settings() -> HostSnapshot {
    let setting = |name: &&str| {
        let text = fs::read_to_string(sysctl_path(name)).ok()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        Some(((*name).to_owned(), words.join(" ")))
    };
    let facts = machine_facts();
    HostSnapshot {
        processors: facts.processors,
        settings: SETTINGS.iter().filter_map(setting).collect(),
        descriptors: descriptor_limits(),
        time_wait: facts.time_wait,
        governors: read_governors(),
        interfaces: read_interfaces(),
    }
}

fn read_governors() -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten() {
        let file = entry.path().join("cpufreq/scaling_governor");
        if let Ok(name) = fs::read_to_string(file) {
            *found.entry(name.trim().to_owned()).or_insert(0) += 1;
        }
    }
    found
}

/// Those of devices: bridges, tunnels and pairs have no queues and offloads of their own.
fn read_interfaces() -> Vec<HostInterface> {
    let entries = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let devices = paths.into_iter().filter(|path| path.join("device").exists());
    devices.filter_map(|path| read_interface(&path)).collect()
}

fn read_interface(path: &Path) -> Option<HostInterface> {
    let name = path.file_name()?.to_str()?.to_owned();
    let queues: Vec<PathBuf> = (0..)
        .map(|at| path.join(format!("queues/rx-{at}")))
        .take_while(|dir| dir.exists())
        .collect();
    let spreads = |dir: &PathBuf| {
        let mask = fs::read_to_string(dir.join("rps_cpus")).unwrap_or_default();
        mask.chars().any(|digit| digit.is_ascii_hexdigit() && digit != '0')
    };
    Some(HostInterface {
        queues: queues.len() as u32,
        spread: queues.iter().any(spreads),
        offloads: read_offloads(&name),
        name,
    })
}

/// `name: on`, `name: off [fixed]`: fixed offloads cannot be changed.
fn read_offloads(interface: &str) -> BTreeMap<String, bool> {
    let text =
        run_command(Command::new(find("ethtool")).args(["-k", interface])).unwrap_or_default();
    let rows = text.lines().filter(|line| !line.contains("[fixed]"));
    let rows = rows.filter_map(|line| line.trim().split_once(": "));
    rows.filter_map(|(name, word)| match word.trim() {
        "on" => Some((name.to_owned(), true)),
        "off" => Some((name.to_owned(), false)),
        _ => None,
    })
    .collect()
}

fn sysctl_path(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

fn render_findings(
    findings: &[HostFinding],
    changed: &[ChangedSetting],
    width: usize,
    paint: Paint,
) -> String {
    let mut out = String::new();
    for one in findings {
        let (word, colour) = match one.verdict {
            HostCheckResult::Good => ("good   ", Colour::Quiet),
            HostCheckResult::Poor => ("POOR   ", Colour::Bad),
            HostCheckResult::Unknown => ("unknown", Colour::Doubt),
        };
        out.push_str(&format!("{}  {:<19} {}\n", paint.text(colour, word), one.check, one.found));
        // 20 columns at least: below that, words would be broken on every line.
        let why = wrap(&one.why, width.saturating_sub(INDENT).max(20));
        why.iter().for_each(|line| out.push_str(&format!("{:INDENT$}{line}\n", "")));
        if let Some(change) = &one.change {
            out.push_str(&format!("{:INDENT$}  {}\n", "", change.command()));
        }
    }
    for one in changed {
        out.push_str(&format!(
            "\nchanged {}: before {}, after {}; to take it back: {}\n",
            one.setting, one.before, one.after, one.undo
        ));
    }
    let poor: Vec<String> =
        findings.iter().filter_map(|one| one.change.as_ref()).map(SettingChange::command).collect();
    if poor.is_empty() {
        out.push_str("\nthis machine is ready for that\n");
    } else {
        out.push_str(&format!("\n{} too small; as root:\n", poor.len()));
        poor.iter().for_each(|command| out.push_str(&format!("  {command}\n")));
    }
    out
}

/// The width of the result and two spaces, so that explanations begin below the name of the check.
const INDENT: usize = 9;
const SETTINGS: [&str; 15] = [
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_tw_reuse_delay",
    "net.core.somaxconn",
    "net.ipv4.tcp_max_syn_backlog",
    "net.core.netdev_max_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_syncookies",
    "net.netfilter.nf_conntrack_max",
    "net.ipv4.tcp_congestion_control",
];
