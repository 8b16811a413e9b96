//! The entries of one service in the maps. Pure: indexes come from the layout, nothing is written.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use model::capacity::port_shares;
use model::config::{ForwardingMode, ServiceConfig, TunnelKind};
use model::snapshot::{PoolView, ServerState, ServerView};

use super::encoding::{byte_cost_ns, cost_ns, replication_flags, ticks, to_mapped_bytes};
use super::guards::{GuardPrefix, guard_entries};
use super::normalization::normalization_policy;
use super::pools::{self, ScheduledPool};
use super::rules::{depends_on_time, rule_values};
use super::schedule::WeightedMember;
use super::source::PlanSource;
use crate::abi;
use crate::layout::{ArrayRegion, CapacityError, MapLayout, ServerKey, ShareKey};

/// A server of a service with its value in the map.
#[derive(Clone, Copy, Debug)]
pub struct PlannedServer {
    pub key: ServerKey,
    pub server: abi::Server,
}

/// One service in the maps, current or planned.
#[derive(Clone, Debug, Default)]
pub struct ServicePlan {
    /// Index of the service.
    pub index: u32,
    pub service: abi::Service,
    /// Pools by their index.
    pub pools: BTreeMap<u32, ScheduledPool>,
    /// The region of each pool's entries.
    pub schedules: HashMap<u32, ArrayRegion>,
    /// Servers by their index.
    pub servers: BTreeMap<u32, PlannedServer>,
    /// Shares of each server.
    pub shares: BTreeMap<u32, Vec<ShareKey>>,
    /// The region of each server's list of shares.
    pub share_lists: HashMap<u32, ArrayRegion>,
    pub rules: Vec<abi::Rule>,
    pub rules_region: ArrayRegion,
    /// Guards by their network.
    pub guards: BTreeMap<GuardPrefix, abi::GuardValue>,
    /// Whether a rule depends on the time of day.
    pub depends_on_time: bool,
    /// Members of pools with levelled schedules, by pool.
    pub leveled_pools: BTreeMap<u32, Vec<WeightedMember>>,
}

/// Why a service cannot be forwarded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The maps are full.
    #[error(transparent)]
    Full(#[from] CapacityError),
    /// NAT has no address to come back to.
    #[error(
        "nat needs a return address of the servers' family (IPv{family}) and none is set: write `source` in pool `{pool}` or `nat-source` in `[packets]`"
    )]
    NoReturn {
        pool: String,
        /// The IP version, 4 or 6.
        family: u8,
    },
    /// A return address is not configured on this machine.
    #[error(
        "return address {0} is on no interface of this machine: add it (`ip address add {0} dev …`) or take it out of the configuration"
    )]
    NotOurs(IpAddr),
    /// Something else answers at a return address.
    #[error(
        "return address {address} is used by {user}: servers' answers would be mixed with its packets; give nat an address of its own"
    )]
    Busy { address: IpAddr, user: String },
    #[error(
        "its rules come to {found}, counting each network, and {} are the most",
        abi::RULES_LIMIT
    )]
    Rules { found: usize },
    /// One address has too many ranges.
    #[error("{address} has more than {} ranges of ports in all", abi::PORT_RANGES)]
    Ranges { address: IpAddr },
    /// The service takes every port of the source address of this host's own connections.
    #[error(
        "it takes every port of {0}, from which this machine's own connections to its servers come: their answers, and \
         whatever listens here, would be taken too; listen on ports of it, or on an address that is used for nothing else"
    )]
    Own(IpAddr),
    /// The plane does not run.
    #[error("{0}")]
    Plane(String),
}

/// Makes the part of a service with this index.
pub fn plan_service(
    index: u32,
    source: &PlanSource<'_>,
    layout: &mut MapLayout,
) -> Result<ServicePlan, Obstacle> {
    check_own_source(source)?;
    let mut part = ServicePlan { index, ..ServicePlan::default() };
    let mut pools = HashMap::new();
    for (ordinal, view) in source.pools.iter().enumerate() {
        let ordinal = u32::try_from(ordinal).unwrap_or(u32::MAX);
        let servers = plan_servers(&mut part, source, view, layout)?;
        let made = pools::plan_pools(index, ordinal, source, view, &servers, layout)?;
        let first = made.first().map_or(abi::NONE, |one| one.index);
        for one in made {
            part.leveled_pools.extend(one.members.map(|members| (one.index, members)));
            part.pools.insert(one.index, one.scheduled);
        }
        pools.insert(view.config.name.as_str(), first);
    }
    let all = rule_values(source.packets, &pools, source.facts.local_minute);
    if all.len() > abi::RULES_LIMIT as usize {
        return Err(Obstacle::Rules { found: all.len() });
    }
    part.rules = all;
    part.depends_on_time = depends_on_time(source.packets);
    part.guards = guard_entries(&source.packets.guard);
    part.service =
        service_value(source, &part, pools.get(source.view.config.pool.as_str()).copied());
    Ok(part)
}

