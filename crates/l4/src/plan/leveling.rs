//! Schedules of `balance = "least-connections"`: rewritten in place each second from the sweep's counts. Pure.

use std::collections::HashMap;

use super::pools::ScheduledPool;
use super::schedule::{LeveledMember, WeightedMember, level_turns, remaining_connections};
use super::state::{MapPlanner, PlannedChange};
use crate::connection_counts::ConnectionCounts;
use crate::map_write::MapWrite;

impl MapPlanner {
    /// Levels every schedule that follows connections. Only differing entries are written. Each of them names a server
    /// of the pool before and after, so that a packet never sees an invalid entry.
    pub(super) fn level_schedules(
        &mut self,
        connections: &ConnectionCounts,
        arrivals: &HashMap<u32, u32>,
        change: &mut PlannedChange,
    ) {
        let before = std::mem::replace(&mut self.flows, connections.active.clone());
        let of = |flows: &HashMap<u32, u32>, entry| flows.get(&entry).copied().unwrap_or(0);
        for part in self.active.values_mut().map(|standing| &mut standing.plan) {
            let arrived = arrivals.get(&part.index).copied().unwrap_or(0);
            for (at, members) in &part.leveled_pools {
                let (Some(ScheduledPool { entries, .. }), Some(region)) =
                    (part.pools.get_mut(at), part.schedules.get(at))
                else {
                    continue;
                };
                let turns = count_turns(entries);
                let member = |WeightedMember { entry, weight }: &WeightedMember| {
                    let turns = u64::from(of(&turns, *entry));
                    let begun = u64::from(arrived) * turns / (entries.len() as u64).max(1);
                    let begun = u32::try_from(begun).unwrap_or(u32::MAX);
                    let flows = remaining_connections(
                        of(&before, *entry),
                        begun,
                        of(&connections.active, *entry),
                    );
                    LeveledMember { entry: *entry, weight: *weight, flows }
                };
                let members: Vec<LeveledMember> = members.iter().map(member).collect();
                let new = level_turns(&members, arrived);
                if let Some((first, run)) = changed_range(entries, &new) {
                    change.writes.push(MapWrite::Schedule(region.first + first, run));
                    *entries = new;
                }
            }
        }
    }
}

/// How often each server is in a schedule.
fn count_turns(entries: &[u32]) -> HashMap<u32, u32> {
    let mut turns = HashMap::new();
    for entry in entries {
        *turns.entry(*entry).or_default() += 1;
    }
    turns
}

/// The range from the first to the last differing entry. `None` if all are equal. Both lists have the same length.
fn changed_range(old: &[u32], new: &[u32]) -> Option<(u32, Vec<u32>)> {
    let first = old.iter().zip(new).position(|(old, new)| old != new)?;
    let last = old.iter().zip(new).rposition(|(old, new)| old != new)?;
    Some((u32::try_from(first).ok()?, new[first..=last].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_written() {
        assert_eq!(changed_range(&[1, 2, 3], &[1, 2, 3]), None);
        assert_eq!(changed_range(&[1, 2, 3, 4], &[1, 3, 3, 5]), Some((1, vec![3, 3, 5])));
    }
}
