//! Builds VRRP groups.

use super::types::{CompanionAddresses, LinkAddressMode, VrrpConfig};
use crate::config::section::ConfigSection;

pub fn build_vrrp(section: &ConfigSection) -> VrrpConfig {
    let advertise = section.time_or_zero("advertise");
    let interface = section.text("interface").unwrap_or_default();
    let also = section.list("unadvertised").iter().map(|also| CompanionAddresses {
        addresses: also.addresses("addresses").to_vec(),
        interface: also.text("interface").unwrap_or(interface).to_owned(),
    });
    VrrpConfig {
        name: section.name.clone(),
        interface: interface.to_owned(),
        id: section.count_or_zero("id"),
        addresses: section.addresses("addresses").to_vec(),
        also: also.collect(),
        version: section.count_or_zero("version"),
        priority: section.count_or_zero("priority"),
        advertise,
        preempt: section.flag("preempt"),
        preempt_delay: section.time_or_zero("preempt-delay"),
        peers: section.addresses("peers").to_vec(),
        allow: section.prefixes("allow").to_vec(),
        source: section.addresses("source").first().copied(),
        link_address: match section.text("link-address") {
            Some("virtual") => LinkAddressMode::Virtual,
            _ => LinkAddressMode::Own,
        },
        fencing_timeout: section.time("fencing-timeout"),
        self_check: section.time("duplicate-check"),
        announce_every: section.time("announce-interval"),
    }
}
