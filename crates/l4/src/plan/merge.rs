//! One service's part against the one in force: what of it has to be written. Pure.

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
        let written = change.writes.len();
        let placed = self
            .shares(&mut part, old, change)
            .and_then(|()| self.schedules(&mut part, old, change))
            .and_then(|()| self.rules(&mut part, old, change));
        if let Err(full) = placed {
            change.obstacles.insert(name.clone(), full.to_string());
            change.writes.truncate(written);
            self.undo(&part, old);
            self.standing.extend(before.map(|standing| (name.clone(), standing)));
            self.take_out(&name, change);
            self.give_up(&name);
            return;
        }
        self.servers(&part, old, change);
        self.settle(&part, old);
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

    /// Gives back what a part that did not find room has taken; none of it was written.
    fn undo(&mut self, part: &Part, old: &Part) {
        for (index, region) in &part.lists {
            if old.lists.get(index) != Some(region) {
                self.end_list(part, *index);
            }
        }
        for key in part.shares.values().flatten() {
            self.end_unneeded(key);
        }
        for (index, region) in &part.schedules {
            if old.schedules.get(index) != Some(region) {
                self.layout.schedule.release(*region);
            }
        }
        if part.rules_at != old.rules_at {
            self.layout.rules.release(part.rules_at);
        }
    }

    /// Gives up what the part in force has no use for any more.
    fn settle(&mut self, part: &Part, old: &Part) {
        for (index, region) in &old.schedules {
            if part.schedules.get(index) != Some(region) {
                self.freed.schedule.push(*region);
            }
            if !part.pools.contains_key(index) {
                self.release_pool(*index);
            }
        }
        if part.rules_at != old.rules_at {
            self.freed.rules.push(old.rules_at);
        }
        // Lists that changed for servers that stay; the others leave with theirs.
        let stay = old.lists.iter().filter(|(index, _)| part.servers.contains_key(index));
        let changed: Vec<u32> = stay
            .filter(|(index, region)| part.lists.get(index) != Some(region))
            .map(|(index, _)| *index)
            .collect();
        changed.into_iter().for_each(|index| self.end_list(old, index));
    }

    fn servers(&mut self, part: &Part, old: &Part, change: &mut Change) {
        for (index, (key, server)) in &part.servers {
            if !old.servers.contains_key(index) {
                match self.leaving.remove(index) {
                    None => {
                        self.ways_changed |= self.way_needs.add(key.address);
                    }
                    // It comes back before it was forgotten; its shares were counted again with the part.
                    Some(was) => {
                        self.freed.lists.push(was.list);
                        was.shares.iter().for_each(|share| self.end_share(share));
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
    }

    fn schedules(&mut self, part: &mut Part, old: &Part, change: &mut Change) -> Result<(), Full> {
        for (index, (pool, entries)) in &mut part.pools {
            let before = old.pools.get(index);
            // A levelled schedule of the same members goes on as it is.
            let members = part.levelled.get(index);
            if let Some((_, standing)) = before.filter(|_| members.is_some())
                && old.levelled.get(index) == members
            {
                entries.clone_from(standing);
            }
            let place = old.schedules.get(index).copied();
            let kept = before.filter(|(_, old)| old == entries).and(place);
            let region = place_for(&mut self.layout.schedule, kept, entries.len())?;
            if kept.is_none() && !entries.is_empty() {
                change.writes.push(Write::Schedule(region.first, entries.clone()));
            }
            pool.first = region.first;
            part.schedules.insert(*index, region);
            if before.is_none_or(|(old, _)| old != pool) {
                change.writes.push(Write::Pool(*index, *pool));
            }
        }
        Ok(())
    }

    fn rules(&mut self, part: &mut Part, old: &Part, change: &mut Change) -> Result<(), Full> {
        let kept = Some(old.rules_at).filter(|at| old.rules == part.rules && at.length > 0);
        part.rules_at = place_for(&mut self.layout.rules, kept, part.rules.len())?;
        if kept.is_none() && !part.rules.is_empty() {
            change.writes.push(Write::Rules(part.rules_at.first, part.rules.clone()));
        }
        Ok(())
    }

    fn release_pool(&mut self, index: u32) {
        if let Some(name) = self.layout.pools.name(index).copied() {
            self.freed.pools.extend(self.layout.pools.lift(&name));
        }
    }

    /// Whether there are shares, such that keep the client's address, and such of one port beside such of all ports.
    pub(super) fn share_flags(&self) -> u32 {
        let needs = &self.share_needs;
        (if needs.any() { abi::CONFIG_NAT } else { 0 })
            | (if needs.keep_clients() { abi::CONFIG_CLIENT_SOURCE } else { 0 })
            | (if needs.pair_ports() { abi::CONFIG_PORT_PAIRS } else { 0 })
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
