//! All effective settings of a file before construction: `verify` checks them and `build` reads them.

use std::collections::HashMap;

use crate::config::pool_usage;
use crate::config::pool_usage::PoolUsage;
use crate::config::section::ConfigSection;

/// All effective settings with their origins.
#[derive(Clone, Debug)]
pub struct EffectiveSettings {
    pub global: ConfigSection,
    pub packets: ConfigSection,
    pub services: Vec<ConfigSection>,
    /// Pools by name, with resolved `servers`.
    pub pools: Vec<ConfigSection>,
    /// VRRP groups by name.
    pub vrrp: Vec<ConfigSection>,
    /// Heartbeats by the names of the other members.
    pub heartbeats: Vec<ConfigSection>,
    pub auths: Vec<ConfigSection>,
    pub captures: Vec<ConfigSection>,
    /// Link bundles by name.
    pub links: Vec<ConfigSection>,
    pub mptcp: ConfigSection,
    /// Settings common to all uplinks.
    pub uplinks_common: ConfigSection,
    pub uplinks: Vec<ConfigSection>,
    pub name_server: ConfigSection,
    pub zones: Vec<ConfigSection>,
    /// DNS names by domain.
    pub dns_names: Vec<ConfigSection>,
    /// The defaults for a server of each pool, in the order of the pools.
    pub server_templates: Vec<ConfigSection>,
}

impl EffectiveSettings {
    /// The forwarding methods that use each pool.
    pub fn pool_usage(&self) -> HashMap<&str, PoolUsage> {
        pool_usage::collect(&self.services, &self.dns_names, &self.auths)
    }
}
