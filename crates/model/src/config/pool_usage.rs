//! Which forwarding methods use each pool. It verifies nothing.

use std::collections::HashMap;

use crate::config::section::ConfigSection;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUsage {
    /// Used by a service with `forward = "http"`, or asked who may come in.
    pub http: bool,
    /// Used by a service with `forward = "tcp"`.
    pub tcp: bool,
    /// Used by a service that forwards packets.
    pub packets: bool,
    /// Used by a DNS name.
    pub names: bool,
}

/// The pools that services, names and authentication use, and by which methods.
pub fn collect<'a>(
    services: &'a [ConfigSection],
    hosts: &'a [ConfigSection],
    auths: &'a [ConfigSection],
) -> HashMap<&'a str, PoolUsage> {
    let mut uses: HashMap<&str, PoolUsage> = HashMap::new();
    for service in services {
        let forward = service.text("forward");
        let rules = service.list("rule").iter().flat_map(rule_pools);
        for pool in service.text("pool").into_iter().chain(rules) {
            let entry = uses.entry(pool).or_default();
            entry.http |= forward == Some("http");
            entry.tcp |= forward == Some("tcp");
            entry.packets |= matches!(forward, Some("mac" | "nat" | "tunnel"));
        }
    }
    for pool in auths.iter().filter_map(|object| object.text("pool")) {
        uses.entry(pool).or_default().http = true;
    }
    for pool in hosts.iter().filter_map(|host| host.text("pool")) {
        uses.entry(pool).or_default().names = true;
    }
    uses
}

/// Pools that a rule uses.
fn rule_pools(rule: &ConfigSection) -> impl Iterator<Item = &str> {
    let parts = rule.list("split").iter().chain(rule.table("mirror"));
    rule.text("pool").into_iter().chain(parts.filter_map(|part| part.text("pool")))
}
