//! From one snapshot to the next: which services changed, and what follows for all of them together. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use model::config::Packets;
use model::snapshot::{PoolView, ServiceView, Snapshot};

use super::facts::Facts;
use super::form;
use super::part::{Obstacle, Part, part};
use super::source::Source;
use super::state::{Change, Freed, Planner, Standing};
use super::vips::{self, Listening};
use crate::abi;
use crate::write::{Write, order};

/// The name of the service that stands for what this host proxies.
const HOST: &str = "\u{0}host";

impl Planner {
    /// The writes from what stands in the maps to `snapshot`.
    pub fn change(&mut self, snapshot: &Snapshot, plane: &Packets, facts: &Facts) -> Change {
        // The minute matters to services with hours alone.
        let still = |a: &Facts, b: &Facts| {
            a.local == b.local
                && a.shared == b.shared
                && a.paired == b.paired
                && a.busy == b.busy
                && a.sources == b.sources
                && a.routed == b.routed
                && a.broken == b.broken
        };
        let anew = !still(&self.facts, facts) || self.plane.as_ref() != Some(plane);
        self.facts = facts.clone();
        if anew {
            self.plane = Some(plane.clone());
        }
        self.give_back();
        let mut change = Change::default();
        let mut wanted: BTreeSet<&str> = BTreeSet::new();
        let mut touched = false;
        let views = snapshot.services.values().filter(|view| view.config.packets.is_some());
        // By name, so that what they take of the same room does not depend on chance.
        let views: BTreeMap<&str, _> =
            views.map(|view| (view.config.name.as_str(), view)).collect();
        for view in views.into_values() {
            let name = view.config.name.as_str();
            wanted.insert(name);
            let pools = pools_of(snapshot, view);
            if let Some(old) = self.standing.get(name)
                && !anew
                && same(old, view, &pools, facts.minute)
            {
                continue;
            }
            touched = true;
            match self.make(view, &pools, plane, facts) {
                Ok(part) => self.put(view, pools, part, &mut change),
                Err(obstacle) => {
                    change.obstacles.insert(name.to_owned(), obstacle.to_string());
                    self.take_out(name, &mut change);
                    self.give_up(name);
                }
            }
        }
        let gone: Vec<String> =
            self.standing.keys().filter(|name| !wanted.contains(name.as_str())).cloned().collect();
        for name in gone {
            touched = true;
            self.take_out(&name, &mut change);
        }
        self.end_shares(&mut change);
        self.retire_services(&wanted);
        self.forget_recovered();
        if touched || self.flags.is_none() {
            self.listen(snapshot, &mut change);
        }
        order(&mut change.writes);
        change
    }

    fn make(
        &mut self,
        view: &ServiceView,
        pools: &[Arc<PoolView>],
        plane: &Packets,
        facts: &Facts,
    ) -> Result<Part, Obstacle> {
        if let Some(why) = &facts.broken {
            return Err(Obstacle::Plane(why.clone()));
        }
        let Some(packets) = &view.config.packets else {
            return Err(Obstacle::Plane("it forwards no packets".to_owned()));
        };
        self.claim_recovered(&view.config.name, packets);
        let index = self.layout.services.take(&view.config.name)?;
        let source = Source { view, packets, pools, plane, facts, flows: &self.flows };
        part(index, &source, &mut self.layout)
    }

    fn give_back(&mut self) {
        let Freed { schedule, lists, rules, records, pools, shares } =
            std::mem::take(&mut self.freed);
        pools.into_iter().for_each(|index| self.layout.pools.give_back(index));
        shares.into_iter().for_each(|index| self.layout.shares.give_back(index));
        records.into_iter().for_each(|region| self.layout.record_room.release(region));
        schedule.into_iter().for_each(|region| self.layout.schedule.release(region));
        lists.into_iter().for_each(|region| self.layout.share_list.release(region));
        rules.into_iter().for_each(|region| self.layout.rules.release(region));
    }

