//! Builds the name server's settings, zones and names.

use super::super::names::{
    NameFallback, NamePolicy, NameServer, NameSource, Named, NamedAddress, Region, Zone, plain,
    within,
};
use super::super::section::Section;

pub(super) fn server(section: &Section) -> NameServer {
    NameServer {
        listen: section.sockets("listen").to_vec(),
        threads: section.number("threads"),
        udp_size: section.number("udp-size"),
        rate: section.count("rate"),
        slip: section.count("slip"),
        client_subnet: section.flag("client-subnet"),
        cookies: section.flag("cookies"),
        connections: section.number("connections"),
        idle: section.span("idle"),
    }
}

pub(super) fn zone(section: &Section) -> Zone {
    let name = plain(&section.name);
    let contact = section.text("contact").unwrap_or_default();
    Zone {
        nameservers: section.texts("nameservers").iter().map(|name| plain(name)).collect(),
        contact: plain(&contact.replacen('@', ".", 1)),
        ttl: section.span("ttl"),
        negative_ttl: section.span("negative-ttl"),
        text: section.texts("text").to_vec(),
        name,
    }
}

pub(super) fn named(section: &Section, zones: &[Section]) -> Named {
    let name = plain(&section.name);
    let zone = zones.iter().map(|zone| plain(&zone.name)).filter(|zone| within(&name, zone));
    let last = section.addresses("last-resort");
    Named {
        zone: zone.max_by_key(String::len).unwrap_or_default(),
        source: source(section),
        policy: match section.text("policy") {
            Some("weighted") => NamePolicy::Weighted,
            Some("nearest") => NamePolicy::Nearest,
            Some("sticky") => NamePolicy::Sticky,
            Some("failover") => NamePolicy::Failover,
            _ => NamePolicy::RoundRobin,
        },
        near: section.list("near").iter().map(region).collect(),
        answers: section.number("answers"),
        ttl: section.span("ttl"),
        fallback: if !last.is_empty() {
            NameFallback::LastResort(last.to_vec())
        } else if section.text("fallback") == Some("none") {
            NameFallback::None
        } else {
            NameFallback::All
        },
        srv: section.texts("srv").iter().map(|labels| plain(labels)).collect(),
        https: section.words("https").iter().map(|word| (*word).to_owned()).collect(),
        mask4: section.number("mask4"),
        mask6: section.number("mask6"),
        name,
    }
}

fn source(section: &Section) -> NameSource {
    if let Some(pool) = section.text("pool") {
        return NameSource::Pool(pool.to_owned());
    }
    if !section.texts("services").is_empty() {
        return NameSource::Services(section.texts("services").to_vec());
    }
    if let Some(cname) = section.text("cname") {
        return NameSource::Cname(plain(cname));
    }
    let addresses = section.list("addresses").iter().map(|one| NamedAddress {
        name: one.text("name").unwrap_or_default().to_owned(),
        addresses: one.addresses("address").to_vec(),
        weight: one.number("weight"),
    });
    NameSource::Addresses(addresses.collect())
}

fn region(section: &Section) -> Region {
    Region { client: section.prefixes("client").to_vec(), prefer: section.texts("prefer").to_vec() }
}
