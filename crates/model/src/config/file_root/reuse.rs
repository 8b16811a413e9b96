//! Shares unchanged objects between a configuration and the previous one.

use std::sync::Arc;

use super::types::Config;
use crate::config::pool::{PoolConfig, index_servers};

impl Config {
    /// Returns the same configuration, in which every object that equals one of `old` is that object of `old`.
    pub fn reuse_unchanged(self, old: &Config) -> Config {
        let services = self.services.into_iter().map(|(name, new)| match old.services.get(&name) {
            Some(old) if *old == new => (name, Arc::clone(old)),
            _ => (name, new),
        });
        let pools = self.pools.into_iter().map(|(name, new)| match old.pools.get(&name) {
            Some(old) if *old == new => (name, Arc::clone(old)),
            Some(old) => (name, Arc::new(reuse_servers(&new, old))),
            None => (name, new),
        });
        Config {
            global: self.global,
            packets: self.packets,
            services: services.collect(),
            pools: pools.collect(),
            vrrp: self.vrrp,
            heartbeats: self.heartbeats,
            auths: self.auths,
            captures: self.captures,
            links: self.links,
            mptcp: self.mptcp,
            outward: self.outward,
            uplinks: self.uplinks,
            name_server: self.name_server,
            zones: self.zones,
            names: self.names,
        }
    }
}

fn reuse_servers(new: &PoolConfig, old: &PoolConfig) -> PoolConfig {
    let before = index_servers(old);
    let servers = new.servers.iter().map(|server| {
        match before.get(&(server.name.as_str(), &server.address)) {
            Some(old) if *old == server => Arc::clone(old),
            _ => Arc::clone(server),
        }
    });
    PoolConfig { servers: servers.collect(), ..new.clone() }
}