    /// What is listened on, over all services, and what there is at all.
    fn listen(&mut self, snapshot: &Snapshot, change: &mut Change) {
        let mut all: Vec<Listening> = self.standing.values().filter_map(listening).collect();
        let (mut vips, mut refused) = vips::vips(&all);
        if vips::flags(&vips) != 0 {
            self.except_proxies(snapshot, &mut all, change);
            (vips, refused) = vips::vips(&all);
        }
        for (name, obstacle) in refused {
            change.obstacles.insert(name, obstacle.to_string());
        }
        for (key, vip) in &vips {
            if self.vips.get(key) != Some(vip) {
                change.writes.push(match vips::split(*key) {
                    Ok(v4) => Write::Vip4(v4, *vip),
                    Err(v6) => Write::Vip6(v6, *vip),
                });
            }
        }
        for key in self.vips.keys().filter(|key| !vips.contains_key(key)) {
            change.writes.push(match vips::split(*key) {
                Ok(v4) => Write::DropVip4(v4),
                Err(v6) => Write::DropVip6(v6),
            });
        }
        let flags = vips::flags(&vips) | self.share_flags();
        // Before any port is taken of either kind of share.
        if flags & abi::CONFIG_PORT_PAIRS != 0 {
            change.writes.push(Write::Expect(self.flags.unwrap_or(flags) | abi::CONFIG_PORT_PAIRS));
        }
        self.vips = vips;
        self.note_addresses(change);
        if self.flags != Some(flags) {
            self.flags = Some(flags);
            change.writes.push(Write::Flags(flags));
        }
    }

    /// Addresses whose fragments are looked at: of services, and those that servers answer to. Where a service has every
    /// address, this machine's own too.
    pub(super) fn note_addresses(&mut self, change: &mut Change) {
        let mut now: BTreeMap<IpAddr, u32> = BTreeMap::new();
        for key in self.vips.keys().filter(|key| !key.address.is_unspecified()) {
            *now.entry(key.address).or_default() |= abi::ADDRESS_SERVICE;
        }
        for back in self.share_needs.backs() {
            *now.entry(back).or_default() |= abi::ADDRESS_RETURN;
        }
        if self.vips.keys().any(|key| key.address.is_unspecified()) {
            for own in self.facts.local.iter() {
                *now.entry(*own).or_default() |= abi::ADDRESS_OWN;
            }
        }
        let form = |ip: &IpAddr| abi::Address { addr: form::address(*ip) };
        for (ip, kinds) in &now {
            if self.addresses.get(ip) != Some(kinds) {
                change.writes.push(Write::Address(form(ip), *kinds));
            }
        }
        let gone = self.addresses.keys().filter(|ip| !now.contains_key(ip));
        change.writes.extend(gone.map(|ip| Write::DropAddress(form(ip))));
        self.addresses = now;
    }

    /// Where a wildcard would take a proxy's packets too, the proxy's own addresses are entered as the host's.
    fn except_proxies(
        &mut self,
        snapshot: &Snapshot,
        all: &mut Vec<Listening>,
        change: &mut Change,
    ) {
        use model::config::{Protocols, Span};
        let sockets = snapshot.services.values().flat_map(|view| &view.config.listen);
        let spans: Vec<Span> = sockets.map(|at| Span::one(at.ip(), at.port())).collect();
        let Ok(service) = self.layout.services.take(&HOST.to_owned()) else { return };
        let method = abi::Method::Host as u32;
        let host = abi::Service { method, pool: abi::NONE, ..abi::Service::default() };
        change.writes.push(Write::Service(service, host));
        let protocols = Protocols { tcp: true, udp: false };
        all.push(Listening { service, name: HOST.to_owned(), spans, protocols });
    }
}

fn listening(standing: &Standing) -> Option<Listening> {
    let packets = standing.view.config.packets.as_ref()?;
    Some(Listening {
        service: standing.part.index,
        name: standing.view.config.name.clone(),
        spans: packets.listen.clone(),
        protocols: packets.protocols,
    })
}

/// The pool of a service, then those of its rules, each once.
fn pools_of(snapshot: &Snapshot, view: &ServiceView) -> Vec<Arc<PoolView>> {
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

fn same(old: &Standing, view: &Arc<ServiceView>, pools: &[Arc<PoolView>], minute: u16) -> bool {
    Arc::ptr_eq(&old.view, view)
        && old.pools.len() == pools.len()
        && old.pools.iter().zip(pools).all(|(a, b)| Arc::ptr_eq(a, b))
        && (!old.part.timed || old.minute == minute)
}
