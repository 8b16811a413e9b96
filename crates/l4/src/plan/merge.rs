//! Compares one service's plan with its active plan: the necessary writes. Pure.

use std::sync::Arc;

use model::snapshot::{PoolView, ServiceView};

use super::guards::guard_key;
use super::pools::ScheduledPool;
use super::service_plan::{PlannedServer, ServicePlan};
use super::state::{ActiveService, MapPlanner, PlannedChange};
use crate::abi;
use crate::layout::{ArrayRegion, CapacityError, RegionAllocator};
use crate::map_write::MapWrite;

impl MapPlanner {
    /// Activates a plan in place of the previous one.
    pub(super) fn install_service(
        &mut self,
        view: &Arc<ServiceView>,
        pools: Vec<Arc<PoolView>>,
        mut part: ServicePlan,
        change: &mut PlannedChange,
    ) {
        let name = view.config.name.clone();
        let nothing = ServicePlan { index: part.index, ..ServicePlan::default() };
        let before = self.active.remove(&name);
        let old = before.as_ref().map_or(&nothing, |standing| &standing.plan);
        let written = change.writes.len();
        let placed = self
            .update_shares(&mut part, old, change)
            .and_then(|()| self.update_schedules(&mut part, old, change))
            .and_then(|()| self.update_rules(&mut part, old, change));
        if let Err(full) = placed {
            change.obstacles.insert(name.clone(), full.to_string());
            change.writes.truncate(written);
            self.release_failed(&part, old);
            self.active.extend(before.map(|standing| (name.clone(), standing)));
            self.remove_service(&name, change);
            self.abandon_service(&name);
            return;
        }
        self.update_servers(&part, old, change);
        self.release_unused(&part, old);
        for (at, value) in &part.guards {
            if old.guards.get(at) != Some(value) {
                change.writes.push(MapWrite::Guard(guard_key(part.index, *at), *value));
            }
        }
        let gone = old.guards.keys().filter(|at| !part.guards.contains_key(at));
        change.writes.extend(gone.map(|at| MapWrite::DropGuard(guard_key(part.index, *at))));
        part.service.rule_first = part.rules_region.first;
        if old.service != part.service || before.is_none() {
            change.writes.push(MapWrite::Service(part.index, part.service));
        }
        let local_minute = self.facts.local_minute;
        self.active.insert(
            name,
            ActiveService { plan: part, view: Arc::clone(view), pools, local_minute },
        );
    }

    /// Removes a service: its addresses are removed with the next update of all listeners, its servers drain.
    pub(super) fn remove_service(&mut self, name: &str, change: &mut PlannedChange) {
        let Some(standing) = self.active.remove(name) else { return };
        let part = standing.plan;
        let guards = part.guards.keys().map(|at| MapWrite::DropGuard(guard_key(part.index, *at)));
        change.writes.extend(guards);
        for (pool, region) in &part.schedules {
            self.freed.schedule.push(*region);
            self.release_pool(*pool);
        }
        self.freed.rules.push(part.rules_region);
        let servers: Vec<u32> = part.servers.keys().copied().collect();
        for index in servers {
            self.drain_server(&part, index, change);
        }
    }

    /// Releases the entries of a plan that did not fit. Nothing of it was written.
    fn release_failed(&mut self, part: &ServicePlan, old: &ServicePlan) {
        for (index, region) in &part.share_lists {
            if old.share_lists.get(index) != Some(region) {
                self.release_share_list(part, *index);
            }
        }
        for key in part.shares.values().flatten() {
            self.release_unneeded_share(key);
        }
        for (index, region) in &part.schedules {
            if old.schedules.get(index) != Some(region) {
                self.layout.schedule.release(*region);
            }
        }
        if part.rules_region != old.rules_region {
            self.layout.rules.release(part.rules_region);
        }
    }

