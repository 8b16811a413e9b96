//! Ports of return addresses: which shares there are, and which server uses which. Pure; how many ports each gets is
//! the model's arithmetic, with which forecasts reckon too.

use std::net::IpAddr;

use model::capacity::ports::TRANSLATED_PORTS;
use model::capacity::shares::ports;

use super::form::address;
use super::merge::place_for;
use super::part::Part;
use super::state::{Change, Planner};
use crate::abi;
use crate::layout::{Full, ShareKey};
use crate::write::Write;

/// The key of a share of either family.
enum Key {
    V4(abi::Share4),
    V6(abi::Share6),
}

impl Planner {
    /// Makes the shares that a part needs and the lists of its servers.
    pub(super) fn shares(
        &mut self,
        part: &mut Part,
        old: &Part,
        change: &mut Change,
    ) -> Result<(), Full> {
        let wanted: Vec<(u32, Vec<ShareKey>)> =
            part.shares.iter().map(|(index, keys)| (*index, keys.clone())).collect();
        let new = wanted.iter().flat_map(|(_, keys)| keys);
        let new = new.filter(|key| self.layout.shares.find(key).is_none()).count();
        let each = ports(self.layout.record_room.room(), u32::try_from(new).unwrap_or(u32::MAX));
        for (index, keys) in wanted {
            let mut list = Vec::with_capacity(keys.len());
            for key in &keys {
                list.push(self.share(*key, each, change)?);
            }
            let same = old.shares.get(&index) == Some(&keys);
            let kept = old.lists.get(&index).copied().filter(|_| same);
            let region = place_for(&mut self.layout.share_list, kept, list.len())?;
            if kept.is_none() {
                keys.iter().for_each(|key| self.share_needs.add(*key));
                change.writes.push(Write::ShareList(region.first, list));
            }
            if let Some((_, server)) = part.servers.get_mut(&index) {
                (server.share_first, server.share_count) = (region.first, region.length);
            }
            part.lists.insert(index, region);
        }
        Ok(())
    }

    /// Gives the list of a server back, and the shares that nobody else needs.
    pub(super) fn end_list(&mut self, part: &Part, server: u32) {
        if let Some(region) = part.lists.get(&server) {
            self.freed.lists.push(*region);
        }
        for key in part.shares.get(&server).into_iter().flatten() {
            self.end_share(key);
        }
    }

    /// One need less for a share; without any at the end of the change it ends: another service may need it next.
    pub(super) fn end_share(&mut self, share: &ShareKey) {
        if self.share_needs.drop_one(share) {
            self.ending.push(*share);
        }
    }

    /// At the end of a change: ends the shares that nobody needs any more.
    pub(super) fn end_shares(&mut self, change: &mut Change) {
        for share in std::mem::take(&mut self.ending) {
            if self.share_needs.has(&share) || self.layout.shares.find(&share).is_none() {
                continue;
            }
            self.freed.shares.extend(self.layout.shares.lift(&share));
            self.freed.records.extend(self.layout.records.remove(&share));
            change.writes.push(match key(&share) {
                Key::V4(key) => Write::DropShare4(key),
                Key::V6(key) => Write::DropShare6(key),
            });
        }
    }

    /// Ends a share that was made and that nobody came to need.
    pub(super) fn end_unneeded(&mut self, share: &ShareKey) {
        if !self.share_needs.has(share) && !self.ending.contains(share) {
            self.freed.shares.extend(self.layout.shares.lift(share));
            self.freed.records.extend(self.layout.records.remove(share));
        }
    }

    /// The index of a share, which is made with so many ports when it is new.
    fn share(&mut self, share: ShareKey, ports: u32, change: &mut Change) -> Result<u32, Full> {
        if let Some(index) = self.layout.shares.find(&share) {
            return Ok(index);
        }
        let index = self.layout.shares.take(&share)?;
        let region = self.layout.record_room.take(ports).inspect_err(|_| {
            self.layout.shares.release(&share);
        })?;
        self.layout.records.insert(share, region);
        let flags = if share.back.is_none() { abi::SHARE_CLIENT } else { 0 };
        let value = abi::Share {
            back: share.back.map(address).unwrap_or_default(),
            first: region.first,
            ports: region.length,
            flags,
            proto: share.protocol.into(),
        };
        change.writes.push(Write::Share(index, value));
        change.writes.push(match key(&share) {
            Key::V4(key) => Write::Share4(key, index),
            Key::V6(key) => Write::Share6(key, index),
        });
        Ok(index)
    }
}

/// The key of a share in its map.
fn key(share: &ShareKey) -> Key {
    let (port, proto) = (share.port, share.protocol);
    match (share.server, share.back) {
        (IpAddr::V4(server), back) => {
            let back = match back {
                Some(IpAddr::V4(back)) => back.octets(),
                _ => [0; 4],
            };
            Key::V4(abi::Share4 { server: server.octets(), back, port, proto, pad: 0 })
        }
        (IpAddr::V6(server), back) => {
            let back = match back {
                Some(IpAddr::V6(back)) => back.octets(),
                _ => [0; 16],
            };
            Key::V6(abi::Share6 { server: server.octets(), back, port, proto, pad: 0 })
        }
    }
}

/// A share has as many ports as forecasts reckon with.
const _: () = assert!(abi::SHARE_PORTS == TRANSLATED_PORTS);
