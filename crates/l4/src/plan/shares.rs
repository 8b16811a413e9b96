//! Ports of return addresses: which shares there are, and which server uses which. Pure; how many ports each gets is
//! the model's arithmetic, with which forecasts reckon too.

use std::net::IpAddr;

use model::capacity::port_shares::ports_per_share;
use model::capacity::ports::TRANSLATED_PORTS;

use super::encoding::to_mapped_bytes;
use super::merge::allocate_region;
use super::service_plan::{PlannedServer, ServicePlan};
use super::state::{MapPlanner, PlannedChange};
use crate::abi;
use crate::layout::{CapacityError, ShareKey};
use crate::map_write::MapWrite;

/// The key of a share of either family.
enum ShareMapKey {
    V4(abi::Share4),
    V6(abi::Share6),
}

impl MapPlanner {
    /// Makes the shares that a part needs and the lists of its servers.
    pub(super) fn update_shares(
        &mut self,
        part: &mut ServicePlan,
        old: &ServicePlan,
        change: &mut PlannedChange,
    ) -> Result<(), CapacityError> {
        let wanted: Vec<(u32, Vec<ShareKey>)> =
            part.shares.iter().map(|(index, keys)| (*index, keys.clone())).collect();
        let new = wanted.iter().flat_map(|(_, keys)| keys);
        let new = new.filter(|key| self.layout.shares.find(key).is_none()).count();
        let each = ports_per_share(
            self.layout.free_records.free_entries(),
            u32::try_from(new).unwrap_or(u32::MAX),
        );
        for (index, keys) in wanted {
            let mut list = Vec::with_capacity(keys.len());
            for key in &keys {
                list.push(self.allocate_share(*key, each, change)?);
            }
            let same = old.shares.get(&index) == Some(&keys);
            let current_list = old.share_lists.get(&index).copied().filter(|_| same);
            let region = allocate_region(&mut self.layout.share_list, current_list, list.len())?;
            if current_list.is_none() {
                keys.iter().for_each(|key| self.share_uses.add(*key));
                change.writes.push(MapWrite::ShareList(region.first, list));
            }
            if let Some(PlannedServer { server, .. }) = part.servers.get_mut(&index) {
                server.share_first = region.first;
                server.share_count = region.length;
            }
            part.share_lists.insert(index, region);
        }
        Ok(())
    }

    /// Releases a server's list, and the shares that nothing else uses.
    pub(super) fn release_share_list(&mut self, part: &ServicePlan, server: u32) {
        if let Some(region) = part.share_lists.get(&server) {
            self.freed.lists.push(*region);
        }
        for key in part.shares.get(&server).into_iter().flatten() {
            self.release_share(key);
        }
    }

    /// Removes a use of a share. A share without uses at the end of the change is removed: another service may use it
    /// next.
    pub(super) fn release_share(&mut self, share: &ShareKey) {
        if self.share_uses.drop_one(share) {
            self.ending_shares.push(*share);
        }
    }

    /// At the end of a change: removes the shares without uses.
    pub(super) fn release_shares(&mut self, change: &mut PlannedChange) {
        for share in std::mem::take(&mut self.ending_shares) {
            if self.share_uses.has(&share) || self.layout.shares.find(&share).is_none() {
                continue;
            }
            self.freed.shares.extend(self.layout.shares.detach_name(&share));
            self.freed.records.extend(self.layout.records.remove(&share));
            change.writes.push(match share_map_key(&share) {
                ShareMapKey::V4(key) => MapWrite::DropShare4(key),
                ShareMapKey::V6(key) => MapWrite::DropShare6(key),
            });
        }
    }

    /// Removes a new share that nothing uses.
    pub(super) fn release_unneeded_share(&mut self, share: &ShareKey) {
        if !self.share_uses.has(share) && !self.ending_shares.contains(share) {
            self.freed.shares.extend(self.layout.shares.detach_name(share));
            self.freed.records.extend(self.layout.records.remove(share));
        }
    }

    /// The index of a share; a new one gets this many ports.
    fn allocate_share(
        &mut self,
        share: ShareKey,
        ports: u32,
        change: &mut PlannedChange,
    ) -> Result<u32, CapacityError> {
        if let Some(index) = self.layout.shares.find(&share) {
            return Ok(index);
        }
        let index = self.layout.shares.allocate(&share)?;
        let region = self.layout.free_records.allocate(ports).inspect_err(|_| {
            self.layout.shares.release(&share);
        })?;
        self.layout.records.insert(share, region);
        let flags = if share.return_address.is_none() { abi::SHARE_CLIENT } else { 0 };
        let value = abi::Share {
            back: share.return_address.map(to_mapped_bytes).unwrap_or_default(),
            first: region.first,
            ports: region.length,
            flags,
            proto: share.protocol.into(),
        };
        change.writes.push(MapWrite::Share(index, value));
        change.writes.push(match share_map_key(&share) {
            ShareMapKey::V4(key) => MapWrite::Share4(key, index),
            ShareMapKey::V6(key) => MapWrite::Share6(key, index),
        });
        Ok(index)
    }
}

/// The key of a share in its map.
fn share_map_key(share: &ShareKey) -> ShareMapKey {
    let port = share.port;
    let proto = share.protocol;
    match (share.server, share.return_address) {
        (IpAddr::V4(server), back) => {
            let back = match back {
                Some(IpAddr::V4(back)) => back.octets(),
                _ => [0; 4],
            };
            ShareMapKey::V4(abi::Share4 { server: server.octets(), back, port, proto, pad: 0 })
        }
        (IpAddr::V6(server), back) => {
            let back = match back {
                Some(IpAddr::V6(back)) => back.octets(),
                _ => [0; 16],
            };
            ShareMapKey::V6(abi::Share6 { server: server.octets(), back, port, proto, pad: 0 })
        }
    }
}

/// A share has as many ports as forecasts reckon with.
const _: () = assert!(abi::SHARE_PORTS == TRANSLATED_PORTS);
