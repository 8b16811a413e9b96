//! keepalived: virtual servers of IPVS become services that forward packets, instances of VRRP become groups.

mod check;
mod defaults;
mod tree;
mod virtual_server;
mod vrrp;

use crate::document::Document;
use crate::names::Names;
use crate::notes::Notes;

use self::defaults::Defaults;

/// Writes what `text` says into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut Notes) {
    let nodes = tree::read(text, notes);
    let mut defaults = Defaults { version: 2, ..Defaults::default() };
    for node in nodes.iter().filter(|node| node.word(0) == "global_defs") {
        defaults.read(node, notes);
    }
    let mut services = Names::default();
    let mut groups = Names::default();
    for node in &nodes {
        match node.word(0) {
            "global_defs" | "virtual_server_group" => {}
            "virtual_server" => {
                virtual_server::write(node, &nodes, &defaults, (document, &mut services), notes)
            }
            "vrrp_instance" => vrrp::write(node, &defaults, &mut groups, document, notes),
            "vrrp_sync_group" => {
                let reason = "each group finds its active member by itself";
                notes.left(
                    node.line,
                    &node.text(),
                    reason,
                    "all addresses in one `[vrrp.NAME]`, or the same priorities",
                );
            }
            "vrrp_script" | "vrrp_track_process" | "track_file" | "vrrp_track_file" => {
                let reason = "a group's priority does not follow scripts";
                notes.left(
                    node.line,
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
                notes.left(
                    node.line,
                    &node.text(),
                    "addresses and routes of the machine are not ours",
                    "the system's network configuration",
                );
            }
            "include" => notes.left(
                node.line,
                &node.text(),
                "the included file is not here",
                "put its text in the place of the line",
            ),
            "bfd_instance" | "ssl" | "SSL" => {
                notes.left(node.line, &node.text(), "there is no such thing", "")
            }
            _ => notes.left(node.line, &node.text(), "the converter does not know it", ""),
        }
    }
}
