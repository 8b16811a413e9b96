//! Fills the view from the open plane. It changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use l4::layout::IndexedShare;
use model::snapshot::{PoolView, ServerView, ServiceView};

use super::open_plane::OpenPlane;
use super::view::{
    NextHopView, PacketPlaneView, PlaneCounterSample, ReturnPorts, ServerFlows, ServiceFlows,
};
use crate::state::StateSnapshot;

/// Rates are measured over at least this time.
const STEP: Duration = Duration::from_secs(2);

/// Stores a sample. The previous one stays until it is old enough to compute rates from.
pub(super) fn store_sample(view: &mut PacketPlaneView, sample: PlaneCounterSample) {
    let old =
        view.previous.as_ref().is_none_or(|before| sample.at.duration_since(before.at) >= 2 * STEP);
    if old {
        view.previous = view.current.clone().or_else(|| Some(sample.clone()));
    }
    view.first.get_or_insert_with(|| sample.clone());
    view.current = Some(sample);
}

/// Connections, next hops and obstacles.
pub(super) fn fill_view(view: &mut PacketPlaneView, site: &OpenPlane, snapshot: &StateSnapshot) {
    view.obstacles = site.obstacles.clone();
    view.fragments = site.fragment_totals();
    view.hops = site
        .hops
        .servers()
        .filter_map(|ip| {
            let state = site.hops.state(ip)?;
            let reason = match &state {
                l4::next_hops::NextHopState::NoInterface(why) => Some(why.clone()),
                _ => None,
            };
            Some((ip, NextHopView { state: state.name().to_owned(), reason }))
        })
        .collect();
    view.flows.clear();
    view.services.clear();
    view.loads.clear();
    let mut owned: HashMap<u32, BTreeSet<u32>> = HashMap::new();
    for (server, owner) in site.planner.server_services() {
        owned.entry(owner).or_default().insert(server);
    }
    let pools = snapshot.snapshot.pools.values();
    let pools: HashMap<&str, &PoolView> =
        pools.map(|pool| (pool.config.name.as_str(), &**pool)).collect();
    for service in snapshot.snapshot.services.values() {
        let name = &service.config.name;
        let (Some(_), Some(index)) = (&service.config.packets, site.planner.service_index(name))
        else {
            continue;
        };
        let flows = flows(view, site, &pools, service, owned.remove(&index).unwrap_or_default());
        view.flows.insert(name.clone(), flows);
        view.services.insert(name.clone(), index);
    }
}

/// Indexes of draining servers with affinity.
pub(super) fn draining_servers(site: &OpenPlane, snapshot: &StateSnapshot) -> BTreeSet<u32> {
    let servers = || snapshot.snapshot.pools.values().flat_map(|pool| &pool.servers);
    let addresses: Vec<_> = servers()
        .filter(|view| view.keeps_sticky_clients)
        .filter_map(ServerView::socket_address)
        .collect();
    let packets = snapshot.snapshot.services.values().filter(|it| it.config.packets.is_some());
    let of = |service: &ServiceView| {
        let name = service.config.name.clone();
        addresses
            .iter()
            .filter_map(move |at| site.planner.server_index(&name, *at))
            .collect::<Vec<_>>()
    };
    packets.flat_map(|service| of(service)).collect()
}

/// Connections of a service; the load of each server is added to the view's loads.
fn flows(
    view: &mut PacketPlaneView,
    site: &OpenPlane,
    pools: &HashMap<&str, &PoolView>,
    service: &ServiceView,
    indexes: BTreeSet<u32>,
) -> ServiceFlows {
    let of = |counts: &HashMap<u32, u32>| {
        indexes.iter().filter_map(|server| counts.get(server)).sum::<u32>()
    };
    let flows = of(&site.connection_counts.servers);
    let half_open = of(&site.connection_counts.half_open);
    let mut servers = Vec::new();
    let mut ports = Vec::new();
    let rules = service.config.packets.iter().flat_map(|packets| &packets.rules);
    let names: BTreeSet<&str> =
        rules.map(|rule| rule.pool.as_str()).chain([service.config.pool.as_str()]).collect();
    for pool in names.iter().filter_map(|name| pools.get(name)) {
        for server in &pool.servers {
            let index = server
                .socket_address()
                .and_then(|at| site.planner.server_index(&service.config.name, at));
            let Some(index) = index else { continue };
            let flows = site.connection_counts.servers.get(&index).copied().unwrap_or(0);
            let begun = connections_begun(view, index);
            let load = view.loads.entry(server.id).or_default();
            load.flows = load.flows.saturating_add(flows);
            load.opened = load.opened.saturating_add(begun);
            if let Some(stuck) = site.sticky_clients.get(&index) {
                load.sticky_clients = Some(load.sticky_clients.unwrap_or(0).saturating_add(*stuck));
            }
            ports.extend(return_ports(
                site,
                service,
                index,
                &pool.config.name,
                &server.config.name,
            ));
            let pool = pool.config.name.clone();
            let name = server.config.name.clone();
            servers.push(ServerFlows { pool, name, index, flows });
        }
    }
    servers.sort();
    ServiceFlows { flows, half_open, servers, ports, indexes, ..ServiceFlows::default() }
}

/// Ports of the return addresses of a server, of each protocol; none of a server that is not translated for.
fn return_ports(
    site: &OpenPlane,
    service: &ServiceView,
    index: u32,
    pool: &str,
    name: &str,
) -> Vec<ReturnPorts> {
    let mut by_protocol: BTreeMap<u8, ReturnPorts> = BTreeMap::new();
    for IndexedShare { index: share, key, region } in
        site.planner.shares_of(&service.config.name, index)
    {
        let ports = by_protocol.entry(key.protocol).or_default();
        ports.pool = pool.to_owned();
        ports.name = name.to_owned();
        ports.protocol = key.protocol;
        ports.keeps_client_address = key.return_address.is_none();
        ports.shares.push(share);
        ports.used += site.connection_counts.shares.get(&share).copied().map_or(0, u64::from);
        ports.total += u64::from(region.length);
    }
    by_protocol.into_values().collect()
}

/// Connections that chose the server of an index since this process began.
fn connections_begun(view: &PacketPlaneView, index: u32) -> u64 {
    let at = |sample: &Option<PlaneCounterSample>| {
        let counts = sample.as_ref().and_then(|sample| sample.counts.servers.get(&index));
        counts.map_or(0, |counts| counts.flows)
    };
    let now = at(&view.current);
    let first = at(&view.first);
    // An index that was given to another server counts anew.
    now.checked_sub(first).unwrap_or(now)
}
