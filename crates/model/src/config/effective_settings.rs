//! Every effective setting of a file, before it is built: what `verify` checks and `build` reads.

use std::collections::HashMap;

use crate::config::pool_usage;
use crate::config::pool_usage::PoolUsage;
use crate::config::section::ConfigSection;

/// Every effective setting, with where it came from.
#[derive(Clone, Debug)]
pub struct EffectiveSettings {
    pub global: ConfigSection,
    pub packets: ConfigSection,
    pub services: Vec<ConfigSection>,
    /// Pools by name; their `servers` are resolved as well.
    pub pools: Vec<ConfigSection>,
    /// Groups of shared addresses by name.
    pub vrrp: Vec<ConfigSection>,
    /// Heartbeats by the names of the other members.
    pub heartbeats: Vec<ConfigSection>,
    pub captures: Vec<ConfigSection>,
    /// Bundles of links by name.
    pub links: Vec<ConfigSection>,
    /// Settings of Multipath TCP.
    pub mptcp: ConfigSection,
    /// What belongs to all uplinks.
    pub uplinks_common: ConfigSection,
    pub uplinks: Vec<ConfigSection>,
    pub name_server: ConfigSection,
    pub zones: Vec<ConfigSection>,
    /// Names that are answered for, by domain.
    pub dns_names: Vec<ConfigSection>,
    /// What a server of each pool is when it sets nothing itself, in the order of the pools.
    pub server_templates: Vec<ConfigSection>,
}

impl EffectiveSettings {
    /// Pools that services and names use, and by which methods.
    pub fn pool_usage(&self) -> HashMap<&str, PoolUsage> {
        pool_usage::collect(&self.services, &self.dns_names)
    }
}
