//! A VRRP instance as a group.

use std::collections::HashSet;
use std::net::IpAddr;

use crate::document::{Document, TomlTable};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
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
    let mut group = TomlTable::new(format!("vrrp.{name}"), node.source, &node.text());
    let interface = node.take("interface").map_or(defaults.interface.as_str(), |one| one.word(1));
    group.set(
        "interface",
        value::quote(interface),
        node.take("interface").map_or(SourcePlace::NONE, |one| one.source),
    );
    if let Some(id) = node.take("virtual_router_id") {
        group.set("id", id.word(1), id.source);
    }
    let addresses = addresses(node, notes);
    if let Some(source) = addresses.first().map(|one| one.source) {
        let texts: Vec<String> = addresses.iter().map(|one| one.ip.to_string()).collect();
        group.set("addresses", value::list(texts.iter().map(|text| value::quote(text))), source);
    }
    let v6 = addresses.iter().any(|one| one.ip.is_ipv6());
    let version = match node.take("version").map(|one| one.word(1)) {
        _ if v6 => 3,
        Some("3") => 3,
        Some("2") => 2,
        _ => defaults.version,
    };
    group.set(
        "version",
        version.to_string(),
        node.take("version").map_or(SourcePlace::NONE, |one| one.source),
    );
    if let Some(priority) = node.take("priority") {
        group.set("priority", priority.word(1), priority.source);
    }
    if let Some(interval) = node.take("advert_int") {
        match duration::parse_seconds(interval.word(1)) {
            Some(ms) => group.set("advertise", duration::format_duration(ms), interval.source),
            None => notes.left_out(interval.source, &interval.text(), "not a time", "`advertise`"),
        }
    }
    let nopreempt = node.take("nopreempt");
    if let Some(one) = nopreempt {
        group.set("preempt", "false", one.source);
    }
    let delay = node.take("preempt_delay").filter(|_| nopreempt.is_none());
    if let Some((one, ms)) =
        delay.and_then(|one| Some((one, duration::parse_seconds(one.word(1))?)))
    {
        group.set("preempt-delay", duration::format_duration(ms), one.source);
    }
    let peers: Vec<&BlockNode> = node.blocks("unicast_peer").collect();
    if let Some(last) = peers.last() {
        let members: Vec<&BlockNode> = peers.iter().flat_map(|block| &block.inner).collect();
        members.iter().for_each(|one| one.mark_converted(1));
        let texts: Vec<&str> = members.iter().map(|one| one.word(0)).collect();
        group.set("peers", value::quote_all(&texts), last.source);
    }
    if let Some(source) = node.take("unicast_src_ip").or(node.take("mcast_src_ip")) {
        group.set("source", value::quote(source.word(1)), source.source);
    }
    link(node, &mut group, notes);
    note_rest(node, notes);
    document.push(group);
}

/// The virtual MAC address of the group. Switches learn this address from multicast advertisements only.
fn link(node: &BlockNode, group: &mut TomlTable, notes: &mut ConversionNotes) {
    let Some(one) = node.take("use_vmac") else { return };
    if node.take("unicast_peer").is_some() {
        let reason =
            "advertisements to `peers` do not show switches where the virtual link address is";
        notes.left_out(one.source, &one.text(), reason, "the interface's own, which is announced");
    } else {
        group.set("link-address", value::quote("virtual"), one.source);
    }
}

/// A virtual address of a VRRP instance.
struct VrrpAddress {
    ip: IpAddr,
    source: SourcePlace,
}

fn addresses(node: &BlockNode, notes: &mut ConversionNotes) -> Vec<VrrpAddress> {
    let mut out: Vec<VrrpAddress> = Vec::new();
    let mut known = HashSet::new();
    for block in ["virtual_ipaddress", "virtual_ipaddress_excluded"] {
        for line in node.blocks(block).flat_map(|block| &block.inner) {
            let text = line.word(0).split('/').next().unwrap_or_default();
            let Ok(ip) = text.parse::<IpAddr>() else {
                notes.left_out(line.source, &line.text(), "not an address", "`addresses`");
                continue;
            };
            if out.first().is_some_and(|first| first.ip.is_ipv6() != ip.is_ipv6()) {
                notes.left_out(
                    line.source,
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
                notes.changed(line.source, &line.text(), &reason, "");
            }
            line.mark_converted(1);
            note_address_words(line, notes);
            if known.insert(ip) {
                out.push(VrrpAddress { ip, source: line.source });
            }
        }
    }
    out
}

/// Reports the other words of an address line: `dev eth0`, `label eth0:1`, `scope link`, `brd +`.
fn note_address_words(line: &BlockNode, notes: &mut ConversionNotes) {
    let words = line.rest(1);
    for (at, pair) in words.chunks(2).enumerate() {
        let source = line.source.range(1 + 2 * at, 3 + 2 * at);
        match pair.first().map_or("", String::as_str) {
            "dev" => notes.changed(
                source,
                &line.text(),
                "the address is put on the group's own interface",
                "a group of its own for another interface",
            ),
            "label" | "brd" | "broadcast" => {
                notes.not_needed(source, &line.text(), "names of addresses have no effect on them");
            }
            _ => notes.left_out(source, &line.text(), "an address has no such setting", ""),
        }
    }
}

/// Keywords that are converted.
const READ: [&str; 13] = [
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
    "use_vmac",
];
/// Keywords that a group does not need.
const NEEDLESS: [&str; 5] =
    ["state", "debug", "preempt", "lower_prio_no_advert", "higher_prio_send_advert"];
/// Prefixes of keywords that are left out, with the reason and the replacement.
const LEFT: [(&str, &str, &str); 12] = [
    (
        "no_accept",
        "the active member takes what comes to the addresses, also for its own services",
        "rules of the system's firewall",
    ),
    ("strict_mode", "advertisements are read as RFC 9568 says, with `no_accept` or without", ""),
    (
        "check_unicast_src",
        "whose advertisements are believed is said by `allow`",
        "`allow` with the addresses of the other members",
    ),
    ("dont_track", "a group follows the state of its own interface", ""),
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
            Some((_, reason, instead)) => notes.left_out(one.source, &one.text(), reason, instead),
            // What it says is done anyway.
            None if word == "accept" => one.mark_converted(1),
            None if NEEDLESS.contains(&word) => {
                let reason = "the member with the highest priority is active";
                notes.not_needed(one.source, &one.text(), reason);
            }
            None if announced => {
                notes.not_needed(one.source, &one.text(), "addresses are announced when they move");
            }
            None => notes.left_out(one.source, &one.text(), "the converter does not know it", ""),
        }
    }
}
