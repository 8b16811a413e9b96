//! A model of the maps. Writes are applied one by one, and after each write every reference that a packet can follow
//! must be valid. Indexes are resolved, so that maps with different histories can be compared.

use std::collections::{BTreeMap, BTreeSet};

use l4::abi;
use l4::layout::{ArrayRegion, ShareKey};
use l4::map_write::MapWrite;
use l4::plan::encoding::{VipKey, from_mapped_bytes};
use l4::plan::recovery::{RecoveredMaps, RecoveredShare};

#[derive(Clone, Debug, Default)]
pub struct SimulatedMaps {
    pub vips: BTreeMap<VipKey, abi::Vip>,
    services: BTreeMap<u32, abi::Service>,
    pools: BTreeMap<u32, abi::Pool>,
    schedule: BTreeMap<u32, u32>,
    pub servers: BTreeMap<u32, abi::Server>,
    shares: BTreeMap<u32, abi::Share>,
    share_keys: BTreeMap<ShareKey, u32>,
    share_list: BTreeMap<u32, u32>,
    rules: BTreeMap<u32, abi::Rule>,
    guards: BTreeMap<(u32, u32, [u8; 16]), u32>,
    addresses: BTreeMap<[u8; 16], u32>,
    flags: u32,
}

fn lay<T: Clone>(map: &mut BTreeMap<u32, T>, first: u32, list: &[T]) {
    map.extend((first..).zip(list.iter().cloned()));
}

fn key4(key: &abi::Share4) -> ShareKey {
    let back = Some(key.back).filter(|back| *back != [0; 4]).map(Into::into);
    ShareKey {
        server: key.server.into(),
        port: key.port,
        return_address: back,
        protocol: key.proto,
    }
}

fn key6(key: &abi::Share6) -> ShareKey {
    let back = Some(key.back).filter(|back| *back != [0; 16]).map(Into::into);
    ShareKey {
        server: key.server.into(),
        port: key.port,
        return_address: back,
        protocol: key.proto,
    }
}

fn vip4(key: &abi::Vip4) -> VipKey {
    VipKey { address: key.addr.into(), port: key.port, protocol: key.proto }
}

fn vip6(key: &abi::Vip6) -> VipKey {
    VipKey { address: key.addr.into(), port: key.port, protocol: key.proto }
}

impl SimulatedMaps {
    /// Applies writes, and checks the maps after each of them.
    pub fn apply(&mut self, writes: &[MapWrite]) {
        for write in writes {
            self.write(write);
            self.whole().unwrap_or_else(|what| panic!("{what} after {write:?} of {writes:#?}"));
        }
    }

    fn write(&mut self, write: &MapWrite) {
        match write {
            MapWrite::NextHop(..) => {}
            MapWrite::Share(at, share) => drop(self.shares.insert(*at, *share)),
            MapWrite::Share4(key, at) => drop(self.share_keys.insert(key4(key), *at)),
            MapWrite::Share6(key, at) => drop(self.share_keys.insert(key6(key), *at)),
            MapWrite::ShareList(at, list) => lay(&mut self.share_list, *at, list),
            MapWrite::Server(at, server) => drop(self.servers.insert(*at, *server)),
            MapWrite::Schedule(at, list) => lay(&mut self.schedule, *at, list),
            MapWrite::Pool(at, pool) => drop(self.pools.insert(*at, *pool)),
            MapWrite::Rules(at, rules) => lay(&mut self.rules, *at, rules),
            MapWrite::Guard(key, value) => {
                self.guards.insert((key.scope, key.prefix, key.addr), value.action);
            }
            MapWrite::Service(at, service) => drop(self.services.insert(*at, *service)),
            MapWrite::Vip4(key, vip) => drop(self.vips.insert(vip4(key), *vip)),
            MapWrite::Vip6(key, vip) => drop(self.vips.insert(vip6(key), *vip)),
            MapWrite::Address(key, kinds) => drop(self.addresses.insert(key.addr, *kinds)),
            MapWrite::Flags(flags) | MapWrite::Expect(flags) => self.flags = *flags,
            MapWrite::DropVip4(key) => drop(self.vips.remove(&vip4(key))),
            MapWrite::DropVip6(key) => drop(self.vips.remove(&vip6(key))),
            MapWrite::DropAddress(key) => drop(self.addresses.remove(&key.addr)),
            MapWrite::DropGuard(key) => {
                self.guards.remove(&(key.scope, key.prefix, key.addr));
            }
            MapWrite::DropShare4(key) => drop(self.share_keys.remove(&key4(key))),
            MapWrite::DropShare6(key) => drop(self.share_keys.remove(&key6(key))),
            MapWrite::DropServer(at) => drop(self.servers.insert(*at, abi::Server::default())),
            MapWrite::DropService(at) => drop(self.services.insert(*at, abi::Service::default())),
        }
    }

