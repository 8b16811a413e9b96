//! The settings of `global_defs`.

use crate::duration;
use crate::notes::ConversionNotes;

use super::tree::BlockNode;

/// An idle time after which IPVS forgets a connection.
#[derive(Debug)]
pub struct LvsTimeout {
    /// The key of a service: `stale-timeout` or `fin-timeout`, or `udp` of its `timeout`.
    pub key: &'static str,
    pub ms: u64,
}

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
                            "tcp" => "stale-timeout",
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
                _ => notes.not_needed(
                    inner.source,
                    &inner.text(),
                    "it is about keepalived's own process",
                ),
            }
        }
    }
}
