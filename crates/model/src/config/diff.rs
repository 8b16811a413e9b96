//! What differs between two configurations, by name, so that only that is touched. It touches nothing itself.

mod display;
mod reuse;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::dns::{NameConfig, NameServerConfig, ZoneConfig};
use super::heartbeat::HeartbeatConfig;
use super::objects::{Config, GlobalConfig, PoolConfig, ServerConfig, ServiceConfig};
use super::vrrp::VrrpConfig;
use super::{address::ServerAddress, capture::CaptureConfig};

/// From one configuration to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigDiff {
    /// Keys of `[global]` that changed.
    pub global: Vec<GlobalKey>,
    /// Keys of `[packets]` that changed.
    #[serde(default)]
    pub packets: Vec<PacketsKey>,
    /// Services.
    pub services: ObjectChanges<Vec<ServiceKey>>,
    /// Pools.
    pub pools: ObjectChanges<PoolChange>,
    /// Shared addresses.
    #[serde(default)]
    pub vrrp: ObjectChanges<Vec<VrrpKey>>,
    /// Heartbeats with other members.
    #[serde(default)]
    pub heartbeats: ObjectChanges<Vec<HeartbeatKey>>,
    /// Captures.
    pub captures: ObjectChanges<Vec<CaptureKey>>,
    /// Bundles of links.
    #[serde(default)]
    pub links: ObjectChanges<Vec<LinkKey>>,
    /// Keys of `[mptcp]` that changed.
    #[serde(default)]
    pub mptcp: Vec<MptcpKey>,
    /// Keys of `[uplinks]` that changed.
    #[serde(default)]
    pub outward: Vec<UplinksKey>,
    /// Uplinks.
    #[serde(default)]
    pub uplinks: ObjectChanges<Vec<UplinkKey>>,
    /// Keys of `[names]` that changed.
    #[serde(default)]
    pub name_server: Vec<NameServerKey>,
    /// Zones.
    #[serde(default)]
    pub zones: ObjectChanges<Vec<ZoneKey>>,
    /// Names that are answered for.
    #[serde(default)]
    pub names: ObjectChanges<Vec<NameKey>>,
}

/// Objects by name that came, went or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ObjectChanges<C> {
    /// Only in the new one.
    pub added: Vec<String>,
    /// Only in the old one.
    pub removed: Vec<String>,
    /// In both, and what about them.
    pub changed: BTreeMap<String, C>,
}

/// What changed about a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolChange {
    /// Its own keys.
    pub keys: Vec<PoolKey>,
    /// Its servers. One whose address changed is another server under the same name: removed and added.
    pub servers: ObjectChanges<Vec<ServerKey>>,
}