    fn entries(&self, pool: &abi::Pool) -> Vec<u32> {
        let at = pool.first..pool.first + pool.length;
        at.map(|at| self.schedule.get(&at).copied().unwrap_or(abi::NONE)).collect()
    }

    /// Checks that every reachable index leads to a valid entry.
    fn whole(&self) -> Result<(), String> {
        let owners = |vip: &abi::Vip| {
            let ranges = vip.owner[..vip.ranges as usize].to_vec();
            ranges
                .into_iter()
                .chain([vip.service])
                .filter(|at| *at != abi::NONE)
                .collect::<Vec<_>>()
        };
        let reached: BTreeSet<u32> = self.vips.values().flat_map(owners).collect();
        for at in reached {
            let service = self.services.get(&at).ok_or(format!("no service {at}"))?;
            if service.method == abi::Method::Host as u32 {
                continue;
            }
            let rules = service.rule_first..service.rule_first + service.rule_count;
            let rules: Vec<&abi::Rule> = rules.filter_map(|at| self.rules.get(&at)).collect();
            if rules.len() != service.rule_count as usize {
                return Err(format!("service {at} has rules that are not there"));
            }
            let pools = rules.iter().map(|rule| rule.pool).chain([service.pool]);
            let pools: Vec<u32> = pools.filter(|pool| *pool != abi::NONE).collect();
            let second = |at: &u32| self.pools.get(at).and_then(|pool| pool.pool6.checked_sub(1));
            let seconds: Vec<u32> = pools.iter().filter_map(second).collect();
            for pool in pools.into_iter().chain(seconds) {
                let pool = self.pools.get(&pool).ok_or(format!("no pool {pool}"))?;
                for server in self.entries(pool) {
                    self.server(at, server, service.method == abi::Method::Nat as u32)?;
                }
            }
        }
        let mut used = BTreeSet::new();
        for share in self.share_keys.values() {
            let share = self.shares.get(share).ok_or(format!("no share {share}"))?;
            let region = (share.first, share.ports);
            if !used.insert(region) {
                return Err(format!("two shares have the records from {} on", share.first));
            }
        }
        Ok(())
    }

    fn server(&self, service: u32, at: u32, nat: bool) -> Result<(), String> {
        let server = self.servers.get(&at).ok_or(format!("no server {at}"))?;
        if server.addr == [0; 16] || server.service != service {
            return Err(format!("server {at} is none of service {service}"));
        }
        if !nat || u32::from(server.flags) & abi::SERVER_SERVES == 0 {
            return Ok(());
        }
        for at in server.share_first..server.share_first + server.share_count {
            let share = self.share_list.get(&at).ok_or(format!("no entry {at} of the list"))?;
            if !self.share_keys.values().any(|known| known == share) {
                return Err(format!("answers of share {share} are not found"));
            }
        }
        Ok(())
    }

