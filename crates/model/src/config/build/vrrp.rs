//! Builds groups of VRRP.

use super::super::section::Section;
use super::super::vrrp::{Also, LinkAddress, Vrrp};

pub(super) fn vrrp(section: &Section) -> Vrrp {
    let advertise = section.span("advertise");
    let interface = section.text("interface").unwrap_or_default();
    let also = section.list("also").iter().map(|also| Also {
        addresses: also.addresses("addresses").to_vec(),
        interface: also.text("interface").unwrap_or(interface).to_owned(),
    });
    Vrrp {
        name: section.name.clone(),
        interface: interface.to_owned(),
        id: section.number("id"),
        addresses: section.addresses("addresses").to_vec(),
        also: also.collect(),
        version: section.number("version"),
        priority: section.number("priority"),
        advertise,
        preempt: section.flag("preempt"),
        preempt_delay: section.span("preempt-delay"),
        peers: section.addresses("peers").to_vec(),
        allow: section.prefixes("allow").to_vec(),
        source: section.addresses("source").first().copied(),
        link_address: match section.text("link-address") {
            Some("virtual") => LinkAddress::Virtual,
            _ => LinkAddress::Own,
        },
        dead_man: section.time("dead-man"),
        self_check: section.time("self-check"),
        announce_every: section.time("announce-every"),
    }
}
