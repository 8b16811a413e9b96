//! Allocates the indexes of the maps. Pure: it touches no map.
//!
//! An index is not reused while something may still refer to it. The caller releases it once no reference is left.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::net::IpAddr;

use thiserror::Error;

/// The reason why a table is full.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the packet plane has room for {limit} {what} and no more")]
pub struct CapacityError {
    /// The kind of index that ran out.
    pub what: &'static str,
    pub limit: u32,
}

/// Names and their indexes.
#[derive(Clone, Debug)]
pub struct IndexAllocator<K> {
    what: &'static str,
    limit: u32,
    next: u32,
    free: BTreeSet<u32>,
    by_name: HashMap<K, u32>,
    /// The names by their indexes.
    names: HashMap<u32, K>,
}

impl<K: Hash + Eq + Clone> IndexAllocator<K> {
    /// Allocates the indexes below `limit`.
    pub fn new(what: &'static str, limit: u32) -> IndexAllocator<K> {
        IndexAllocator {
            what,
            limit,
            next: 0,
            free: BTreeSet::new(),
            by_name: HashMap::new(),
            names: HashMap::new(),
        }
    }

    pub fn find(&self, name: &K) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// The name that has an index.
    pub fn name(&self, index: u32) -> Option<&K> {
        self.names.get(&index)
    }

    /// The index of a name; allocates one if it has none.
    pub fn allocate(&mut self, name: &K) -> Result<u32, CapacityError> {
        if let Some(index) = self.by_name.get(name) {
            return Ok(*index);
        }
        let index = match self.free.pop_first() {
            Some(index) => index,
            None if self.next < self.limit => {
                self.next += 1;
                self.next - 1
            }
            None => return Err(CapacityError { what: self.what, limit: self.limit }),
        };
        self.by_name.insert(name.clone(), index);
        self.names.insert(index, name.clone());
        Ok(index)
    }

    /// Marks an index as used under this name.
    pub fn adopt(&mut self, name: K, index: u32) {
        while self.next <= index && self.next < self.limit {
            self.free.insert(self.next);
            self.next += 1;
        }
        self.free.remove(&index);
        self.names.insert(index, name.clone());
        self.by_name.insert(name, index);
    }

    /// Moves the index of one name to another.
    pub fn rename(&mut self, old: &K, new: K) {
        if let Some(index) = self.by_name.remove(old) {
            self.names.insert(index, new.clone());
            self.by_name.insert(new, index);
        }
    }

    pub fn release(&mut self, name: &K) -> Option<u32> {
        let index = self.by_name.remove(name)?;
        self.names.remove(&index);
        self.free.insert(index);
        Some(index)
    }

    /// Removes the name of an index, which stays allocated until it is released.
    pub fn detach_name(&mut self, name: &K) -> Option<u32> {
        let index = self.by_name.remove(name)?;
        self.names.remove(&index);
        Some(index)
    }

    /// Gives a lifted index back.
    pub fn free_detached(&mut self, index: u32) {
        self.free.insert(index);
    }

    /// Every name with its index.
    pub fn iter(&self) -> impl Iterator<Item = (&K, u32)> {
        self.by_name.iter().map(|(name, index)| (name, *index))
    }

    /// How many are in use.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArrayRegion {
    pub first: u32,
    pub length: u32,
}

/// Hands out regions of an array.
#[derive(Clone, Debug)]
pub struct RegionAllocator {
    what: &'static str,
    limit: u32,
    /// Free regions by their first entry; neighbours are merged.
    free: BTreeMap<u32, u32>,
}

impl RegionAllocator {
    /// A region of `limit` free entries.
    pub fn new(what: &'static str, limit: u32) -> RegionAllocator {
        RegionAllocator { what, limit, free: BTreeMap::from([(0, limit)]) }
    }

    /// The first region that is long enough. An empty one needs no entries.
    pub fn allocate(&mut self, length: u32) -> Result<ArrayRegion, CapacityError> {
        if length == 0 {
            return Ok(ArrayRegion::default());
        }
        let fits =
            self.free.iter().find(|(_, room)| **room >= length).map(|(at, room)| (*at, *room));
        let Some((first, room)) = fits else {
            return Err(CapacityError { what: self.what, limit: self.limit });
        };
        self.free.remove(&first);
        if room > length {
            self.free.insert(first + length, room - length);
        }
        Ok(ArrayRegion { first, length })
    }

    /// Marks entries as used. Returns those that were free before, to be released later: unreferenced regions may
    /// overlap referenced ones.
    pub fn adopt(&mut self, region: ArrayRegion) -> Vec<ArrayRegion> {
        if region.length == 0 {
            return Vec::new();
        }
        let end = region.first.saturating_add(region.length);
        let before = self.free.range(..end).rev().map(|(at, room)| (*at, *room));
        let around: Vec<(u32, u32)> =
            before.take_while(|(at, room)| at + room > region.first).collect();
        let mut marked = Vec::with_capacity(around.len());
        for (at, room) in around {
            let first = at.max(region.first);
            let after = end.min(at + room);
            self.free.remove(&at);
            if first > at {
                self.free.insert(at, first - at);
            }
            if at + room > after {
                self.free.insert(after, at + room - after);
            }
            marked.push(ArrayRegion { first, length: after - first });
        }
        marked
    }

    pub fn release(&mut self, region: ArrayRegion) {
        let ArrayRegion { mut first, mut length } = region;
        if length == 0 {
            return;
        }
        if let Some((at, room)) = self.free.range(..first).next_back().map(|(a, r)| (*a, *r))
            && at + room == first
        {
            self.free.remove(&at);
            first = at;
            length += room;
        }
        if let Some(room) = self.free.remove(&(first + length)) {
            length += room;
        }
        self.free.insert(first, length);
    }

