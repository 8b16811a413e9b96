//! The whole configuration: every table together, checked and with its defaults.

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

/// A whole configuration. Objects are shared so that an unchanged one is the same allocation after a reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// What belongs to the process.
    pub global: GlobalConfig,
    /// The packet plane.
    pub packets: PacketPlaneConfig,
    /// Services by name.
    pub services: BTreeMap<String, Arc<ServiceConfig>>,
    /// Pools by name. Every pool that a service names is here.
    pub pools: BTreeMap<String, Arc<PoolConfig>>,
    /// Shared addresses by the names of their groups.
    pub vrrp: BTreeMap<String, Arc<VrrpConfig>>,
    /// Heartbeats by the names of the other members.
    pub heartbeats: BTreeMap<String, Arc<HeartbeatConfig>>,
    /// When packets are captured, by name.
    pub captures: BTreeMap<String, Arc<CaptureConfig>>,
    /// Bundles of links by name.
    pub links: BTreeMap<String, Arc<LinkBundle>>,
    /// Settings of Multipath TCP.
    pub mptcp: MptcpConfig,
    /// What belongs to all uplinks.
    pub outward: UplinksConfig,
    /// Uplinks by name.
    pub uplinks: BTreeMap<String, Arc<UplinkConfig>>,
    /// The name server.
    pub name_server: NameServerConfig,
    /// Zones by domain.
    pub zones: BTreeMap<String, Arc<ZoneConfig>>,
    /// Names that are answered for. The zone, pool and services of each are here.
    pub names: BTreeMap<String, Arc<NameConfig>>,
}
