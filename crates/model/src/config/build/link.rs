//! Builds bundles of links.

use super::super::link::{Bundle, LinkPolicy, LinkProbe, Member};
use super::super::section::Section;

pub(super) fn bundle(section: &Section) -> Bundle {
    let member = |link: &Section| Member {
        interface: link.text("interface").map(ToOwned::to_owned),
        via: link.addresses("via").to_vec(),
        capacity: link.count("capacity"),
        delay: link.time("delay"),
    };
    Bundle {
        name: section.name.clone(),
        policy: match section.text("policy") {
            Some("round-robin") => LinkPolicy::RoundRobin,
            Some("flowlet") => LinkPolicy::Flowlet,
            Some("failover") => LinkPolicy::Failover,
            _ => LinkPolicy::Hash,
        },
        links: section.list("links").iter().map(member).collect(),
        addresses: section.addresses("addresses").to_vec(),
        routes: section.prefixes("routes").to_vec(),
        gap: section.time("gap"),
        equalise: section.flag("equalise"),
        burst: section.count("burst").unwrap_or(1),
        probe: section.table("probe").map(|probe| LinkProbe {
            every: probe.span("every"),
            timeout: probe.span("timeout"),
            rise: probe.number("rise"),
            fall: probe.number("fall"),
        }),
    }
}