macro_rules! keys {
    ($(#[$doc:meta])* $name:ident of $object:ident besides ($($beside:ident),*) $(and $extra:ident = $extra_text:literal)?:
     $($variant:ident = $text:literal => $field:ident,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[allow(missing_docs, reason = "each variant is the key of its name")]
        pub enum $name { $($variant,)* $($extra,)? }

        impl $name {
            /// As in the file.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* $(Self::$extra => $extra_text,)? }
            }

            pub(super) fn between(old: &$object, new: &$object) -> Vec<Self> {
                // Names every field, so that a new one cannot be forgotten here.
                let $object { $($field: _,)* $($beside: _,)* } = old;
                let mut keys = Vec::new();
                $(if old.$field != new.$field { keys.push(Self::$variant); })*
                keys
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str(self.name())
            }
        }
    };
}

// Below the macro, which it uses.
mod network_keys;

pub use network_keys::{LinkKey, MptcpKey, PacketsKey, UplinkKey, UplinksKey};

keys! {
    /// A key of `[global]`.
    GlobalKey of GlobalConfig besides ():
    Workers = "workers" => workers,
    Connections = "connections" => connections,
    AccessLog = "access-log" => access_log,
    Control = "control" => control,
    Metrics = "metrics" => metrics,
    Telemetry = "telemetry" => telemetry,
    Drain = "drain" => drain,
    Sample = "sample" => sample,
    StickySecretFile = "sticky-secret-file" => sticky_secret_file,
    CertificateWarning = "certificate-warning" => certificate_warning,
    Hook = "hook" => hooks,
    History = "history" => history,
}
keys! {
    /// A key of a service.
    ServiceKey of ServiceConfig besides (name, reserved):
    Listen = "listen" => listen,
    Forward = "forward" => forward,
    Pool = "pool" => pool,
    Timeout = "timeout" => timeout,
    Limit = "limit" => limit,
    Socket = "socket" => socket,
    Trust = "trust" => trust,
    Forwarded = "forwarded" => forwarded,
    Packets = "packets" => packets,
    Tls = "tls" => tls,
    Rule = "rule" => rules,
    PathNormalization = "path-normalization" => path_normalization,
    PathCase = "path-case" => path_case,
    Sticky = "sticky" => sticky,
    Http2 = "http2" => http2,
    Http3 = "http3" => http3,
    AcceptProxy = "accept-proxy" => accept_proxy,
    Compress = "compress" => compress,
    Objective = "objective" => objective,
    Buffer = "buffer" => buffer,
    Priority = "priority" => priority,
}
keys! {
    /// A key of a pool; `Order` when the same servers stand in another order.
    PoolKey of PoolConfig besides (name, servers) and Order = "order":
    Balance = "balance" => balance,
    HashOn = "hash-on" => hash_on,
    Judge = "judge" => judge,
    SlowStart = "slow-start" => slow_start,
    SpillOver = "spill-over" => spill_over,
    Locality = "locality" => locality,
    Initial = "initial" => initial,
    AllDown = "all-down" => all_down,
    Discovery = "servers-from" => discovery,
    Probe = "probe" => probe,
    Agent = "agent" => agent,
    Timeout = "timeout" => timeout,
    Limit = "limit" => limit,
    Source = "source" => source,
    SourceClient = "source" => source_client,
    Socket = "socket" => socket,
    Retries = "retries" => retries,
    Retry = "retry" => retry,
    Eject = "eject" => eject,
    Breaker = "breaker" => breaker,
    Shed = "shed" => shed,
    Hedge = "hedge" => hedge,
    Tls = "tls" => tls,
    Http2 = "http2" => http2,
    SendProxy = "send-proxy" => send_proxy,
    LenientAnswers = "lenient-answers" => lenient_answers,
}
keys! {
    /// A key of a group of shared addresses.
    VrrpKey of VrrpConfig besides (name):
    Interface = "interface" => interface,
    Id = "id" => id,
    Addresses = "addresses" => addresses,
    Also = "also" => also,
    Version = "version" => version,
    Priority = "priority" => priority,
    Advertise = "advertise" => advertise,
    Preempt = "preempt" => preempt,
    PreemptDelay = "preempt-delay" => preempt_delay,
    Peers = "peers" => peers,
    Allow = "allow" => allow,
    Source = "source" => source,
    LinkAddress = "link-address" => link_address,
    DeadMan = "dead-man" => dead_man,
    SelfCheck = "self-check" => self_check,
    AnnounceEvery = "announce-every" => announce_every,
}
keys! {
    /// A key of a heartbeat.
    HeartbeatKey of HeartbeatConfig besides (peer):
    Name = "name" => name,
    Secret = "secret" => secret,
    Paths = "paths" => paths,
    Port = "port" => port,
    Every = "every" => every,
    Timeout = "timeout" => timeout,
    Reach = "reach" => reach,
    Witness = "witness" => witness,
}
keys! {
    /// A key of a capture.
    CaptureKey of CaptureConfig besides (name):
    Service = "service" => service,
    Latency = "latency" => latency,
    Cause = "cause" => cause,
    From = "from" => from,
    Errors = "errors" => errors,
    Payload = "payload" => payload,
    Size = "size" => size,
    Time = "time" => time,
    Pause = "pause" => pause,
    Keep = "keep" => keep,
}
keys! {
    /// A key of `[names]`.
    NameServerKey of NameServerConfig besides ():
    Listen = "listen" => listen,
    Threads = "threads" => threads,
    UdpSize = "udp-size" => udp_size,
    Rate = "rate" => rate,
    Slip = "slip" => slip,
    ClientSubnet = "client-subnet" => client_subnet,
    Cookies = "cookies" => cookies,
    Connections = "connections" => connections,
    Idle = "idle" => idle,
}
keys! {
    /// A key of a zone.
    ZoneKey of ZoneConfig besides (name):
    Nameservers = "nameservers" => nameservers,
    Contact = "contact" => contact,
    Ttl = "ttl" => ttl,
    NegativeTtl = "negative-ttl" => negative_ttl,
    Text = "text" => text,
}
keys! {
    /// A key of a name.
    NameKey of NameConfig besides (name):
    Zone = "zone" => zone,
    Source = "source" => source,
    Policy = "policy" => policy,
    Near = "near" => near,
    Answers = "answers" => answers,
    Ttl = "ttl" => ttl,
    Fallback = "fallback" => fallback,
    Srv = "srv" => srv,
    Https = "https" => https,
    Mask4 = "mask4" => mask4,
    Mask6 = "mask6" => mask6,
}
keys! {
    /// A key of a server.
    ServerKey of ServerConfig besides (name, address):
    Weight = "weight" => weight,
    Priority = "priority" => priority,
    Locality = "locality" => locality,
    State = "state" => admin,
    Schedule = "schedule" => schedule,
    Probe = "probe" => probe,
    Connections = "connections" => connections,
}

/// What has to be done to get from `old` to `new`; empty exactly when they are equal.
pub fn diff(old: &Config, new: &Config) -> ConfigDiff {
    let mut services = diff_objects(&old.services, &new.services, ServiceKey::between);
    // What follows from other services is no change of this one.
    services.changed.retain(|_, keys| !keys.is_empty());
    ConfigDiff {
        global: GlobalKey::between(&old.global, &new.global),
        packets: PacketsKey::between(&old.packets, &new.packets),
        services,
        pools: diff_objects(&old.pools, &new.pools, diff_pool),
        vrrp: diff_objects(&old.vrrp, &new.vrrp, VrrpKey::between),
        heartbeats: diff_objects(&old.heartbeats, &new.heartbeats, HeartbeatKey::between),
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

impl<C> ObjectChanges<C> {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl<C> Default for ObjectChanges<C> {
    fn default() -> Self {
        ObjectChanges { added: Vec::new(), removed: Vec::new(), changed: BTreeMap::new() }
    }
}

fn diff_objects<T: PartialEq, C>(
    old: &BTreeMap<String, Arc<T>>,
    new: &BTreeMap<String, Arc<T>>,
    change: impl Fn(&T, &T) -> C,
) -> ObjectChanges<C> {
    let both = old.iter().filter_map(|(name, old)| Some((name, old, new.get(name)?)));
    let differ = both.filter(|(_, old, new)| !Arc::ptr_eq(old, new) && old != new);
    ObjectChanges {
        added: new.keys().filter(|name| !old.contains_key(*name)).cloned().collect(),
        removed: old.keys().filter(|name| !new.contains_key(*name)).cloned().collect(),
        changed: differ.map(|(name, old, new)| (name.clone(), change(old, new))).collect(),
    }
}

type ServerIdentity<'c> = (&'c str, &'c ServerAddress);

fn index_servers(pool: &PoolConfig) -> HashMap<ServerIdentity<'_>, &Arc<ServerConfig>> {
    pool.servers.iter().map(|server| ((server.name.as_str(), &server.address), server)).collect()
}

fn diff_pool(old: &PoolConfig, new: &PoolConfig) -> PoolChange {
    let before = index_servers(old);
    let after = index_servers(new);
    let named = |servers: &[Arc<ServerConfig>],
                 others: &HashMap<ServerIdentity<'_>, &Arc<ServerConfig>>| {
        let alone = servers.iter().filter(|s| !others.contains_key(&(s.name.as_str(), &s.address)));
        alone.map(|server| server.name.clone()).collect::<Vec<_>>()
    };
    let kept = |pool: &'_ PoolConfig, others: &HashMap<ServerIdentity<'_>, &Arc<ServerConfig>>| {
        let kept =
            pool.servers.iter().filter(|s| others.contains_key(&(s.name.as_str(), &s.address)));
        kept.map(|server| server.name.clone()).collect::<Vec<_>>()
    };
    let both =
        new.servers.iter().filter_map(|s| Some((*before.get(&(s.name.as_str(), &s.address))?, s)));
    let changed = both.filter(|(old, new)| old != new);
    let mut keys = PoolKey::between(old, new);
    if kept(old, &after) != kept(new, &before) {
        keys.push(PoolKey::Order);
    }
    PoolChange {
        keys,
        servers: ObjectChanges {
            added: named(&new.servers, &before),
            removed: named(&old.servers, &after),
            changed: changed
                .map(|(old, new)| (new.name.clone(), ServerKey::between(old, new)))
                .collect(),
        },
    }
}
