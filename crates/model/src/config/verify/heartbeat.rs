//! Judges heartbeats: paths that are none, times that contradict, and what delays a takeover.

mod witness;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::resolve::Effective;
use super::super::section::{Section, Slot};
use super::super::tables::heartbeat::{PATHS, TARGETS};
use super::super::unit::Time;
use super::super::value::Value;

/// Judge all of them.
pub fn verify(effective: &Effective, whole: bool, sink: &mut Sink<'_, '_>) {
    let groups = &effective.vrrp;
    let shared: HashSet<IpAddr> =
        groups.iter().flat_map(|group| group.addresses("addresses")).copied().collect();
    if !effective.heartbeats.is_empty() {
        told_apart(groups, sink);
    }
    for heartbeat in &effective.heartbeats {
        let path = format!("heartbeat.{}", quoted(&heartbeat.name));
        if heartbeat.text("name") == Some(&heartbeat.name) {
            let trouble = Trouble::new("both members have the same name")
                .expected("`name` is this member's, and the table is called by the other one's");
            sink.error(heartbeat.place_of("name"), &format!("{path}.name"), trouble);
        }
        paths(heartbeat, &path, &shared, sink);
        times(heartbeat, &path, groups, sink);
        if let Some(reach) = heartbeat.table("reach") {
            targets(reach, &format!("{path}.reach"), &shared, sink);
        }
        if let Some(one) = heartbeat.table("witness") {
            witness::verify(one, &format!("{path}.witness"), heartbeat, groups, sink);
        }
        if groups.is_empty() && whole {
            let trouble = Trouble::new("no address is shared, so the heartbeat decides nothing")
                .expected("a table `[vrrp.NAME]`");
            sink.warning(heartbeat.place, &path, trouble);
        }
    }
}

/// A heartbeat names groups by number and family: the same number on two interfaces would be one.
fn told_apart(groups: &[Section], sink: &mut Sink<'_, '_>) {
    let mut seen: HashMap<(u64, bool), &Section> = HashMap::new();
    for group in groups {
        let v6 = group.addresses("addresses").first().is_some_and(IpAddr::is_ipv6);
        let Some(other) = seen.insert((group.number("id"), v6), group) else { continue };
        // On one interface that is wrong without a heartbeat too, and said already.
        if other.text("interface") != group.text("interface") {
            let message = format!("the heartbeat cannot tell this group from `{}`", other.name);
            let trouble = Trouble::new(message).expected("another `id`: one for each family");
            let path = format!("vrrp.{}.id", quoted(&group.name));
            sink.error(group.place_of("id"), &path, trouble);
        }
    }
}

fn paths(heartbeat: &Section, path: &str, shared: &HashSet<IpAddr>, sink: &mut Sink<'_, '_>) {
    let paths = heartbeat.list("paths");
    let written = heartbeat.setting("paths").is_some() && !heartbeat.broken("paths");
    if written && !(1..=PATHS).contains(&paths.len()) {
        let trouble = Trouble::new("so many paths").found(paths.len().to_string());
        let trouble = trouble.expected(format!("1 to {PATHS} paths"));
        sink.error(heartbeat.place_of("paths"), &format!("{path}.paths"), trouble);
    }
    let mut seen = HashSet::new();
    for (at, one) in paths.iter().enumerate() {
        let path = format!("{path}.paths[{at}]");
        for key in ["local", "peer"] {
            let mut wrong =
                |trouble| sink.error(one.place_of(key), &format!("{path}.{key}"), trouble);
            let found = one.addresses(key);
            if found.len() > 1 {
                wrong(Trouble::new("a path has two ends").expected("one address"));
            } else if let Some(ip) = found.first().filter(|ip| unfit(**ip)) {
                wrong(Trouble::new(format!("{ip} is the address of no machine")));
            } else if let Some(ip) = found.first().filter(|ip| shared.contains(ip)) {
                let trouble =
                    Trouble::new(format!("{ip} is shared, so it is now here and now there"));
                wrong(trouble.expected("an address that stays on its machine"));
            }
        }
        ends(one, &path, sink);
        let ends = (one.addresses("local"), one.addresses("peer"), one.text("interface"));
        if !ends.0.is_empty() && !seen.insert(ends) {
            sink.error(one.place, &path, Trouble::new("this path stands here twice"));
        }
    }
}

