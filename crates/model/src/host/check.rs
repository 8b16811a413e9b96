//! The host checks, in the order in which their limits are usually reached.

use std::time::Duration;

use serde::Serialize;

use super::snapshot::{DescriptorLimits, HostInterface, HostSnapshot, HostWorkload};
use crate::capacity::path::bandwidth_delay_product;
use crate::capacity::ports::{LINUX_TIME_WAIT, TimeWaitPolicy, ports_in_range, sustained_rate};

/// The result of checking one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HostFinding {
    /// The setting, in a word or two.
    pub check: &'static str,
    pub verdict: HostCheckResult,
    pub found: String,
    /// What the result means, and for which load the setting is enough.
    pub why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<SettingChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostCheckResult {
    Good,
    /// The setting will be a limit before the goal is reached.
    Poor,
    /// The setting could not be read, or does not exist here.
    Unknown,
}

/// A change of a setting that lasts until the machine restarts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingChange {
    /// A kernel setting with its new value.
    Setting(String, String),
    /// Any other change, as a command.
    Command(String),
}

impl SettingChange {
    /// The command for a root shell.
    pub fn command(&self) -> String {
        match self {
            SettingChange::Setting(name, value) => format!("sysctl -w '{name}={value}'"),
            SettingChange::Command(text) => text.clone(),
        }
    }
}

/// Runs all checks on a snapshot of this machine.
pub fn check_host(snapshot: &HostSnapshot, goal: &HostWorkload) -> Vec<HostFinding> {
    let mut found =
        vec![check_ports(snapshot, goal), check_time_wait(snapshot), check_files(snapshot, goal)];
    found.extend(check_queues(snapshot, goal));
    found.extend(check_buffers(snapshot, goal));
    found.extend(check_switches(snapshot));
    found.extend(check_conntrack(snapshot, goal));
    found.push(check_governor(snapshot));
    found.extend(
        snapshot
            .interfaces
            .iter()
            .flat_map(|interface| check_interface(interface, snapshot.processors)),
    );
    found
}

fn finding(
    check: &'static str,
    good: bool,
    found: String,
    why: String,
    change: SettingChange,
) -> HostFinding {
    let verdict = if good { HostCheckResult::Good } else { HostCheckResult::Poor };
    HostFinding { check, verdict, found, why, change: (!good).then_some(change) }
}

fn unknown(check: &'static str, why: &str) -> HostFinding {
    let found = "not to be read here".to_owned();
    let why = why.to_owned();
    HostFinding { check, verdict: HostCheckResult::Unknown, found, why, change: None }
}

fn setting_change(name: &str, value: impl ToString) -> SettingChange {
    SettingChange::Setting(name.to_owned(), value.to_string())
}

/// The setting for reuse of ports in TIME_WAIT.
const REUSE: &str = "net.ipv4.tcp_tw_reuse";

fn check_ports(snapshot: &HostSnapshot, goal: &HostWorkload) -> HostFinding {
    let name = "net.ipv4.ip_local_port_range";
    let [first, last] = snapshot.numbers(name)[..] else {
        return unknown("source ports", "how many connections a server can be given");
    };
    let port = |number: u64| u16::try_from(number).unwrap_or(u16::MAX);
    let many = ports_in_range(port(first), port(last));
    let rest = TimeWaitPolicy::from_sysctls(
        snapshot.number(REUSE),
        snapshot.number("net.ipv4.tcp_timestamps"),
        snapshot.number("net.ipv4.tcp_tw_reuse_delay"),
    );
    let rest = rest.port_rest_time(false);
    let rate = sustained_rate(many, 1, Duration::ZERO, rest).0;
    let good = rate >= goal.per_second && u64::from(many) >= goal.connections;
    let why = format!(
        "{many} ports carry {rate:.0} connections a second from one address to one server when this side closes, because each \
         rests {} s: {} a second and {} at a time are wanted; more than the widest range needs several `source` addresses",
        rest.as_secs_f64(),
        goal.per_second,
        goal.connections
    );
    // A range that is already wider is not narrowed.
    let least = first.min(1_024);
    let most = last.max(u64::from(u16::MAX));
    let change = if (first, last) != (least, most) {
        setting_change(name, format!("{least} {most}"))
    } else if rest == LINUX_TIME_WAIT && goal.per_second > rate && snapshot.number(REUSE).is_some()
    {
        setting_change(REUSE, 1)
    } else {
        let times = (goal.per_second / rate).max(goal.connections as f64 / f64::from(many));
        SettingChange::Command(format!(
            "steelyard apply FILE   # with {:.0} addresses in `source` of the pool",
            times.ceil()
        ))
    };
    finding("source ports", good, format!("{first} to {last}"), why, change)
}

