//! The change from one snapshot to the next: the changed services, and its consequences for all of them together. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use model::config::PacketPlaneConfig;
use model::snapshot::{PoolView, ServiceView, WorkerSnapshot};

use super::encoding;
use super::facts::HostFacts;
use super::listeners::{self, RefusedListener, VipListener, VipPlan};
use super::service_plan::{Obstacle, ServicePlan, plan_service};
use super::source::PlanSource;
use super::state::{ActiveService, FreedEntries, MapPlanner, PlannedChange};
use crate::abi;
use crate::map_write::{MapWrite, sort_writes};

/// The name of the service for the ports that this host proxies.
const HOST: &str = "\u{0}host";

impl MapPlanner {
    /// The writes from the current maps to `snapshot`.
    pub fn plan_change(
        &mut self,
        snapshot: &WorkerSnapshot,
        plane: &PacketPlaneConfig,
        facts: &HostFacts,
    ) -> PlannedChange {
        // The minute matters to services with hours alone.
        let still = |a: &HostFacts, b: &HostFacts| {
            a.local_addresses == b.local_addresses
                && a.shared_addresses == b.shared_addresses
                && a.has_peer == b.has_peer
                && a.used_addresses == b.used_addresses
                && a.source_addresses == b.source_addresses
                && a.routed_servers == b.routed_servers
                && a.unavailable == b.unavailable
        };
        let anew = !still(&self.facts, facts) || self.plane.as_ref() != Some(plane);
        self.facts = facts.clone();
        if anew {
            self.plane = Some(plane.clone());
        }
        self.release_freed();
        let mut change = PlannedChange::default();
        let mut wanted: BTreeSet<&str> = BTreeSet::new();
        let mut touched = false;
        let views = snapshot.services.values().filter(|view| view.config.packets.is_some());
        // Sorted by name, so that the allocation of scarce entries is deterministic.
        let views: BTreeMap<&str, _> =
            views.map(|view| (view.config.name.as_str(), view)).collect();
        for view in views.into_values() {
            let name = view.config.name.as_str();
            wanted.insert(name);
            let pools = service_pools(snapshot, view);
            if let Some(old) = self.active.get(name)
                && !anew
                && is_unchanged(old, view, &pools, facts.local_minute)
            {
                continue;
            }
            touched = true;
            match self.build_service(view, &pools, plane, facts) {
                Ok(part) => self.install_service(view, pools, part, &mut change),
                Err(obstacle) => {
                    change.obstacles.insert(name.to_owned(), obstacle.to_string());
                    self.remove_service(name, &mut change);
                    self.abandon_service(name);
                }
            }
        }
        let gone: Vec<String> =
            self.active.keys().filter(|name| !wanted.contains(name.as_str())).cloned().collect();
        for name in gone {
            touched = true;
            self.remove_service(&name, &mut change);
        }
        self.release_shares(&mut change);
        self.retire_services(&wanted);
        self.forget_recovered();
        if touched || self.flags.is_none() {
            self.update_listeners(snapshot, &mut change);
        }
        sort_writes(&mut change.writes);
        change
    }

    fn build_service(
        &mut self,
        view: &ServiceView,
        pools: &[Arc<PoolView>],
        plane: &PacketPlaneConfig,
        facts: &HostFacts,
    ) -> Result<ServicePlan, Obstacle> {
        if let Some(why) = &facts.unavailable {
            return Err(Obstacle::Plane(why.clone()));
        }
        let Some(packets) = &view.config.packets else {
            return Err(Obstacle::Plane("it forwards no packets".to_owned()));
        };
        self.claim_recovered(&view.config.name, packets);
        let index = self.layout.services.allocate(&view.config.name)?;
        let source = PlanSource { view, packets, pools, plane, facts, flows: &self.flows };
        plan_service(index, &source, &mut self.layout)
    }

    fn release_freed(&mut self) {
        let FreedEntries { schedule, lists, rules, records, pools, shares } =
            std::mem::take(&mut self.freed);
        pools.into_iter().for_each(|index| self.layout.pools.free_detached(index));
        shares.into_iter().for_each(|index| self.layout.shares.free_detached(index));
        records.into_iter().for_each(|region| self.layout.free_records.release(region));
        schedule.into_iter().for_each(|region| self.layout.schedule.release(region));
        lists.into_iter().for_each(|region| self.layout.share_list.release(region));
        rules.into_iter().for_each(|region| self.layout.rules.release(region));
    }

