//! Servers that left: they serve the flows they have and take none, until the sweep has seen no flow of theirs. Pure.

use super::part::Part;
use super::state::{Change, Leaving, Planner, placeholder};
use crate::abi;
use crate::write::{Write, order};

/// Sweeps in a row that must have seen no flow before an index is given to another.
const QUIET: u8 = 2;

impl Planner {
    /// Lets a server of a part leave.
    pub(super) fn leave(&mut self, part: &Part, index: u32, change: &mut Change) {
        let Some((key, server)) = part.servers.get(&index) else { return };
        let taking = u8::try_from(abi::SERVER_TAKES).unwrap_or_default();
        let server = abi::Server { flags: server.flags & !taking, ..*server };
        change.writes.push(Write::Server(index, server));
        let shares = part.shares.get(&index).cloned().unwrap_or_default();
        let list = part.lists.get(&index).copied().unwrap_or_default();
        self.leaving.insert(index, Leaving { key: *key, server, shares, list, quiet: 0 });
    }

    /// A service that is gone keeps its index as long as servers of it are leaving.
    pub(super) fn retire_service(&mut self, name: &str) {
        if let Some(index) = self.layout.services.find(&name.to_owned()) {
            self.layout.services.rename(&name.to_owned(), placeholder(index));
        }
    }

    /// Gives back the indexes of services that are gone with all their servers.
    pub(super) fn release_services(&mut self) -> Vec<u32> {
        let held: std::collections::HashSet<u32> =
            self.leaving.values().map(|one| one.server.service).collect();
        let gone: Vec<(String, u32)> = self
            .layout
            .services
            .iter()
            .filter(|(name, index)| **name == placeholder(*index) && !held.contains(index))
            .map(|(name, index)| (name.clone(), index))
            .collect();
        gone.iter().for_each(|(name, _)| {
            let _ = self.layout.services.release(name);
        });
        gone.into_iter().map(|(_, index)| index).collect()
    }

    /// Told by the sweep how many flows each index has: forgets servers that left and have had none for a while. The
    /// second result are the indexes that were given back.
    pub fn reclaim(&mut self, flows: impl Fn(u32) -> u32) -> (Change, Vec<u32>) {
        let mut change = Change::default();
        let mut forgotten = Vec::new();
        for (index, one) in &mut self.leaving {
            one.quiet = if flows(*index) == 0 { one.quiet.saturating_add(1) } else { 0 };
            if one.quiet >= QUIET {
                forgotten.push(*index);
            }
        }
        for index in &forgotten {
            let Some(one) = self.leaving.remove(index) else { continue };
            self.layout.servers.release(&one.key);
            self.freed.lists.push(one.list);
            for share in &one.shares {
                self.end_share(share, &mut change);
            }
            if self.way_needs.drop_one(&one.key.address) {
                self.layout.ways.release(&one.key.address);
            }
            change.writes.push(Write::DropServer(*index));
        }
        if !forgotten.is_empty() {
            change.writes.extend(self.release_services().into_iter().map(Write::DropService));
            let flags = self.share_flags();
            let kinds = abi::CONFIG_NAT | abi::CONFIG_CLIENT_SOURCE;
            if let Some(old) = self.flags
                && old & kinds != flags
            {
                self.flags = Some(old & !kinds | flags);
                change.writes.push(Write::Flags(old & !kinds | flags));
            }
        }
        order(&mut change.writes);
        (change, forgotten)
    }
}
