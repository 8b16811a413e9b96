//! Verifies heartbeats: unusable paths, contradicting times, and settings that delay a takeover.

mod witness;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::keys::{PATHS, TARGETS};
use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::{ConfigSection, ContentView};
use crate::config::unit::Time;
use crate::config::value::ConfigValue;
use witness::verify;

pub fn verify_heartbeat(
    effective: &EffectiveSettings,
    whole: bool,
    sink: &mut FindingCollector<'_, '_>,
) {
    let groups = &effective.vrrp;
    let shared: HashSet<IpAddr> =
        groups.iter().flat_map(|group| group.addresses("addresses")).copied().collect();
    if !effective.heartbeats.is_empty() {
        verify_distinct_groups(groups, sink);
    }
    for heartbeat in &effective.heartbeats {
        let path = format!("heartbeat.{}", quote_key(&heartbeat.name));
        if heartbeat.text("name") == Some(&heartbeat.name) {
            let trouble = FindingDetails::new("both members have the same name").with_expected(
                "`name` is this member's, and the table is called by the other one's",
            );
            sink.error(heartbeat.span_of("name"), &format!("{path}.name"), trouble);
        }
        verify_paths(heartbeat, &path, &shared, sink);
        verify_timers(heartbeat, &path, groups, sink);
        if let Some(reach) = heartbeat.table("reach") {
            verify_targets(reach, &format!("{path}.reach"), &shared, sink);
        }
        if let Some(one) = heartbeat.table("witness") {
            verify(one, &format!("{path}.witness"), heartbeat, groups, sink);
        }
        if groups.is_empty() && whole {
            let trouble =
                FindingDetails::new("no address is shared, so the heartbeat decides nothing")
                    .with_expected("a table `[vrrp.NAME]`");
            sink.warning(heartbeat.span, &path, trouble);
        }
    }
}

/// A heartbeat identifies groups by number and family, so the same number on two interfaces would be ambiguous.
fn verify_distinct_groups(groups: &[ConfigSection], sink: &mut FindingCollector<'_, '_>) {
    let mut seen: HashMap<(u64, bool), &ConfigSection> = HashMap::new();
    for group in groups {
        let v6 = group.addresses("addresses").first().is_some_and(IpAddr::is_ipv6);
        let Some(other) = seen.insert((group.count_or_zero("id"), v6), group) else { continue };
        // On one interface this is an error without a heartbeat too, which has been reported already.
        if other.text("interface") != group.text("interface") {
            let message = format!("the heartbeat cannot tell this group from `{}`", other.name);
            let trouble =
                FindingDetails::new(message).with_expected("another `id`: one for each family");
            let path = format!("vrrp.{}.id", quote_key(&group.name));
            sink.error(group.span_of("id"), &path, trouble);
        }
    }
}

fn verify_paths(
    heartbeat: &ConfigSection,
    path: &str,
    shared: &HashSet<IpAddr>,
    sink: &mut FindingCollector<'_, '_>,
) {
    let paths = heartbeat.list("paths");
    let written = heartbeat.setting("paths").is_some() && !heartbeat.is_invalid("paths");
    if written && !(1..=PATHS).contains(&paths.len()) {
        let trouble = FindingDetails::new("so many paths").with_found(paths.len().to_string());
        let trouble = trouble.with_expected(format!("1 to {PATHS} paths"));
        sink.error(heartbeat.span_of("paths"), &format!("{path}.paths"), trouble);
    }
    let mut seen = HashSet::new();
    for (at, one) in paths.iter().enumerate() {
        let path = format!("{path}.paths[{at}]");
        for key in ["local", "peer"] {
            let mut wrong =
                |trouble| sink.error(one.span_of(key), &format!("{path}.{key}"), trouble);
            let found = one.addresses(key);
            if found.len() > 1 {
                wrong(FindingDetails::new("a path has two ends").with_expected("one address"));
            } else if let Some(ip) = found.first().filter(|ip| is_unusable_address(**ip)) {
                wrong(FindingDetails::new(format!("{ip} is the address of no machine")));
            } else if let Some(ip) = found.first().filter(|ip| shared.contains(ip)) {
                let trouble =
                    FindingDetails::new(format!("{ip} is shared, so it is now here and now there"));
                wrong(trouble.with_expected("an address that stays on its machine"));
            }
        }
        verify_path_addresses(one, &path, sink);
        let ends = (one.addresses("local"), one.addresses("peer"), one.text("interface"));
        if !ends.0.is_empty() && !seen.insert(ends) {
            sink.error(one.span, &path, FindingDetails::new("this path stands here twice"));
        }
    }
}

