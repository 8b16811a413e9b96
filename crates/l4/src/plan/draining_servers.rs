//! Removed servers: they serve existing flows and get no new ones, until the sweep has seen no flow to them. Pure.

use std::collections::{BTreeSet, HashMap};

use super::service_plan::{PlannedServer, ServicePlan};
use super::state::{DrainingServer, MapPlanner, NAMELESS, PlannedChange, placeholder_name};
use crate::abi;
use crate::connection_counts::ConnectionCounts;
use crate::layout::{PoolKey, ServerKey};
use crate::map_write::{MapWrite, sort_writes};

/// Consecutive sweeps without a flow before an index is reused.
/// One sweep may pass an entry while the datapath moves it; two in a row do not.
const QUIET: u8 = 2;

/// What follows from a sweep.
#[derive(Clone, Debug)]
pub struct ReclaimedServers {
    pub change: PlannedChange,
    /// Indexes of servers that were released.
    pub released: Vec<u32>,
}

impl MapPlanner {
    /// Starts draining a server of a service.
    pub(super) fn drain_server(
        &mut self,
        part: &ServicePlan,
        index: u32,
        change: &mut PlannedChange,
    ) {
        let Some(PlannedServer { key, server }) = part.servers.get(&index) else { return };
        let taking = u8::try_from(abi::SERVER_TAKES | abi::SERVER_KEEPS).unwrap_or_default();
        let server = abi::Server { flags: server.flags & !taking, ..*server };
        change.writes.push(MapWrite::Server(index, server));
        let shares = part.shares.get(&index).cloned().unwrap_or_default();
        let list = part.share_lists.get(&index).copied().unwrap_or_default();
        self.draining.insert(
            index,
            DrainingServer { key: *key, server, shares, share_list: list, idle_sweeps: 0 },
        );
    }

    /// Removed services have their index as long as some of their servers are draining.
    pub(super) fn retire_services(&mut self, wanted: &BTreeSet<&str>) {
        let named = self.layout.services.iter().map(|(name, _)| name);
        let gone = |name: &&String| !name.starts_with(NAMELESS) && !wanted.contains(name.as_str());
        let gone: Vec<String> = named.filter(gone).cloned().collect();
        for name in gone {
            if let Some(index) = self.layout.services.find(&name) {
                self.layout.services.rename(&name, placeholder_name(index));
            }
        }
    }

    /// Releases the entries of a service that is not active after all. None of it was written.
    pub(super) fn abandon_service(&mut self, name: &str) {
        let Some(service) = self.layout.services.find(&name.to_owned()) else { return };
        let servers = self.layout.servers.iter();
        let unused = servers
            .filter(|(key, index)| key.service == service && !self.draining.contains_key(index));
        let unused: Vec<ServerKey> = unused.map(|(key, _)| *key).collect();
        for key in unused {
            self.layout.servers.release(&key);
            if !self.next_hop_uses.has(&key.address) {
                self.layout.next_hops.release(&key.address);
            }
        }
        let pools = self.layout.pools.iter().map(|(name, _)| *name);
        let pools: Vec<PoolKey> = pools.filter(|pool| pool.service == service).collect();
        for pool in pools {
            self.layout.pools.release(&pool);
        }
    }

    /// Gives back the indexes of services that are gone with all their servers.
    pub(super) fn release_services(&mut self) -> Vec<u32> {
        let held: std::collections::HashSet<u32> =
            self.draining.values().map(|one| one.server.service).collect();
        let gone: Vec<(String, u32)> = self
            .layout
            .services
            .iter()
            .filter(|(name, index)| **name == placeholder_name(*index) && !held.contains(index))
            .map(|(name, index)| (name.clone(), index))
            .collect();
        gone.iter().for_each(|(name, _)| {
            // The names were listed just now, so each is there.
            let _ = self.layout.services.release(name);
        });
        gone.into_iter().map(|(_, index)| index).collect()
    }

    /// Handles a sweep: `flows` has the connections of each server, `begun` the new ones of each service. Removes
    /// servers that had no connections for a while, and levels schedules.
    pub fn reclaim_drained(
        &mut self,
        connections: &ConnectionCounts,
        arrivals: &HashMap<u32, u32>,
    ) -> ReclaimedServers {
        let mut change = PlannedChange::default();
        let mut released = Vec::new();
        self.level_schedules(connections, arrivals, &mut change);
        for (index, one) in &mut self.draining {
            let none = !connections.servers.contains_key(index);
            one.idle_sweeps = if none { one.idle_sweeps.saturating_add(1) } else { 0 };
            if one.idle_sweeps >= QUIET {
                released.push(*index);
            }
        }
        for index in &released {
            let Some(one) = self.draining.remove(index) else { continue };
            self.layout.servers.release(&one.key);
            self.freed.lists.push(one.share_list);
            for share in &one.shares {
                self.release_share(share);
            }
            if self.next_hop_uses.drop_one(&one.key.address) {
                self.layout.next_hops.release(&one.key.address);
                self.next_hops_changed = true;
            }
            change.writes.push(MapWrite::DropServer(*index));
        }
        self.release_shares(&mut change);
        change.writes.extend(self.release_services().into_iter().map(MapWrite::DropService));
        if !released.is_empty() {
            self.update_addresses(&mut change);
            let flags = self.share_flags();
            let kinds = abi::CONFIG_NAT | abi::CONFIG_CLIENT_SOURCE | abi::CONFIG_PORT_PAIRS;
            if let Some(old) = self.flags
                && old & kinds != flags
            {
                self.flags = Some(old & !kinds | flags);
                change.writes.push(MapWrite::Flags(old & !kinds | flags));
            }
        }
        sort_writes(&mut change.writes);
        ReclaimedServers { change, released }
    }
}