/// A service must not capture replies to this machine's own connections, nor other listeners here.
fn check_own_source(source: &PlanSource<'_>) -> Result<(), Obstacle> {
    let every = source.packets.listen.iter().filter(|span| span.is_any_port());
    let own = |ip: &IpAddr| source.facts.source_addresses.values().any(|from| from == ip);
    match every.map(|span| span.address).find(own) {
        Some(ip) => Err(Obstacle::Own(ip)),
        None => Ok(()),
    }
}

/// Flags of a service.
fn service_flags(source: &PlanSource<'_>, part: &ServicePlan) -> u32 {
    let guard = &source.packets.guard;
    let nat = source.view.config.forward == ForwardingMode::Nat;
    let mut flags = 0;
    flags |= if part.guards.is_empty() { 0 } else { abi::SERVICE_GUARDS };
    flags |= if guard.allow.is_empty() { 0 } else { abi::SERVICE_ALLOW_ONLY | abi::SERVICE_GUARDS };
    let caps = &guard.source;
    let limited = caps.syn_rate.is_some() || caps.rst_rate.is_some() || caps.bandwidth.is_some();
    flags |= if limited { abi::SERVICE_SOURCES } else { 0 };
    flags |= if guard.ban.is_some() { abi::SERVICE_BANS } else { 0 };
    let local = |one: &PlannedServer| u32::from(one.server.flags) & abi::SERVER_LOCAL != 0;
    let local = nat && part.servers.values().any(local);
    flags |= if local { abi::SERVICE_LOCAL } else { 0 };
    // Packets for this host are not translated, and the host has its own SYN cookies.
    flags |= if guard.syn_cookies && nat && !local { abi::SERVICE_COOKIES } else { 0 };
    let by_link = |pool: &ScheduledPool| pool.pool.choose == abi::Choose::LinkSource as u32;
    flags |= if part.pools.values().any(by_link) { abi::SERVICE_LINK_SOURCE } else { 0 };
    if is_shared(source) {
        flags |= abi::SERVICE_SHARED;
        flags |=
            if source.facts.has_peer { replication_flags(source.packets.replicate) } else { 0 };
    }
    flags
}

/// Whether the service has an address shared with other machines. The gate guards addresses that the host proxies.
fn is_shared(source: &PlanSource<'_>) -> bool {
    let all = &source.facts.shared_addresses;
    let ours = |ip: IpAddr| all.contains(&ip) || ip.is_unspecified() && !all.is_empty();
    let forwarded = method_number(&source.view.config) != abi::Method::Host as u32;
    forwarded && source.packets.listen.iter().any(|span| ours(span.address))
}

fn service_value(source: &PlanSource<'_>, part: &ServicePlan, pool: Option<u32>) -> abi::Service {
    let config = &*source.view.config;
    let packets = source.packets;
    let guard = &packets.guard;
    let timers = &packets.timers;
    let direct = config.forward != ForwardingMode::Nat;
    let flags = service_flags(source, part);
    let cookies = flags & abi::SERVICE_COOKIES != 0;
    let caps = &guard.source;
    // With direct return, replies are not visible. A flood can then only be rate-limited, to the rate that keeps
    // half-open connections at the threshold.
    let slowed = guard.half_open.filter(|_| direct);
    let per_second = slowed.map(|most| {
        let seconds = u32::try_from(timers.embryonic.as_secs()).unwrap_or(u32::MAX).max(1);
        (most / seconds).max(1)
    });
    let second = |rate: Option<u32>| if rate.is_some() { 1_000_000_000 } else { 0 };
    let bytes = |rate: Option<u64>| if rate.is_some() { 250_000_000 } else { 0 };
    abi::Service {
        flags,
        method: method_number(config),
        pool: pool.unwrap_or(abi::NONE),
        rule_count: u32::try_from(part.rules.len()).unwrap_or(u32::MAX),
        embryonic: ticks(timers.embryonic),
        half_closed: ticks(timers.half_closed),
        closing: ticks(timers.fin),
        idle: ticks(timers.stale),
        datagram: ticks(timers.udp),
        mss: packets.mss.map_or(0, u32::from),
        connections: guard.all.connections.unwrap_or(0),
        source_connections: caps.connections.unwrap_or(0),
        half_open_alarm: guard.half_open.unwrap_or(0),
        half_open_limit: guard.half_open.filter(|_| direct || cookies).unwrap_or(0),
        source_mask4: 32,
        // A single IPv6 host usually has 2^64 addresses.
        source_mask6: 64,
        ban: guard.ban.map_or(0, ticks),
        normalize: normalization_policy(&packets.normalize),
        cost: [
            cost_ns(guard.all.syn_rate),
            cost_ns(guard.all.rst_rate),
            byte_cost_ns(guard.all.bandwidth),
            cost_ns(per_second),
        ],
        burst: [
            second(guard.all.syn_rate),
            second(guard.all.rst_rate),
            bytes(guard.all.bandwidth),
            second(per_second),
        ],
        source_cost: [
            cost_ns(caps.syn_rate),
            cost_ns(caps.rst_rate),
            byte_cost_ns(caps.bandwidth),
            0,
        ],
        source_burst: [second(caps.syn_rate), second(caps.rst_rate), bytes(caps.bandwidth), 0],
        ..abi::Service::default()
    }
}

