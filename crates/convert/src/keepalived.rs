//! keepalived: IPVS virtual servers become services that forward packets, and VRRP instances become groups.

mod defaults;
mod health_check;
mod tree;
mod virtual_server;
mod vrrp;

use crate::document::Document;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;

use self::defaults::GlobalDefs;

/// Converts `text` into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut ConversionNotes) {
    let nodes = tree::read(text, notes);
    let mut defaults = GlobalDefs { version: 2, ..GlobalDefs::default() };
    for node in nodes.iter().filter(|node| node.word(0) == "global_defs") {
        defaults.read(node, notes);
    }
    let mut services = UniqueNames::default();
    let mut groups = UniqueNames::default();
    let mut groups_of_addresses = Vec::new();
    for node in &nodes {
        match node.word(0) {
            "global_defs" => {}
            "virtual_server_group" => groups_of_addresses.push(node),
            "virtual_server" => {
                virtual_server::write(node, &nodes, &defaults, document, &mut services, notes)
            }
            "vrrp_instance" => vrrp::write(node, &defaults, &mut groups, document, notes),
            "vrrp_sync_group" => {
                let reason = "each group finds its active member by itself";
                notes.left_out(
                    node.source,
                    &node.text(),
                    reason,
                    "all addresses in one `[vrrp.NAME]`, or the same priorities",
                );
            }
            "vrrp_script" | "vrrp_track_process" | "track_file" | "vrrp_track_file" => {
                let reason = "a group's priority does not follow scripts";
                notes.left_out(
                    node.source,
                    &node.text(),
                    reason,
                    "`steelyard takeover` from a script or a hook",
                );
            }
            "static_ipaddress"
            | "static_routes"
            | "static_rules"
            | "interface_up_down_delays"
            | "garp_group" => {
                notes.left_out(
                    node.source,
                    &node.text(),
                    "addresses and routes of the machine are not ours",
                    "the system's network configuration",
                );
            }
            "include" => notes.left_out(
                node.source,
                &node.text(),
                "the included file is not here",
                "put its text in the place of the line",
            ),
            "bfd_instance" | "ssl" | "SSL" => {
                notes.left_out(node.source, &node.text(), "there is no such thing", "")
            }
            _ => notes.left_out(node.source, &node.text(), "the converter does not know it", ""),
        }
    }
    for unused in groups_of_addresses {
        if notes.ledger.is_settled(unused.source) {
            continue;
        }
        notes.not_needed(unused.source, &unused.text(), "no virtual server refers to it");
    }
}
