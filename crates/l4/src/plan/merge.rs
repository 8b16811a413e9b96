//! One service's part against the one in force: what of it has to be written. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use model::snapshot::{PoolView, ServiceView};

use super::guards::key;
use super::part::Part;
use super::state::{Change, Planner, Standing};
use crate::abi;
use crate::layout::{Full, Region, Regions};
use crate::write::Write;

impl Planner {
    /// Puts a part in force in place of the one before.
    pub(super) fn put(
        &mut self,
        view: &Arc<ServiceView>,
        pools: Vec<Arc<PoolView>>,
        mut part: Part,
        change: &mut Change,
    ) {
        let name = view.config.name.clone();
        let nothing = Part { index: part.index, ..Part::default() };
        let before = self.standing.remove(&name);
        let old = before.as_ref().map_or(&nothing, |standing| &standing.part);
        let written = self
            .shares(&mut part, old, change)
            .and_then(|()| self.servers(&mut part, old, change))
            .and_then(|()| self.schedules(&mut part, old, change))
            .and_then(|()| self.rules(&mut part, old, change));
        if let Err(full) = written {
            change.obstacles.insert(name.clone(), full.to_string());
            // What was taken for it is given back with what stood before.
            self.standing.extend(before.map(|standing| (name.clone(), standing)));
            self.take_out(&name, change);
            return;
        }
        for (at, value) in &part.guards {
            if old.guards.get(at) != Some(value) {
                change.writes.push(Write::Guard(key(part.index, *at), *value));
            }
        }
        let gone = old.guards.keys().filter(|at| !part.guards.contains_key(at));
        change.writes.extend(gone.map(|at| Write::DropGuard(key(part.index, *at))));
        part.service.rule_first = part.rules_at.first;
        if old.service != part.service || before.is_none() {
            change.writes.push(Write::Service(part.index, part.service));
        }
        let minute = self.facts.minute;
        self.standing.insert(name, Standing { part, view: Arc::clone(view), pools, minute });
    }

    /// Takes a service out: its addresses go with the next look at them all, its servers leave.
    pub(super) fn take_out(&mut self, name: &str, change: &mut Change) {
        let Some(standing) = self.standing.remove(name) else { return };
        let part = standing.part;
        let guards = part.guards.keys().map(|at| Write::DropGuard(key(part.index, *at)));
        change.writes.extend(guards);
        for (pool, region) in &part.schedules {
            self.freed.schedule.push(*region);
            self.release_pool(*pool);
        }
        self.freed.rules.push(part.rules_at);
        let servers: Vec<u32> = part.servers.keys().copied().collect();
        for index in servers {
            self.leave(&part, index, change);
        }
    }

    fn servers(&mut self, part: &mut Part, old: &Part, change: &mut Change) -> Result<(), Full> {
        for (index, (key, server)) in &part.servers {
            if !old.servers.contains_key(index) {
                match self.leaving.remove(index) {
                    None => self.way_needs.add(key.address),
                    // It comes back before it was forgotten; its shares were counted again with the part.
                    Some(was) => {
                        self.freed.lists.push(was.list);
                        was.shares.iter().for_each(|share| self.end_share(share, change));
                    }
                }
            }
            if old.servers.get(index).is_none_or(|(_, before)| before != server) {
                change.writes.push(Write::Server(*index, *server));
            }
        }
        let gone: Vec<u32> =
            old.servers.keys().filter(|index| !part.servers.contains_key(index)).copied().collect();
        for index in gone {
            self.leave(old, index, change);
        }
        Ok(())
    }

    fn schedules(&mut self, part: &mut Part, old: &Part, change: &mut Change) -> Result<(), Full> {
        let mut places = HashMap::new();
        for (index, (pool, entries)) in &mut part.pools {
            let before = old.pools.get(index);
            let place = old.schedules.get(index).copied();
            let kept = before.filter(|(_, old)| old == entries).and(place);
            let region = place_for(&mut self.layout.schedule, kept, entries.len())?;
            if kept.is_none() {
                self.freed.schedule.extend(place);
                if !entries.is_empty() {
                    change.writes.push(Write::Schedule(region.first, entries.clone()));
                }
            }
            pool.first = region.first;
            places.insert(*index, region);
            if before.is_none_or(|(old, _)| old != pool) {
                change.writes.push(Write::Pool(*index, *pool));
            }
        }
        for (index, region) in &old.schedules {
            if !part.pools.contains_key(index) {
                self.freed.schedule.push(*region);
                self.release_pool(*index);
            }
        }
        part.schedules = places;
        Ok(())
    }

    fn rules(&mut self, part: &mut Part, old: &Part, change: &mut Change) -> Result<(), Full> {
        let kept = Some(old.rules_at).filter(|at| old.rules == part.rules && at.length > 0);
        part.rules_at = place_for(&mut self.layout.rules, kept, part.rules.len())?;
        if kept.is_none() {
            self.freed.rules.push(old.rules_at);
            if !part.rules.is_empty() {
                change.writes.push(Write::Rules(part.rules_at.first, part.rules.clone()));
            }
        }
        Ok(())
    }

    fn release_pool(&mut self, index: u32) {
        let found = self.layout.pools.iter().find(|(_, at)| *at == index).map(|(name, _)| *name);
        if let Some(name) = found {
            self.layout.pools.release(&name);
        }
    }

    /// Whether there are shares, and such that keep the client's address.
    pub(super) fn share_flags(&self) -> u32 {
        let keys = self.share_needs.keys();
        let client = keys.iter().any(|key| key.back.is_none());
        (if keys.is_empty() { 0 } else { abi::CONFIG_NAT })
            | (if client { abi::CONFIG_CLIENT_SOURCE } else { 0 })
    }
}

/// The region in which entries stay, or a new one.
pub(super) fn place_for(
    room: &mut Regions,
    kept: Option<Region>,
    entries: usize,
) -> Result<Region, Full> {
    match kept {
        Some(region) => Ok(region),
        None => room.take(u32::try_from(entries).unwrap_or(u32::MAX)),
    }
}
