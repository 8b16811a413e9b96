//! Builds the name server's settings, zones and names.

use super::types::{
    ClientRegion, NameConfig, NameFallback, NamePolicy, NameServerConfig, NameSource, NamedAddress,
    ZoneConfig, is_within_zone, normalize_name,
};
use crate::config::section::ConfigSection;

pub fn build_name_server(section: &ConfigSection) -> NameServerConfig {
    NameServerConfig {
        listen: section.sockets("listen").to_vec(),
        threads: section.count_or_zero("threads"),
        udp_size: section.count_or_zero("udp-size"),
        rate: section.count("rate"),
        slip: section.count("slip"),
        client_subnet: section.flag("client-subnet"),
        cookies: section.flag("cookies"),
        connections: section.count_or_zero("connections"),
        idle: section.time_or_zero("idle"),
    }
}

pub fn build_zone(section: &ConfigSection) -> ZoneConfig {
    let name = normalize_name(&section.name);
    let contact = section.text("contact").unwrap_or_default();
    ZoneConfig {
        nameservers: section.texts("nameservers").iter().map(|name| normalize_name(name)).collect(),
        contact: normalize_name(&contact.replacen('@', ".", 1)),
        ttl: section.time_or_zero("ttl"),
        negative_ttl: section.time_or_zero("negative-ttl"),
        text: section.texts("txt").to_vec(),
        name,
    }
}

pub fn build_name(section: &ConfigSection, zones: &[ConfigSection]) -> NameConfig {
    let name = normalize_name(&section.name);
    let zone = zones
        .iter()
        .map(|zone| normalize_name(&zone.name))
        .filter(|zone| is_within_zone(&name, zone));
    let last = section.addresses("last-resort");
    NameConfig {
        zone: zone.max_by_key(String::len).unwrap_or_default(),
        source: build_name_source(section),
        policy: match section.text("policy") {
            Some("weighted") => NamePolicy::Weighted,
            Some("nearest") => NamePolicy::Nearest,
            Some("sticky") => NamePolicy::Sticky,
            Some("failover") => NamePolicy::Failover,
            _ => NamePolicy::RoundRobin,
        },
        near: section.list("near").iter().map(build_region).collect(),
        answers: section.count_or_zero("answers"),
        ttl: section.time_or_zero("ttl"),
        fallback: if !last.is_empty() {
            NameFallback::LastResort(last.to_vec())
        } else if section.text("fallback") == Some("none") {
            NameFallback::None
        } else {
            NameFallback::All
        },
        srv: section.texts("srv").iter().map(|labels| normalize_name(labels)).collect(),
        https: section.keywords("https").iter().map(|word| (*word).to_owned()).collect(),
        mask4: section.count_or_zero("mask4"),
        mask6: section.count_or_zero("mask6"),
        name,
    }
}

fn build_name_source(section: &ConfigSection) -> NameSource {
    if let Some(pool) = section.text("pool") {
        return NameSource::Pool(pool.to_owned());
    }
    if !section.texts("services").is_empty() {
        return NameSource::Services(section.texts("services").to_vec());
    }
    if let Some(cname) = section.text("cname") {
        return NameSource::Cname(normalize_name(cname));
    }
    let addresses = section.list("addresses").iter().map(|one| NamedAddress {
        name: one.text("name").unwrap_or_default().to_owned(),
        addresses: one.addresses("address").to_vec(),
        weight: one.count_or_zero("weight"),
    });
    NameSource::Addresses(addresses.collect())
}

fn build_region(section: &ConfigSection) -> ClientRegion {
    ClientRegion {
        client: section.prefixes("client").to_vec(),
        prefer: section.texts("prefer").to_vec(),
    }
}
