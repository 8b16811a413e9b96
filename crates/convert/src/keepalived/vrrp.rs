//! An instance of VRRP as a group.

use std::net::IpAddr;

use crate::document::{Document, TomlTable};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::{duration, value};

use super::defaults::GlobalDefs;
use super::tree::BlockNode;

pub fn write(
    node: &BlockNode,
    defaults: &GlobalDefs,
    names: &mut UniqueNames,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let name = names.unique_name(node.word(1));
    let mut group = TomlTable::new(format!("vrrp.{name}"), node.line, &node.text());
    let interface = node.get("interface").map_or(defaults.interface.as_str(), |one| one.word(1));
    group.set(
        "interface",
        value::quote(interface),
        node.get("interface").map_or(0, |one| one.line),
    );
    if let Some(id) = node.get("virtual_router_id") {
        group.set("id", id.word(1), id.line);
    }
    let addresses = addresses(node, notes);
    if let Some(line) = addresses.first().map(|(_, line)| *line) {
        let texts: Vec<String> = addresses.iter().map(|(ip, _)| ip.to_string()).collect();
        group.set("addresses", value::list(texts.iter().map(|text| value::quote(text))), line);
    }
    let v6 = addresses.iter().any(|(ip, _)| ip.is_ipv6());
    let version = match node.get("version").map(|one| one.word(1)) {
        _ if v6 => 3,
        Some("3") => 3,
        Some("2") => 2,
        _ => defaults.version,
    };
    group.set("version", version.to_string(), node.get("version").map_or(0, |one| one.line));
    if let Some(priority) = node.get("priority") {
        group.set("priority", priority.word(1), priority.line);
    }
    if let Some(interval) = node.get("advert_int") {
        match duration::parse_seconds(interval.word(1)) {
            Some(ms) => group.set("advertise", duration::format_duration(ms), interval.line),
            None => notes.left_out(interval.line, &interval.text(), "not a time", "`advertise`"),
        }
    }
    let nopreempt = node.get("nopreempt");
    if let Some(one) = nopreempt {
        group.set("preempt", "false", one.line);
    }
    let delay = node.get("preempt_delay").filter(|_| nopreempt.is_none());
    if let Some((one, ms)) =
        delay.and_then(|one| Some((one, duration::parse_seconds(one.word(1))?)))
    {
        group.set("preempt-delay", duration::format_duration(ms), one.line);
    }
    if let Some(peers) = node.get("unicast_peer") {
        let texts: Vec<&str> = peers.inner.iter().map(|one| one.word(0)).collect();
        group.set("peers", value::quote_all(&texts), peers.line);
    }
    if let Some(source) = node.get("unicast_src_ip").or(node.get("mcast_src_ip")) {
        group.set("source", value::quote(source.word(1)), source.line);
    }
    link(node, &mut group, notes);
    note_rest(node, notes);
    document.push(group);
}

/// The link address of the virtual router, which switches see by advertisements to everybody alone.
fn link(node: &BlockNode, group: &mut TomlTable, notes: &mut ConversionNotes) {
    let Some(one) = node.get("use_vmac") else { return };
    if node.get("unicast_peer").is_some() {
        let reason =
            "advertisements to `peers` do not show switches where the virtual link address is";
        notes.left_out(one.line, &one.text(), reason, "the interface's own, which is announced");
    } else {
        group.set("link-address", value::quote("virtual"), one.line);
    }
}

fn addresses(node: &BlockNode, notes: &mut ConversionNotes) -> Vec<(IpAddr, u32)> {
    let mut out: Vec<(IpAddr, u32)> = Vec::new();
    for block in ["virtual_ipaddress", "virtual_ipaddress_excluded"] {
        for line in node.get(block).map_or(&[][..], |block| &block.inner) {
            let text = line.word(0).split('/').next().unwrap_or_default();
            let Ok(ip) = text.parse::<IpAddr>() else {
                notes.left_out(line.line, &line.text(), "not an address", "`addresses`");
                continue;
            };
            if out.first().is_some_and(|(first, _)| first.is_ipv6() != ip.is_ipv6()) {
                notes.left_out(
                    line.line,
                    &line.text(),
                    "a group has addresses of one family",
                    "a group of its own for the other one",
                );
                continue;
            }
            let whole = if ip.is_ipv6() { "128" } else { "32" };
            if line.word(0).split_once('/').is_some_and(|(_, bits)| bits != whole) {
                let reason = format!(
                    "the address is set with /{whole}: the network is reached by the interface's own"
                );
                notes.changed(line.line, &line.text(), &reason, "");
            }
            if line.words.iter().any(|word| word == "dev") {
                notes.changed(
                    line.line,
                    &line.text(),
                    "the address is put on the group's own interface",
                    "a group of its own for another interface",
                );
            }
            if !out.iter().any(|(known, _)| *known == ip) {
                out.push((ip, line.line));
            }
        }
    }
    out
}

/// Keywords that are converted.
const READ: [&str; 14] = [
    "interface",
    "virtual_router_id",
    "virtual_ipaddress",
    "virtual_ipaddress_excluded",
    "version",
    "priority",
    "advert_int",
    "nopreempt",
    "preempt_delay",
    "unicast_peer",
    "unicast_src_ip",
    "mcast_src_ip",
    "preempt",
    "use_vmac",
];
/// Keywords that are not needed.
const NEEDLESS: [&str; 7] = [
    "state",
    "debug",
    "accept",
    "no_accept",
    "dont_track_primary",
    "lower_prio_no_advert",
    "higher_prio_send_advert",
];
/// Prefixes of keywords that are left out, the reason, and the replacement.
const LEFT: [(&str, &str, &str); 8] = [
    (
        "authentication",
        "RFC 9568 has no authentication, and members that ask for it do not hear others",
        "`peers` and `allow`; take it out of the other members too",
    ),
    (
        "track_",
        "a group's priority follows nothing but its own interface",
        "`steelyard takeover` from a script or a hook",
    ),
    (
        "notify",
        "a group starts no programs of its own",
        "`[[global.hook]]` with `on = [\"member-active\", \"member-standby\", \"member-idle\"]`",
    ),
    ("virtual_ro", "a group has addresses and no routes", "a hook that sets them"),
    ("virtual_ru", "a group has addresses and no routes", "a hook that sets them"),
    ("vmac_", "advertisements have the virtual link address", ""),
    ("use_", "the interface's own link address is used, and announced", ""),
    ("smtp_alert", "no mail is sent", "`[[global.hook]]`"),
];

fn note_rest(node: &BlockNode, notes: &mut ConversionNotes) {
    for one in node.inner.iter().filter(|one| !READ.contains(&one.word(0))) {
        let word = one.word(0);
        let left = LEFT.iter().find(|(begin, ..)| word.starts_with(begin));
        let announced = ["garp_", "check_", "linkbeat"].iter().any(|begin| word.starts_with(begin));
        match left {
            Some((_, reason, instead)) => notes.left_out(one.line, &one.text(), reason, instead),
            None if NEEDLESS.contains(&word) => {
                let reason = "the member with the highest priority is active";
                notes.not_needed(one.line, &one.text(), reason);
            }
            None if announced => {
                notes.not_needed(one.line, &one.text(), "addresses are announced when they move");
            }
            None => notes.left_out(one.line, &one.text(), "the converter does not know it", ""),
        }
    }
}
