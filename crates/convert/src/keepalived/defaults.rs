//! The settings of `global_defs`.

use crate::duration;
use crate::notes::ConversionNotes;

use super::tree::BlockNode;

/// The settings of `global_defs` that other blocks need.
#[derive(Debug, Default)]
pub struct GlobalDefs {
    pub version: u8,
    /// `lvs_timeouts tcp N tcpfin N udp N`, in milliseconds.
    pub times: Vec<(&'static str, u64)>,
    pub interface: String,
}

impl GlobalDefs {
    /// Reads another `global_defs` block.
    pub fn read(&mut self, node: &BlockNode, notes: &mut ConversionNotes) {
        for inner in &node.inner {
            match inner.word(0) {
                "vrrp_version" => self.version = if inner.word(1) == "3" { 3 } else { 2 },
                "default_interface" => inner.word(1).clone_into(&mut self.interface),
                "lvs_timeouts" => {
                    for pair in inner.words[1..].chunks(2) {
                        let [name, time] = pair else { continue };
                        let key = match name.as_str() {
                            "tcp" => "stale-timeout",
                            "tcpfin" => "fin-timeout",
                            "udp" => "udp",
                            _ => continue,
                        };
                        self.times
                            .extend(duration::parse_duration(time, 1_000).map(|ms| (key, ms)));
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
                        inner.line,
                        &inner.text(),
                        "no mail is sent",
                        "`[[global.hook]]` with a program that does",
                    );
                }
                _ => notes.not_needed(
                    inner.line,
                    &inner.text(),
                    "it is about keepalived's own process",
                ),
            }
        }
    }
}