    /// Entries that are free.
    pub fn free_entries(&self) -> u32 {
        self.free.values().sum()
    }
}

/// Ports of a return address towards a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShareKey {
    pub server: IpAddr,
    /// The server's port; 0: all ports.
    pub port: u16,
    /// The return address; `None`: the client's address is preserved.
    pub return_address: Option<IpAddr>,
    pub protocol: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerKey {
    /// Index of the service.
    pub service: u32,
    pub address: IpAddr,
    /// The server's port; 0: the packet's port is preserved.
    pub port: u16,
}

/// A pool of a service as the planner names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolKey {
    /// Index of the service.
    pub service: u32,
    /// The pool's position among those of the service.
    pub position: u32,
}

/// A share in the maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedShare {
    pub index: u32,
    pub key: ShareKey,
    /// Its records: one for each port.
    pub region: ArrayRegion,
}

/// Entries of the maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapCapacity {
    pub services: u32,
    pub pools: u32,
    pub servers: u32,
    pub next_hops: u32,
    pub shares: u32,
    /// Mentions of shares by servers.
    pub share_list: u32,
    pub records: u32,
    pub schedule: u32,
    pub rules: u32,
}

/// All indexes in use.
#[derive(Clone, Debug)]
pub struct MapLayout {
    pub services: IndexAllocator<String>,
    pub pools: IndexAllocator<PoolKey>,
    pub servers: IndexAllocator<ServerKey>,
    /// Next hops by server address.
    pub next_hops: IndexAllocator<IpAddr>,
    pub shares: IndexAllocator<ShareKey>,
    /// Records of each share.
    pub records: HashMap<ShareKey, ArrayRegion>,
    pub free_records: RegionAllocator,
    /// Free entries of schedules.
    pub schedule: RegionAllocator,
    /// Free entries of the lists of shares.
    pub share_list: RegionAllocator,
    pub rules: RegionAllocator,
}

impl MapLayout {
    /// Nothing is in use.
    pub fn new(capacity: &MapCapacity) -> MapLayout {
        MapLayout {
            services: IndexAllocator::new("services", capacity.services),
            pools: IndexAllocator::new("pools", capacity.pools),
            servers: IndexAllocator::new("servers", capacity.servers),
            next_hops: IndexAllocator::new("addresses of servers", capacity.next_hops),
            shares: IndexAllocator::new("pairs of a return address and a server", capacity.shares),
            records: HashMap::new(),
            free_records: RegionAllocator::new(
                "translated connections (`flows` in `[packets]`)",
                capacity.records,
            ),
            schedule: RegionAllocator::new("entries of schedules", capacity.schedule),
            share_list: RegionAllocator::new(
                "pairs of a return address and a server",
                capacity.share_list,
            ),
            rules: RegionAllocator::new("rules", capacity.rules),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_kept_and_used_again_when_freed() {
        let mut names = IndexAllocator::new("names", 3);
        assert_eq!(
            [names.allocate(&"a"), names.allocate(&"b"), names.allocate(&"a")],
            [Ok(0), Ok(1), Ok(0)]
        );
        assert_eq!(names.release(&"a"), Some(0));
        assert_eq!((names.allocate(&"c"), names.allocate(&"d")), (Ok(0), Ok(2)));
        assert_eq!(names.allocate(&"e").unwrap_err().limit, 3);
    }

    #[test]
    fn adopted_indexes_are_not_given_again() {
        let mut names = IndexAllocator::new("names", 4);
        names.adopt("x", 2);
        assert_eq!(
            [names.allocate(&"a"), names.allocate(&"b"), names.allocate(&"c")],
            [Ok(0), Ok(1), Ok(3)]
        );
        names.rename(&"x", "y");
        assert_eq!(names.find(&"y"), Some(2));
    }

    #[test]
    fn regions_merge_again() {
        let mut room = RegionAllocator::new("entries", 10);
        let a = room.allocate(4).unwrap();
        let b = room.allocate(6).unwrap();
        assert!(room.allocate(1).is_err());
        room.release(a);
        room.release(b);
        assert_eq!(room.allocate(10), Ok(ArrayRegion { first: 0, length: 10 }));
    }

    #[test]
    fn adopted_regions_are_not_given_again() {
        let mut room = RegionAllocator::new("entries", 10);
        assert_eq!(
            room.adopt(ArrayRegion { first: 3, length: 2 }),
            [ArrayRegion { first: 3, length: 2 }]
        );
        assert_eq!(room.allocate(3), Ok(ArrayRegion { first: 0, length: 3 }));
        assert_eq!(room.allocate(5), Ok(ArrayRegion { first: 5, length: 5 }));
        assert_eq!(room.free_entries(), 0);
    }

    #[test]
    fn overlapping_regions_are_adopted_once() {
        let mut room = RegionAllocator::new("entries", 20);
        assert_eq!(
            room.adopt(ArrayRegion { first: 4, length: 4 }),
            [ArrayRegion { first: 4, length: 4 }]
        );
        let around = room.adopt(ArrayRegion { first: 2, length: 10 });
        assert_eq!(
            around,
            [ArrayRegion { first: 8, length: 4 }, ArrayRegion { first: 2, length: 2 }]
        );
        assert_eq!(room.adopt(ArrayRegion { first: 5, length: 2 }), []);
        assert_eq!(room.free_entries(), 10);
        around.into_iter().for_each(|region| room.release(region));
        room.release(ArrayRegion { first: 4, length: 4 });
        assert_eq!(room.allocate(20), Ok(ArrayRegion { first: 0, length: 20 }));
    }
}