    /// The listened addresses of all services, and the global flags.
    fn update_listeners(&mut self, snapshot: &WorkerSnapshot, change: &mut PlannedChange) {
        let mut all: Vec<VipListener> = self.active.values().filter_map(listener_of).collect();
        let mut plan = listeners::vip_entries(&all);
        if listeners::wildcard_flags(&plan.vips) != 0 {
            self.add_proxy_listeners(snapshot, &mut all, change);
            plan = listeners::vip_entries(&all);
        }
        let VipPlan { vips, refused } = plan;
        for RefusedListener { service, obstacle } in refused {
            change.obstacles.insert(service, obstacle.to_string());
        }
        for (key, vip) in &vips {
            if self.vips.get(key) != Some(vip) {
                change.writes.push(match listeners::split_key(*key) {
                    Ok(v4) => MapWrite::Vip4(v4, *vip),
                    Err(v6) => MapWrite::Vip6(v6, *vip),
                });
            }
        }
        for key in self.vips.keys().filter(|key| !vips.contains_key(key)) {
            change.writes.push(match listeners::split_key(*key) {
                Ok(v4) => MapWrite::DropVip4(v4),
                Err(v6) => MapWrite::DropVip6(v6),
            });
        }
        let flags = listeners::wildcard_flags(&vips) | self.share_flags();
        // The flag is written before a port of either kind of share is used.
        if flags & abi::CONFIG_PORT_PAIRS != 0 {
            change
                .writes
                .push(MapWrite::Expect(self.flags.unwrap_or(flags) | abi::CONFIG_PORT_PAIRS));
        }
        self.vips = vips;
        self.update_addresses(change);
        if self.flags != Some(flags) {
            self.flags = Some(flags);
            change.writes.push(MapWrite::Flags(flags));
        }
    }

    /// Addresses whose fragments are tracked: addresses of services, and return addresses. If a wildcard service
    /// exists, the host's addresses too.
    pub(super) fn update_addresses(&mut self, change: &mut PlannedChange) {
        let mut now: BTreeMap<IpAddr, u32> = BTreeMap::new();
        for key in self.vips.keys().filter(|key| !key.address.is_unspecified()) {
            *now.entry(key.address).or_default() |= abi::ADDRESS_SERVICE;
        }
        for back in self.share_uses.return_addresses() {
            *now.entry(back).or_default() |= abi::ADDRESS_RETURN;
        }
        if self.vips.keys().any(|key| key.address.is_unspecified()) {
            for own in self.facts.local_addresses.iter() {
                *now.entry(*own).or_default() |= abi::ADDRESS_OWN;
            }
        }
        let form = |ip: &IpAddr| abi::Address { addr: encoding::to_mapped_bytes(*ip) };
        for (ip, kinds) in &now {
            if self.addresses.get(ip) != Some(kinds) {
                change.writes.push(MapWrite::Address(form(ip), *kinds));
            }
        }
        let gone = self.addresses.keys().filter(|ip| !now.contains_key(ip));
        change.writes.extend(gone.map(|ip| MapWrite::DropAddress(form(ip))));
        self.addresses = now;
    }

    /// Where a wildcard would take a proxy's packets too, the proxy's own addresses are entered as the host's.
    fn add_proxy_listeners(
        &mut self,
        snapshot: &WorkerSnapshot,
        all: &mut Vec<VipListener>,
        change: &mut PlannedChange,
    ) {
        use model::config::{ListenRange, TransportProtocols};
        let sockets = snapshot.services.values().flat_map(|view| &view.config.listen);
        let spans: Vec<ListenRange> =
            sockets.map(|at| ListenRange::single_port(at.ip(), at.port())).collect();
        let Ok(service) = self.layout.services.allocate(&HOST.to_owned()) else { return };
        let method = abi::Method::Host as u32;
        let host = abi::Service { method, pool: abi::NONE, ..abi::Service::default() };
        change.writes.push(MapWrite::Service(service, host));
        let protocols = TransportProtocols { tcp: true, udp: false };
        all.push(VipListener { service, name: HOST.to_owned(), spans, protocols });
    }
}

fn listener_of(standing: &ActiveService) -> Option<VipListener> {
    let packets = standing.view.config.packets.as_ref()?;
    Some(VipListener {
        service: standing.plan.index,
        name: standing.view.config.name.clone(),
        spans: packets.listen.clone(),
        protocols: packets.protocols,
    })
}

/// The pool of a service, then those of its rules, each once.
fn service_pools(snapshot: &WorkerSnapshot, view: &ServiceView) -> Vec<Arc<PoolView>> {
    let mut pools: Vec<Arc<PoolView>> =
        snapshot.pools.get(&view.pool).cloned().into_iter().collect();
    let rules = view.config.packets.iter().flat_map(|packets| &packets.rules);
    for rule in rules {
        let known = pools.iter().any(|pool| pool.config.name == rule.pool);
        let found = snapshot.pools.values().find(|pool| pool.config.name == rule.pool);
        pools.extend(found.filter(|_| !known).cloned());
    }
    pools
}

fn is_unchanged(
    old: &ActiveService,
    view: &Arc<ServiceView>,
    pools: &[Arc<PoolView>],
    local_minute: i64,
) -> bool {
    Arc::ptr_eq(&old.view, view)
        && old.pools.len() == pools.len()
        && old.pools.iter().zip(pools).all(|(a, b)| Arc::ptr_eq(a, b))
        && (!old.plan.depends_on_time || old.local_minute == local_minute)
}