    /// Releases what the active plan no longer uses.
    fn release_unused(&mut self, part: &ServicePlan, old: &ServicePlan) {
        for (index, region) in &old.schedules {
            if part.schedules.get(index) != Some(region) {
                self.freed.schedule.push(*region);
            }
            if !part.pools.contains_key(index) {
                self.release_pool(*index);
            }
        }
        if part.rules_region != old.rules_region {
            self.freed.rules.push(old.rules_region);
        }
        // Lists that changed for servers that stay; the others leave with theirs.
        let stay = old.share_lists.iter().filter(|(index, _)| part.servers.contains_key(index));
        let changed: Vec<u32> = stay
            .filter(|(index, region)| part.share_lists.get(index) != Some(region))
            .map(|(index, _)| *index)
            .collect();
        changed.into_iter().for_each(|index| self.release_share_list(old, index));
    }

    fn update_servers(
        &mut self,
        part: &ServicePlan,
        old: &ServicePlan,
        change: &mut PlannedChange,
    ) {
        for (index, PlannedServer { key, server }) in &part.servers {
            if !old.servers.contains_key(index) {
                match self.draining.remove(index) {
                    None => {
                        self.next_hops_changed |= self.next_hop_uses.add(key.address);
                    }
                    // The server returns before it was removed; its shares were counted with the plan.
                    Some(was) => {
                        self.freed.lists.push(was.share_list);
                        was.shares.iter().for_each(|share| self.release_share(share));
                    }
                }
            }
            if old.servers.get(index).is_none_or(|before| before.server != *server) {
                change.writes.push(MapWrite::Server(*index, *server));
            }
        }
        let gone: Vec<u32> =
            old.servers.keys().filter(|index| !part.servers.contains_key(index)).copied().collect();
        for index in gone {
            self.drain_server(old, index, change);
        }
    }

    fn update_schedules(
        &mut self,
        part: &mut ServicePlan,
        old: &ServicePlan,
        change: &mut PlannedChange,
    ) -> Result<(), CapacityError> {
        for (index, ScheduledPool { pool, entries }) in &mut part.pools {
            let before = old.pools.get(index);
            // A levelled schedule with the same members continues.
            let members = part.leveled_pools.get(index);
            if let Some(standing) = before.filter(|_| members.is_some())
                && old.leveled_pools.get(index) == members
            {
                entries.clone_from(&standing.entries);
            }
            let place = old.schedules.get(index).copied();
            let current_region = before.filter(|old| old.entries == *entries).and(place);
            let region = allocate_region(&mut self.layout.schedule, current_region, entries.len())?;
            if current_region.is_none() && !entries.is_empty() {
                change.writes.push(MapWrite::Schedule(region.first, entries.clone()));
            }
            pool.first = region.first;
            part.schedules.insert(*index, region);
            if before.is_none_or(|old| old.pool != *pool) {
                change.writes.push(MapWrite::Pool(*index, *pool));
            }
        }
        Ok(())
    }

    fn update_rules(
        &mut self,
        part: &mut ServicePlan,
        old: &ServicePlan,
        change: &mut PlannedChange,
    ) -> Result<(), CapacityError> {
        let current_region =
            Some(old.rules_region).filter(|at| old.rules == part.rules && at.length > 0);
        part.rules_region =
            allocate_region(&mut self.layout.rules, current_region, part.rules.len())?;
        if current_region.is_none() && !part.rules.is_empty() {
            change.writes.push(MapWrite::Rules(part.rules_region.first, part.rules.clone()));
        }
        Ok(())
    }

    fn release_pool(&mut self, index: u32) {
        if let Some(name) = self.layout.pools.name(index).copied() {
            self.freed.pools.extend(self.layout.pools.detach_name(&name));
        }
    }

    /// Flags: whether shares exist, whether any of them preserves the client's address, and whether shares of one port
    /// exist beside shares of all ports.
    pub(super) fn share_flags(&self) -> u32 {
        let needs = &self.share_uses;
        (if needs.is_used() { abi::CONFIG_NAT } else { 0 })
            | (if needs.keeps_client_address() { abi::CONFIG_CLIENT_SOURCE } else { 0 })
            | (if needs.has_port_pairs() { abi::CONFIG_PORT_PAIRS } else { 0 })
    }
}

/// The current region of the entries, or a new one.
pub(super) fn allocate_region(
    room: &mut RegionAllocator,
    current_region: Option<ArrayRegion>,
    entries: usize,
) -> Result<ArrayRegion, CapacityError> {
    match current_region {
        Some(region) => Ok(region),
        None => room.allocate(u32::try_from(entries).unwrap_or(u32::MAX)),
    }
}