fn verify_path_addresses(one: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let ends = one.addresses("local").first().zip(one.addresses("peer").first());
    let Some((local, peer)) = ends else { return };
    let mut wrong = |trouble| sink.error(one.span_of("peer"), &format!("{path}.peer"), trouble);
    if local == peer {
        wrong(FindingDetails::new("both ends are the same address"));
    } else if local.is_ipv4() != peer.is_ipv4() {
        let trouble = FindingDetails::new(format!("{local} and {peer} are of different families"));
        wrong(
            trouble.with_expected(
                "two addresses of one family: the other family is a path of its own",
            ),
        );
    }
    let near = |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    if (near(local) || near(peer)) && one.text("interface").is_none() {
        let trouble = FindingDetails::new("an address of a link is one only with its interface");
        wrong(trouble.with_expected("`interface`"));
    }
}

fn is_unusable_address(ip: IpAddr) -> bool {
    ip.is_unspecified() || ip.is_multicast() || ip.is_loopback()
}

fn verify_timers(
    heartbeat: &ConfigSection,
    path: &str,
    groups: &[ConfigSection],
    sink: &mut FindingCollector<'_, '_>,
) {
    let every = heartbeat.time_or_zero("interval");
    let timeout = heartbeat.time_or_zero("timeout");
    let key = format!("{path}.timeout");
    if timeout < every * 2 {
        let trouble = FindingDetails::new("one late beat would be silence")
            .with_found(Time(timeout).to_string());
        let trouble = trouble.with_expected(format!("at least {}", Time(every * 2)));
        sink.error(heartbeat.span_of("timeout"), &key, trouble);
    }
    let silence =
        groups.iter().map(|group| (group.time_or_zero("advertise") * 3, &group.name)).min();
    if let Some((silence, group)) = silence.filter(|(silence, _)| timeout > *silence) {
        let message = format!(
            "a machine that is gone counts as alive for so long, and group `{group}` would take over after {}",
            Time(silence)
        );
        let trouble = FindingDetails::new(message).with_found(Time(timeout).to_string());
        let trouble = trouble.with_expected(format!("at most {}, or patience", Time(silence)));
        sink.warning(heartbeat.span_of("timeout"), &key, trouble);
    }
}

fn verify_targets(
    reach: &ConfigSection,
    path: &str,
    shared: &HashSet<IpAddr>,
    sink: &mut FindingCollector<'_, '_>,
) {
    let spans = matches!(
        reach.setting("connect").map(|setting| setting.content),
        Some(ContentView::Value(ConfigValue::ListenRanges(_)))
    );
    if spans {
        let trouble =
            FindingDetails::new("a target has one port").with_expected("an address and a port");
        sink.error(reach.span_of("connect"), &format!("{path}.connect"), trouble);
    }
    let echo = reach.addresses("echo");
    let connect = reach.sockets("connect");
    let broken = reach.is_invalid("echo") || reach.is_invalid("connect") || spans;
    let count = echo.len() + connect.len();
    if !broken && !(1..=TARGETS).contains(&count) {
        let trouble = FindingDetails::new("so many targets").with_found(count.to_string());
        let trouble =
            trouble.with_expected(format!("1 to {TARGETS}, of `echo` and `connect` together"));
        sink.error(reach.span, path, trouble);
    }
    let each = echo.iter().map(|ip| ("echo", *ip));
    for (key, ip) in each.chain(connect.iter().map(|at| ("connect", at.ip()))) {
        let why = if is_unusable_address(ip) {
            "is no target: this machine reaches it whatever fails, or nobody does"
        } else if shared.contains(&ip) {
            "is shared: whoever is active reaches it always"
        } else {
            continue;
        };
        let trouble = FindingDetails::new(format!("{ip} {why}"));
        sink.error(reach.span_of(key), &format!("{path}.{key}"), trouble);
    }
}