fn ends(one: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let ends = one.addresses("local").first().zip(one.addresses("peer").first());
    let Some((local, peer)) = ends else { return };
    let mut wrong = |trouble| sink.error(one.place_of("peer"), &format!("{path}.peer"), trouble);
    if local == peer {
        wrong(Trouble::new("both ends are the same address"));
    } else if local.is_ipv4() != peer.is_ipv4() {
        let trouble = Trouble::new(format!("{local} and {peer} are of different families"));
        wrong(
            trouble.expected("two addresses of one family: the other family is a path of its own"),
        );
    }
    let near = |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    if (near(local) || near(peer)) && one.text("interface").is_none() {
        let trouble = Trouble::new("an address of a link is one only with its interface");
        wrong(trouble.expected("`interface`"));
    }
}

fn unfit(ip: IpAddr) -> bool {
    ip.is_unspecified() || ip.is_multicast() || ip.is_loopback()
}

fn times(heartbeat: &Section, path: &str, groups: &[Section], sink: &mut Sink<'_, '_>) {
    let (every, timeout) = (heartbeat.span("every"), heartbeat.span("timeout"));
    let key = format!("{path}.timeout");
    if timeout < every * 2 {
        let trouble =
            Trouble::new("one late beat would be silence").found(Time(timeout).to_string());
        let trouble = trouble.expected(format!("at least {}", Time(every * 2)));
        sink.error(heartbeat.place_of("timeout"), &key, trouble);
    }
    let silence = groups.iter().map(|group| (group.span("advertise") * 3, &group.name)).min();
    if let Some((silence, group)) = silence.filter(|(silence, _)| timeout > *silence) {
        let message = format!(
            "a machine that is gone counts as alive for so long, and group `{group}` would take over after {}",
            Time(silence)
        );
        let trouble = Trouble::new(message).found(Time(timeout).to_string());
        let trouble = trouble.expected(format!("at most {}, or patience", Time(silence)));
        sink.warning(heartbeat.place_of("timeout"), &key, trouble);
    }
}

fn targets(reach: &Section, path: &str, shared: &HashSet<IpAddr>, sink: &mut Sink<'_, '_>) {
    let spans = matches!(
        reach.setting("connect").map(|setting| &setting.slot),
        Some(Slot::Value(Value::Spans(_)))
    );
    if spans {
        let trouble = Trouble::new("a target has one port").expected("an address and a port");
        sink.error(reach.place_of("connect"), &format!("{path}.connect"), trouble);
    }
    let (echo, connect) = (reach.addresses("echo"), reach.sockets("connect"));
    let broken = reach.broken("echo") || reach.broken("connect") || spans;
    let count = echo.len() + connect.len();
    if !broken && !(1..=TARGETS).contains(&count) {
        let trouble = Trouble::new("so many targets").found(count.to_string());
        let trouble = trouble.expected(format!("1 to {TARGETS}, of `echo` and `connect` together"));
        sink.error(reach.place, path, trouble);
    }
    let each = echo.iter().map(|ip| ("echo", *ip));
    for (key, ip) in each.chain(connect.iter().map(|at| ("connect", at.ip()))) {
        let why = if unfit(ip) {
            "is no target: this machine reaches it whatever fails, or nobody does"
        } else if shared.contains(&ip) {
            "is shared: whoever is active reaches it always"
        } else {
            continue;
        };
        let trouble = Trouble::new(format!("{ip} {why}"));
        sink.error(reach.place_of(key), &format!("{path}.{key}"), trouble);
    }
}