fn check_time_wait(snapshot: &HostSnapshot) -> HostFinding {
    let name = "net.ipv4.tcp_max_tw_buckets";
    let Some(most) = snapshot.number(name) else {
        return unknown("TIME_WAIT", "how many closed connections are remembered");
    };
    let good = most >= WIDEST_RANGE && snapshot.time_wait < most;
    let found = format!("{} of at most {most}", snapshot.time_wait);
    let why = "beyond that closed connections are forgotten at once, and late packets may reach new ones; the 60 s are \
               compiled in, tcp_tw_reuse says where a port may be taken before, tcp_fin_timeout is something else, and \
               tcp_tw_recycle is gone since Linux 4.12";
    // If all buckets are used, their number must grow.
    let more = most.saturating_mul(2).min(MOST_BUCKETS).max(most);
    finding(
        "TIME_WAIT",
        good,
        found,
        why.to_owned(),
        setting_change(name, more.max(WIDEST_RANGE * 4)),
    )
}

fn check_files(snapshot: &HostSnapshot, goal: &HostWorkload) -> HostFinding {
    let DescriptorLimits { soft, hard } = snapshot.descriptors;
    let needed = goal.connections * 2 + SPARE_FILES;
    let why = format!(
        "{} connections at a time take two descriptors each; a unit of systemd has its own limit (LimitNOFILE=)",
        goal.connections
    );
    let change = match hard >= needed {
        true => SettingChange::Command(format!("ulimit -n {needed}")),
        false => SettingChange::Command(format!("ulimit -Hn {needed} && ulimit -n {needed}")),
    };
    finding("open files", soft >= needed, format!("{soft}, could be {hard}"), why, change)
}

fn check_queues(snapshot: &HostSnapshot, goal: &HostWorkload) -> Vec<HostFinding> {
    let fast = goal.link.0 >= TEN_GIGABIT;
    let rows = [
        (
            "listen backlog",
            "net.core.somaxconn",
            4_096,
            "connections that wait to be accepted; beyond, clients are not answered and try again after a second",
        ),
        (
            "SYN backlog",
            "net.ipv4.tcp_max_syn_backlog",
            4_096,
            "half-open connections before cookies answer",
        ),
        (
            "device backlog",
            "net.core.netdev_max_backlog",
            if fast { 10_000 } else { 1_000 },
            "packets that wait for a processor where they are spread in software, or pass veth",
        ),
    ];
    let row = |(check, name, least, why): (&'static str, &str, u64, &str)| {
        snapshot.number(name).map_or_else(
            || unknown(check, why),
            |found| {
                finding(
                    check,
                    found >= least,
                    found.to_string(),
                    why.to_owned(),
                    setting_change(name, least),
                )
            },
        )
    };
    rows.into_iter().map(row).collect()
}

/// A connection's buffers must hold the bytes in flight; at worst half of a buffer holds payload.
fn check_buffers(snapshot: &HostSnapshot, goal: &HostWorkload) -> Vec<HostFinding> {
    let under_way = bandwidth_delay_product(goal.link, goal.round_trip).0;
    let needed = (under_way * 2.0).ceil() as u64;
    let row = |(check, name): (&'static str, &str)| {
        let why = format!(
            "one connection at {:.0} Mbit/s over {} ms has {:.2} MB under way, and the kernel's buffer holds twice that with its \
             bookkeeping",
            goal.link.megabits(),
            goal.round_trip.as_secs_f64() * 1e3,
            under_way / 1e6
        );
        let [least, usual, most] = snapshot.numbers(name)[..] else { return unknown(check, &why) };
        let change = setting_change(name, format!("{least} {usual} {needed}"));
        finding(check, most >= needed, format!("{most} B at most"), why, change)
    };
    [("receive buffer", "net.ipv4.tcp_rmem"), ("send buffer", "net.ipv4.tcp_wmem")].map(row).into()
}

