//! Builds link bundles.

use super::types::{BundleLink, LinkBundle, LinkPolicy, LinkProbe};
use crate::config::section::ConfigSection;

pub fn build_bundle(section: &ConfigSection) -> LinkBundle {
    let member = |link: &ConfigSection| BundleLink {
        interface: link.text("interface").map(ToOwned::to_owned),
        via: link.addresses("via").to_vec(),
        capacity: link.count("capacity"),
        delay: link.time("delay"),
    };
    LinkBundle {
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
            every: probe.time_or_zero("interval"),
            timeout: probe.time_or_zero("timeout"),
            rise: probe.count_or_zero("rise"),
            fall: probe.count_or_zero("fall"),
        }),
    }
}