    /// The entries that a packet finds, without any index.
    pub fn resolved(&self) -> BTreeMap<String, String> {
        let mut out = BTreeMap::new();
        for (key, vip) in &self.vips {
            let mut text = String::new();
            for at in 0..vip.ranges as usize {
                let service = self.service(vip.owner[at]);
                text += &format!("{}-{}: {service}\n", vip.from[at], vip.to[at]);
            }
            if vip.service != abi::NONE {
                text += &self.service(vip.service);
            }
            out.insert(format!("{key:?}"), text);
        }
        for (address, kinds) in &self.addresses {
            out.insert(format!("address {}", from_mapped_bytes(*address)), kinds.to_string());
        }
        let shares: BTreeSet<String> = self
            .share_keys
            .iter()
            .map(|(key, at)| format!("{key:?} {:?}", (self.shares[at].back, self.shares[at].flags)))
            .collect();
        out.insert("shares".to_owned(), format!("{shares:#?}"));
        out.insert("flags".to_owned(), self.flags.to_string());
        out
    }

    fn service(&self, at: u32) -> String {
        let service = self.services[&at];
        let rules = service.rule_first..service.rule_first + service.rule_count;
        let rules: Vec<String> = rules
            .map(|at| {
                let rule = self.rules[&at];
                format!("{:?} to {}", abi::Rule { pool: 0, ..rule }, self.pool(rule.pool))
            })
            .collect();
        let guards: Vec<_> = self.guards.iter().filter(|((scope, ..), _)| *scope == at).collect();
        let guards: Vec<_> =
            guards.iter().map(|((_, bits, ip), action)| (bits, ip, action)).collect();
        let plain = abi::Service { pool: 0, rule_first: 0, ..service };
        format!("{plain:?}\n{guards:?}\n{rules:#?}\n{}", self.pool(service.pool))
    }

    fn pool(&self, at: u32) -> String {
        if at == abi::NONE {
            return "nobody".to_owned();
        }
        let pool = self.pools[&at];
        let plain = abi::Pool { first: 0, sticky_scope: 0, pool6: 0, ..pool };
        let server = |at: u32| {
            let server = self.servers[&at];
            let shares = server.share_first..server.share_first + server.share_count;
            let shares: Vec<_> = shares
                .map(|at| self.shares[&self.share_list[&at]])
                .map(|share| (share.back, share.proto, share.flags))
                .collect();
            let plain = abi::Server { next_hop: 0, share_first: 0, service: 0, ..server };
            format!("{plain:?} {shares:?}")
        };
        let servers: Vec<String> = self.entries(&pool).into_iter().map(server).collect();
        let second = pool.pool6.checked_sub(1).map(|at| self.pool(at)).unwrap_or_default();
        format!("{plain:?} {servers:#?} {second}")
    }

    /// The maps that the next process reads.
    pub fn found(&self) -> RecoveredMaps {
        let used = (abi::SERVER_SERVES | abi::SERVER_RESETS) as u8;
        let servers: BTreeMap<u32, abi::Server> = self
            .servers
            .iter()
            .filter(|(_, server)| server.flags & used != 0)
            .map(|(at, server)| (*at, *server))
            .collect();
        let list = |server: &abi::Server| {
            let at = server.share_first..server.share_first + server.share_count;
            (server.share_first, at.map(|at| self.share_list[&at]).collect())
        };
        let rules = self.services.values().filter(|service| service.rule_count > 0);
        let of = |service: &abi::Service| {
            let rules = service.rule_first..service.rule_first + service.rule_count;
            let pools = rules.filter_map(|at| self.rules.get(&at)).map(|rule| rule.pool);
            pools.chain([service.pool]).collect::<Vec<_>>()
        };
        let named: BTreeSet<u32> = self.services.values().flat_map(of).collect();
        RecoveredMaps {
            vips: self.vips.clone(),
            lists: servers.values().map(list).collect(),
            shares: self
                .share_keys
                .iter()
                .map(|(key, at)| RecoveredShare { key: *key, index: *at, share: self.shares[at] })
                .collect(),
            pools: self
                .pools
                .iter()
                .filter(|(at, pool)| pool.length > 0 || named.contains(at))
                .map(|(at, pool)| (*at, *pool))
                .collect(),
            rules: rules
                .map(|service| ArrayRegion {
                    first: service.rule_first,
                    length: service.rule_count,
                })
                .collect(),
            servers,
        }
    }
}
