//! The settings of `global_defs`.

use crate::duration;
use crate::notes::ConversionNotes;

use super::tree::BlockNode;

/// An idle time after which IPVS forgets a connection.
#[derive(Debug)]
pub struct LvsTimeout {
    /// The key of a service: `idle-timeout` or `fin-timeout`, or `udp` of its `timeout`.
    pub key: &'static str,
    pub ms: u64,
}

/// Settings that are left out, with the consequence and the replacement.
struct LeftSettings {
    names: &'static [&'static str],
    reason: &'static str,
    instead: &'static str,
}

const LEFT: [LeftSettings; 5] = [
    LeftSettings {
        names: &[
            "vrrp_strict",
            "vrrp_iptables",
            "vrrp_ipsets",
            "nftables",
            "vrrp_check_unicast_src",
        ],
        reason: "no packets to the addresses are dropped, and advertisements are believed of those that `allow` names",
        instead: "`allow` of the group, and rules of the system's firewall",
    },
    LeftSettings {
        names: &["vrrp_mcast_group4", "vrrp_mcast_group6", "vrrp_down_timer_adverts"],
        reason: "advertisements are sent and timed as RFC 9568 says: other members do not hear them otherwise",
        instead: "take it out of the other members too",
    },
    LeftSettings {
        names: &["lvs_sync_daemon"],
        reason: "connections are handed to other members by a heartbeat, which has names and keys",
        instead: "`[heartbeat.PEER]`",
    },
    LeftSettings {
        names: &[
            "startup_script",
            "shutdown_script",
            "notify_fifo",
            "notify_fifo_script",
            "vrrp_notify_fifo",
            "vrrp_notify_fifo_script",
            "lvs_notify_fifo",
            "lvs_notify_fifo_script",
            "vrrp_notify_priority_changes",
        ],
        reason: "programs are told of changes by hooks",
        instead: "`[[global.hook]]`",
    },
    LeftSettings {
        names: &[
            "snmp_socket",
            "enable_snmp_vrrp",
            "enable_snmp_checker",
            "enable_snmp_rfc",
            "enable_snmp_rfcv2",
            "enable_snmp_rfcv3",
            "enable_traps",
            "enable_dbus",
        ],
        reason: "states are told in another form",
        instead: "`[global] metrics`, `steelyard status` and `[[global.hook]]`",
    },
];

/// The settings of `global_defs` that other blocks need.
#[derive(Debug, Default)]
pub struct GlobalDefs {
    pub version: u8,
    /// `lvs_timeouts tcp N tcpfin N udp N`.
    pub times: Vec<LvsTimeout>,
    pub interface: String,
}

impl GlobalDefs {
    /// Reads another `global_defs` block.
    pub fn read(&mut self, node: &BlockNode, notes: &mut ConversionNotes) {
        node.mark_converted(1);
        for inner in &node.inner {
            match inner.word(0) {
                "vrrp_version" => {
                    self.version = if inner.word(1) == "3" { 3 } else { 2 };
                    inner.mark_converted(2);
                }
                "default_interface" => {
                    inner.word(1).clone_into(&mut self.interface);
                    inner.mark_converted(2);
                }
                "lvs_timeouts" => {
                    inner.mark_converted(u16::MAX);
                    for pair in inner.rest(1).chunks(2) {
                        let [name, time] = pair else { continue };
                        let key = match name.as_str() {
                            "tcp" => "idle-timeout",
                            "tcpfin" => "fin-timeout",
                            "udp" => "udp",
                            _ => continue,
                        };
                        self.times.extend(
                            duration::parse_duration(time, 1_000).map(|ms| LvsTimeout { key, ms }),
                        );
                    }
                }
                "notification_email"
                | "notification_email_from"
                | "smtp_server"
                | "smtp_connect_timeout"
                | "smtp_alert"
                | "smtp_alert_vrrp"
                | "smtp_alert_checker"
                | "smtp_helo_name"
                | "email_faults" => {
                    notes.left_out(
                        inner.source,
                        &inner.text(),
                        "no mail is sent",
                        "`[[global.hook]]` with a program that does",
                    );
                }
                name => match LEFT.iter().find(|left| left.names.contains(&name)) {
                    Some(left) => {
                        notes.left_out(inner.source, &inner.text(), left.reason, left.instead);
                    }
                    None => notes.not_needed(
                        inner.source,
                        &inner.text(),
                        "it is about keepalived's own process",
                    ),
                },
            }
        }
    }
}