fn method_number(config: &ServiceConfig) -> u32 {
    let method = match config.forward {
        ForwardingMode::Mac => abi::Method::Mac,
        ForwardingMode::Tunnel => abi::Method::Tunnel,
        ForwardingMode::Nat => abi::Method::Nat,
        ForwardingMode::Http | ForwardingMode::Tcp => abi::Method::Host,
    };
    method as u32
}

/// Enters the servers of a pool into the part; their indexes by position in the pool.
fn plan_servers(
    part: &mut ServicePlan,
    source: &PlanSource<'_>,
    pool: &PoolView,
    layout: &mut MapLayout,
) -> Result<Vec<Option<u32>>, Obstacle> {
    let mut indexes = Vec::with_capacity(pool.servers.len());
    let eligible = pools::eligible_servers(pool, source);
    for (place, view) in pool.servers.iter().enumerate() {
        let Some(at) = view.socket_address() else {
            indexes.push(None);
            continue;
        };
        let nat = source.view.config.forward == ForwardingMode::Nat;
        let port = if nat { port_shares::share_port(source.packets, at.port()) } else { 0 };
        let key = ServerKey { service: part.index, address: at.ip(), port };
        let index = layout.servers.allocate(&key)?;
        let mut server = server_value(view, eligible.contains(&place), &key, source);
        server.next_hop = layout.next_hops.allocate(&at.ip())?;
        if nat {
            part.shares.insert(index, server_shares(&key, source, pool)?);
        }
        part.servers.insert(index, PlannedServer { key, server });
        indexes.push(Some(index));
    }
    Ok(indexes)
}

/// `chosen`: new connections may choose it.
fn server_value(
    view: &ServerView,
    chosen: bool,
    key: &ServerKey,
    source: &PlanSource<'_>,
) -> abi::Server {
    let tunnel = &source.packets.tunnel;
    let own = match key.address {
        IpAddr::V4(_) => tunnel.source4.map(IpAddr::V4),
        IpAddr::V6(_) => tunnel.source6.map(IpAddr::V6),
    };
    let outer = own.or_else(|| source.facts.source_addresses.get(&key.address).copied());
    let mut flags = match view.state {
        ServerState::Disabled => abi::SERVER_RESETS,
        ServerState::Drain if view.keeps_sticky_clients => abi::SERVER_SERVES | abi::SERVER_KEEPS,
        ServerState::Drain => abi::SERVER_SERVES,
        // Sticky clients of this server choose another one too.
        ServerState::Down if !chosen => abi::SERVER_SERVES,
        ServerState::Up | ServerState::Down | ServerState::Unknown => {
            abi::SERVER_SERVES | abi::SERVER_TAKES
        }
    };
    if source.view.config.forward == ForwardingMode::Mac
        && source.facts.routed_servers.contains(&key.address)
    {
        // A router would receive the frame and could not use it.
        flags = 0;
    }
    if source.view.config.forward == ForwardingMode::Nat {
        flags |= abi::SERVER_TRANSLATES;
    }
    if source.facts.local_addresses.contains(&key.address) {
        flags |= abi::SERVER_LOCAL;
        // Without translation, packets for this host arrive at the service's own port.
        if key.port != 0 && source.packets.listen.iter().any(|span| span.first != key.port) {
            flags = abi::SERVER_LOCAL;
        }
    }
    let wrap = match tunnel.kind {
        TunnelKind::Ipip => abi::Wrap::Ipip,
        TunnelKind::Gre => abi::Wrap::Gre,
        TunnelKind::Gue => abi::Wrap::Gue,
    };
    abi::Server {
        addr: to_mapped_bytes(key.address),
        outer: outer.map(to_mapped_bytes).unwrap_or_default(),
        port: key.port,
        wrap_port: tunnel.port,
        flags: u8::try_from(flags).unwrap_or_default(),
        wrap: u8::try_from(wrap as u32).unwrap_or_default(),
        service: key.service,
        ..abi::Server::default()
    }
}

/// The shares of a server: one for each return address of its family.
fn server_shares(
    key: &ServerKey,
    source: &PlanSource<'_>,
    pool: &PoolView,
) -> Result<Vec<ShareKey>, Obstacle> {
    let ours = port_shares::response_addresses(&pool.config, source.plane, key.address.is_ipv4());
    if ours.is_empty() {
        let family = if key.address.is_ipv4() { 4 } else { 6 };
        return Err(Obstacle::NoReturn { pool: pool.config.name.clone(), family });
    }
    for back in ours.iter().flatten() {
        if !source.facts.local_addresses.contains(back)
            && !source.facts.shared_addresses.contains(back)
        {
            return Err(Obstacle::NotOurs(*back));
        }
        if let Some(user) = source.facts.used_addresses.get(back) {
            return Err(Obstacle::Busy { address: *back, user: user.clone() });
        }
    }
    let each = |back| {
        let numbers = port_shares::protocols_with_shares(source.packets.protocols);
        numbers.map(move |protocol| ShareKey {
            server: key.address,
            port: key.port,
            return_address: back,
            protocol,
        })
    };
    Ok(ours.into_iter().flat_map(each).collect())
}
