//! Builds uplinks.

use super::super::section::Section;
use super::super::uplink::{Translate, Uplink, UplinkProbe, Uplinks};

pub(super) fn all(section: &Section) -> Uplinks {
    Uplinks {
        inside: section.texts("inside").to_vec(),
        translate: match section.text("translate") {
            Some("off") => Translate::Off,
            Some("both") => Translate::Both,
            _ => Translate::Ipv4,
        },
        mark_bit: section.number("mark-bit"),
        table: section.number("table"),
        rule: section.number("rule"),
    }
}

pub(super) fn uplink(section: &Section) -> Uplink {
    Uplink {
        name: section.name.clone(),
        interface: section.text("interface").unwrap_or_default().to_owned(),
        via: section.addresses("via").to_vec(),
        source: section.addresses("source").to_vec(),
        weight: section.number("weight"),
        priority: section.number("priority"),
        probe: section.table("probe").map(|probe| UplinkProbe {
            echo: probe.addresses("echo").to_vec(),
            connect: probe.sockets("connect").to_vec(),
            need: probe.number("need"),
            every: probe.span("every"),
            timeout: probe.span("timeout"),
            rise: probe.number("rise"),
            fall: probe.number("fall"),
        }),
    }
}
