//! The checked configuration: all tables with their defaults.

use crate::config::auth::AuthConfig;
use crate::config::capture::CaptureConfig;
use crate::config::dns::{NameConfig, NameServerConfig, ZoneConfig};
use crate::config::global::GlobalConfig;
use crate::config::heartbeat::HeartbeatConfig;
use crate::config::link::LinkBundle;
use crate::config::mptcp::MptcpConfig;
use crate::config::packets::PacketPlaneConfig;
use crate::config::pool::PoolConfig;
use crate::config::service::ServiceConfig;
use crate::config::uplink::{UplinkConfig, UplinksConfig};
use crate::config::vrrp::VrrpConfig;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The whole configuration. Objects are shared, so that an unchanged one is the same allocation after a reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Settings of the process.
    pub global: GlobalConfig,
    /// Settings of the packet plane.
    pub packets: PacketPlaneConfig,
    pub services: BTreeMap<String, Arc<ServiceConfig>>,
    /// Pools by name, including every pool that a service names.
    pub pools: BTreeMap<String, Arc<PoolConfig>>,
    /// VRRP groups by name.
    pub vrrp: BTreeMap<String, Arc<VrrpConfig>>,
    /// Heartbeats by the names of the other members.
    pub heartbeats: BTreeMap<String, Arc<HeartbeatConfig>>,
    #[serde(rename = "auth")]
    pub auths: BTreeMap<String, Arc<AuthConfig>>,
    /// Capture rules by name.
    pub captures: BTreeMap<String, Arc<CaptureConfig>>,
    /// Link bundles by name.
    pub links: BTreeMap<String, Arc<LinkBundle>>,
    /// Settings of Multipath TCP.
    pub mptcp: MptcpConfig,
    /// Settings common to all uplinks.
    pub outward: UplinksConfig,
    pub uplinks: BTreeMap<String, Arc<UplinkConfig>>,
    pub name_server: NameServerConfig,
    /// Zones by domain.
    pub zones: BTreeMap<String, Arc<ZoneConfig>>,
    /// DNS names. The configuration contains the zone, pool and services of each.
    pub names: BTreeMap<String, Arc<NameConfig>>,
}