fn check_switches(snapshot: &HostSnapshot) -> Vec<HostFinding> {
    let rows = [
        (
            "window scaling",
            "net.ipv4.tcp_window_scaling",
            1,
            "without it no window is above 64 KiB",
        ),
        ("SACK", "net.ipv4.tcp_sack", 1, "without it one lost packet makes much be sent again"),
        (
            "timestamps",
            "net.ipv4.tcp_timestamps",
            1,
            "they keep TIME_WAIT short for peers, and RTTs exact",
        ),
        (
            "SYN cookies",
            "net.ipv4.tcp_syncookies",
            1,
            "without them a flood of SYN locks clients out",
        ),
    ];
    let row = |(check, name, wanted, why): (&'static str, &str, u64, &str)| {
        snapshot.number(name).map_or_else(
            || unknown(check, why),
            |found| {
                finding(
                    check,
                    found >= wanted,
                    found.to_string(),
                    why.to_owned(),
                    setting_change(name, wanted),
                )
            },
        )
    };
    rows.into_iter().map(row).collect()
}

/// Checked only where the kernel tracks connections at all.
fn check_conntrack(snapshot: &HostSnapshot, goal: &HostWorkload) -> Option<HostFinding> {
    let name = "net.netfilter.nf_conntrack_max";
    let most = snapshot.number(name)?;
    let needed = goal.connections * 4;
    let why = format!(
        "the firewall remembers each connection, on both sides of a proxy and two minutes after its end: {needed} are wanted; \
         beyond, packets are dropped; rules with `notrack` for the balancer's ports need none"
    );
    Some(finding(
        "tracked connections",
        most >= needed,
        most.to_string(),
        why,
        setting_change(name, needed),
    ))
}

fn check_governor(snapshot: &HostSnapshot) -> HostFinding {
    if snapshot.governors.is_empty() {
        return unknown(
            "governor",
            "nothing governs the processors' frequency here, as in most virtual machines",
        );
    }
    let all = snapshot.governors.iter().map(|(name, many)| format!("{name} on {many}"));
    let found = all.collect::<Vec<_>>().join(", ");
    let good = snapshot.governors.keys().all(|name| name == "performance");
    let why =
        "processors that slow down between requests answer later, and figures waver".to_owned();
    let command = "for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance > $f; done";
    finding("governor", good, found, why, SettingChange::Command(command.to_owned()))
}

fn check_interface(interface: &HostInterface, processors: u32) -> Vec<HostFinding> {
    let mut out = Vec::new();
    let off: Vec<&str> = WANTED_ON
        .into_iter()
        .filter(|name| interface.offloads.get(*name) == Some(&false))
        .collect();
    let harmful = interface.offloads.get(LRO) == Some(&true);
    if interface.offloads.is_empty() {
        out.push(unknown("offloads", &format!("{}: its driver tells nothing", interface.name)));
    } else {
        let mut found = format!("{}: ", interface.name);
        match off.as_slice() {
            [] => found.push_str("all on"),
            off => found.push_str(&format!("off: {}", off.join(", "))),
        }
        if harmful {
            found.push_str(&format!("; {LRO} is on"));
        }
        let mut words: Vec<String> = off.iter().map(|name| format!("{name} on")).collect();
        words.extend(harmful.then(|| format!("{LRO} off")));
        let command = format!("ethtool -K {} {}", interface.name, words.join(" "));
        let why = "without them each packet costs a walk of its own; large-receive-offload breaks what is forwarded";
        let good = off.is_empty() && !harmful;
        out.push(finding("offloads", good, found, why.to_owned(), SettingChange::Command(command)));
    }
    let good = interface.queues > 1 || interface.spread || processors < 2;
    let found = format!(
        "{}: {} receive queues, {}",
        interface.name,
        interface.queues,
        if interface.spread { "spread in software" } else { "not spread in software" }
    );
    let why = "with one queue one processor receives everything; `doctor cores` computes queues and masks for this machine";
    let change =
        SettingChange::Command(format!("steelyard doctor cores {} --apply", interface.name));
    out.push(finding("steering", good, found, why.to_owned(), change));
    out
}

/// Offloads of ethtool(8) that save work per packet.
const WANTED_ON: [&str; 5] = [
    "rx-checksumming",
    "tx-checksumming",
    "generic-segmentation-offload",
    "tcp-segmentation-offload",
    "generic-receive-offload",
];
const LRO: &str = "large-receive-offload";
/// Ports of the widest range, 1,024 to 65,535; as many connections may be in TIME_WAIT towards each server.
const WIDEST_RANGE: u64 = 64_512;
/// The kernel stores the limit in an int.
const MOST_BUCKETS: u64 = i32::MAX as u64;
/// Descriptors beside connections: listeners, logs, probes.
const SPARE_FILES: u64 = 256;
// Links from this rate on are checked for scaled buffers.
const TEN_GIGABIT: f64 = 1e10;

#[cfg(test)]
mod tests;
