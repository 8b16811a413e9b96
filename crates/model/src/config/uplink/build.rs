//! Builds uplinks.

use super::types::{SourceNatMode, UplinkConfig, UplinkProbe, UplinksConfig};
use crate::config::section::ConfigSection;

pub fn build_uplinks(section: &ConfigSection) -> UplinksConfig {
    UplinksConfig {
        inside: section.texts("inside").to_vec(),
        translate: match section.text("source-nat") {
            Some("off") => SourceNatMode::Off,
            Some("both") => SourceNatMode::Both,
            _ => SourceNatMode::Ipv4,
        },
        mark_bit: section.count_or_zero("mark-bit"),
        table: section.count_or_zero("table"),
        rule: section.count_or_zero("rule-priority"),
    }
}

pub fn build_uplink(section: &ConfigSection) -> UplinkConfig {
    UplinkConfig {
        name: section.name.clone(),
        interface: section.text("interface").unwrap_or_default().to_owned(),
        via: section.addresses("via").to_vec(),
        source: section.addresses("source").to_vec(),
        weight: section.count_or_zero("weight"),
        priority: section.count_or_zero("priority"),
        probe: section.table("probe").map(|probe| UplinkProbe {
            echo: probe.addresses("echo").to_vec(),
            connect: probe.sockets("connect").to_vec(),
            need: probe.count_or_zero("min-targets"),
            every: probe.time_or_zero("interval"),
            timeout: probe.time_or_zero("timeout"),
            rise: probe.count_or_zero("rise"),
            fall: probe.count_or_zero("fall"),
        }),
    }
}
