//! Compares two configurations by object name, so that a reload changes only what differs. It applies nothing itself.

mod display;

use serde::{Deserialize, Serialize};

use super::types::Config;
use crate::config::auth::AuthKey;
use crate::config::capture::CaptureKey;
use crate::config::dns::{NameKey, NameServerKey, ZoneKey};
use crate::config::global::GlobalKey;
use crate::config::heartbeat::HeartbeatKey;
use crate::config::link::LinkKey;
use crate::config::mptcp::MptcpKey;
use crate::config::object_changes::{ObjectChanges, diff_objects};
use crate::config::packets::PacketsKey;
use crate::config::pool::{PoolChange, diff_pool};
use crate::config::service::ServiceKey;
use crate::config::uplink::{UplinkKey, UplinksKey};
use crate::config::vrrp::VrrpKey;

/// The differences between two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigDiff {
    pub global: Vec<GlobalKey>,
    #[serde(default)]
    pub packets: Vec<PacketsKey>,
    pub services: ObjectChanges<Vec<ServiceKey>>,
    pub pools: ObjectChanges<PoolChange>,
    /// VRRP groups.
    #[serde(default)]
    pub vrrp: ObjectChanges<Vec<VrrpKey>>,
    /// Heartbeats with other members.
    #[serde(default)]
    pub heartbeats: ObjectChanges<Vec<HeartbeatKey>>,
    #[serde(default)]
    pub auths: ObjectChanges<Vec<AuthKey>>,
    pub captures: ObjectChanges<Vec<CaptureKey>>,
    /// Link bundles.
    #[serde(default)]
    pub links: ObjectChanges<Vec<LinkKey>>,
    #[serde(default)]
    pub mptcp: Vec<MptcpKey>,
    #[serde(default)]
    pub outward: Vec<UplinksKey>,
    #[serde(default)]
    pub uplinks: ObjectChanges<Vec<UplinkKey>>,
    #[serde(default)]
    pub name_server: Vec<NameServerKey>,
    #[serde(default)]
    pub zones: ObjectChanges<Vec<ZoneKey>>,
    /// DNS names.
    #[serde(default)]
    pub names: ObjectChanges<Vec<NameKey>>,
}

/// The differences from `old` to `new`; empty exactly when they are equal.
pub fn diff(old: &Config, new: &Config) -> ConfigDiff {
    let mut services = diff_objects(&old.services, &new.services, ServiceKey::between);
    // A difference that only follows from other services is no change of this one.
    services.changed.retain(|_, keys| !keys.is_empty());
    ConfigDiff {
        global: GlobalKey::between(&old.global, &new.global),
        packets: PacketsKey::between(&old.packets, &new.packets),
        services,
        pools: diff_objects(&old.pools, &new.pools, diff_pool),
        vrrp: diff_objects(&old.vrrp, &new.vrrp, VrrpKey::between),
        heartbeats: diff_objects(&old.heartbeats, &new.heartbeats, HeartbeatKey::between),
        auths: diff_objects(&old.auths, &new.auths, AuthKey::between),
        captures: diff_objects(&old.captures, &new.captures, CaptureKey::between),
        links: diff_objects(&old.links, &new.links, LinkKey::between),
        mptcp: MptcpKey::between(&old.mptcp, &new.mptcp),
        outward: UplinksKey::between(&old.outward, &new.outward),
        uplinks: diff_objects(&old.uplinks, &new.uplinks, UplinkKey::between),
        name_server: NameServerKey::between(&old.name_server, &new.name_server),
        zones: diff_objects(&old.zones, &new.zones, ZoneKey::between),
        names: diff_objects(&old.names, &new.names, NameKey::between),
    }
}

impl ConfigDiff {
    pub fn is_empty(&self) -> bool {
        self.global.is_empty()
            && self.packets.is_empty()
            && self.services.is_empty()
            && self.pools.is_empty()
            && self.vrrp.is_empty()
            && self.heartbeats.is_empty()
            && self.auths.is_empty()
            && self.captures.is_empty()
            && self.links.is_empty()
            && self.mptcp.is_empty()
            && self.outward.is_empty()
            && self.uplinks.is_empty()
            && self.name_server.is_empty()
            && self.zones.is_empty()
            && self.names.is_empty()
    }
}
