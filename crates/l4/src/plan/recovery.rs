//! Recovers indexes from maps that outlived their process, so that flows stay with their servers. Pure: the maps'
//! contents come in.

use std::collections::BTreeMap;

use model::capacity::port_shares::protocols_with_shares;
use model::config::PacketServiceConfig;

use super::encoding::{VipKey, from_mapped_bytes};
use super::state::{DrainingServer, MapPlanner, UnclaimedMaps, placeholder_name};
use crate::abi;
use crate::layout::{ArrayRegion, PoolKey, ServerKey, ShareKey};

/// A share in the maps that an earlier process left.
#[derive(Clone, Copy, Debug)]
pub struct RecoveredShare {
    pub key: ShareKey,
    pub index: u32,
    pub share: abi::Share,
}

/// The contents of the maps.
#[derive(Clone, Debug, Default)]
pub struct RecoveredMaps {
    /// The service of each address.
    pub vips: BTreeMap<VipKey, abi::Vip>,
    pub servers: BTreeMap<u32, abi::Server>,
    pub shares: Vec<RecoveredShare>,
    /// Lists of shares, by the first entry.
    pub lists: BTreeMap<u32, Vec<u32>>,
    pub pools: BTreeMap<u32, abi::Pool>,
    /// Rules of services in use.
    pub rules: Vec<ArrayRegion>,
}

impl MapPlanner {
    /// Adopts the contents of the maps. The next change rewrites everything, and removes unclaimed entries.
    pub fn recover(&mut self, found: RecoveredMaps) {
        for vip in found.vips.values() {
            let ranges = vip.owner.iter().take(vip.ranges as usize).copied();
            for service in ranges.chain([vip.service]).filter(|service| *service != abi::NONE) {
                self.layout.services.adopt(placeholder_name(service), service);
            }
        }
        for server in found.servers.values() {
            self.layout.services.adopt(placeholder_name(server.service), server.service);
        }
        for RecoveredShare { key, index, share } in &found.shares {
            self.layout.shares.adopt(*key, *index);
            let region = ArrayRegion { first: share.first, length: share.ports };
            self.layout.free_records.adopt(region);
            self.layout.records.insert(*key, region);
        }
        let mut recovered = UnclaimedMaps::default();
        for (index, pool) in &found.pools {
            // No service has this name, so the index becomes free once all pools were rewritten.
            self.layout.pools.adopt(PoolKey { service: u32::MAX, position: *index }, *index);
            let region = ArrayRegion { first: pool.first, length: pool.length };
            recovered.schedule.extend(self.layout.schedule.adopt(region));
            recovered.pools.push(*index);
        }
        for region in &found.rules {
            recovered.rules.extend(self.layout.rules.adopt(*region));
        }
        for (index, server) in &found.servers {
            self.recover_server(*index, server, &found);
        }
        self.vips = found.vips;
        self.recovered = Some(recovered);
    }

    fn recover_server(&mut self, index: u32, server: &abi::Server, found: &RecoveredMaps) {
        let address = from_mapped_bytes(server.addr);
        let key = ServerKey { service: server.service, address, port: server.port };
        self.layout.servers.adopt(key, index);
        self.layout.next_hops.adopt(address, server.next_hop);
        self.next_hop_uses.add(address);
        let list = ArrayRegion { first: server.share_first, length: server.share_count };
        self.layout.share_list.adopt(list);
        let named = found.lists.get(&list.first).into_iter().flatten();
        let shares: Vec<ShareKey> =
            named.filter_map(|share| self.layout.shares.name(*share).copied()).collect();
        shares.iter().for_each(|share| self.share_uses.add(*share));
        let leaving =
            DrainingServer { key, server: *server, shares, share_list: list, idle_sweeps: 0 };
        self.draining.insert(index, leaving);
    }

    /// A service that listens where a recovered one did inherits its index.
    pub(super) fn claim_recovered(&mut self, name: &str, packets: &PacketServiceConfig) {
        if self.recovered.is_none() || self.layout.services.find(&name.to_owned()).is_some() {
            return;
        }
        for span in &packets.listen {
            for protocol in protocols_with_shares(packets.protocols) {
                let key = |port| VipKey { address: span.address, port, protocol };
                let exact = self.vips.get(&key(span.first)).map(|vip| vip.service);
                let ranged = self.vips.get(&key(0)).and_then(|vip| {
                    let at = (0..vip.ranges as usize).find(|at| vip.from[*at] == span.first)?;
                    Some(vip.owner[at])
                });
                let found = [exact, ranged].into_iter().flatten().find(|at| *at != abi::NONE);
                if let Some(service) = found {
                    self.layout.services.rename(&placeholder_name(service), name.to_owned());
                    if self.layout.services.find(&name.to_owned()).is_some() {
                        return;
                    }
                }
            }
        }
    }

    /// After the first change: unclaimed entries are released with the next one.
    pub(super) fn forget_recovered(&mut self) {
        let Some(UnclaimedMaps { pools, schedule, rules }) = self.recovered.take() else { return };
        for index in pools {
            self.layout.pools.release(&PoolKey { service: u32::MAX, position: index });
        }
        self.freed.schedule.extend(schedule);
        self.freed.rules.extend(rules);
    }
}
