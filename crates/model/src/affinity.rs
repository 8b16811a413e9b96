//! Sticky sessions: the assignment of clients to servers. Keys of clients, and a bounded table of their servers; the
//! tokens of affinity cookies are in `affinity/cookie.rs`.
//!
//! All planes follow the same rules. A client is identified by the network of its address or by a part of its request.
//! Each connection or request renews the entry. When the table is full, the client that was idle for longest is evicted
//! and counted. Servers are identified by name, so that services may share entries. Callers decide what happens when
//! the server may get no work.

pub mod cookie;
pub mod server_prefix;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::id::{PoolId, ServiceId};
use crate::lru_map::LruMap;
use crate::monotonic_time::MonotonicTime;
use crate::table_key;

/// Parts of a table, each with its own lock.
/// More than the workers that meet at one table at a time, as a rule.
const SHARDS: usize = 16;
/// Entries that are counted while a shard is locked: bounds how long a worker may have to wait.
const SLICE: usize = 1_024;

/// Clients and their servers, shared by workers.
#[derive(Debug)]
pub struct AffinityTable {
    shards: Box<[Mutex<LruMap<AffinityEntry>>]>,
    entries: u32,
    hits: AtomicU64,
    assigned: AtomicU64,
    evicted: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct AffinityEntry {
    /// `scoped_server_key()` of the server's name and the client's scope.
    server: u64,
    /// When the entry expires.
    until: MonotonicTime,
}

/// Figures of a table since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AffinityCounts {
    /// Entries now, including expired ones whose place was not needed yet.
    pub entries: u64,
    /// The largest number of entries.
    pub capacity: u64,
    pub hits: u64,
    /// Clients that were added, or moved to another server.
    pub assigned: u64,
    /// Entries that were evicted before they expired.
    pub evicted: u64,
}

/// How far a table has been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AffinityCursor {
    shard: usize,
    entry: usize,
}

impl AffinityTable {
    pub fn new(entries: u32) -> AffinityTable {
        let each = (entries as usize).div_ceil(SHARDS);
        AffinityTable {
            shards: (0..SHARDS).map(|_| Mutex::new(LruMap::new(each))).collect(),
            entries,
            hits: AtomicU64::new(0),
            assigned: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
        }
    }

    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// The server of a client; renews the entry.
    pub fn find(&self, key: u64, now: MonotonicTime, time: Duration) -> Option<u64> {
        let mut shard = self.shard(key);
        if shard.get(key)?.until <= now {
            return None;
        }
        let entry = shard.touch(key)?;
        entry.until = now + time;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(entry.server)
    }

    /// The server of a client; does not renew the entry.
    pub fn peek(&self, key: u64, now: MonotonicTime) -> Option<u64> {
        self.shard(key).get(key).filter(|entry| entry.until > now).map(|entry| entry.server)
    }

    /// Assigns a client to a server from now on.
    pub fn assign(&self, key: u64, server: u64, now: MonotonicTime, time: Duration) {
        let entry = AffinityEntry { server, until: now + time };
        let gone = self.shard(key).insert(key, entry);
        self.assigned.fetch_add(1, Ordering::Relaxed);
        if gone.is_some_and(|gone| gone.until > now) {
            self.evicted.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn counts(&self) -> AffinityCounts {
        let held = |shard: &Mutex<LruMap<AffinityEntry>>| lock(shard).len() as u64;
        AffinityCounts {
            entries: self.shards.iter().map(held).sum(),
            capacity: u64::from(self.entries),
            hits: self.hits.load(Ordering::Relaxed),
            assigned: self.assigned.load(Ordering::Relaxed),
            evicted: self.evicted.load(Ordering::Relaxed),
        }
    }

    /// Adds the clients in a slice of the table to the counts of these servers (keys as stored in the table). Returns
    /// the next slice; `None`: that was the last one. Clients that are added or removed between two slices may be
    /// missed.
    pub fn count_by_server(
        &self,
        from: AffinityCursor,
        now: MonotonicTime,
        servers: &mut HashMap<u64, u64>,
    ) -> Option<AffinityCursor> {
        let shard = lock(self.shards.get(from.shard)?);
        let mut seen = 0;
        for entry in shard.values_in_slots(from.entry, SLICE) {
            seen += 1;
            if entry.until > now
                && let Some(clients) = servers.get_mut(&entry.server)
            {
                *clients += 1;
            }
        }
        if seen == SLICE {
            return Some(AffinityCursor { entry: from.entry + SLICE, ..from });
        }
        let shard = from.shard + 1;
        (shard < SHARDS).then_some(AffinityCursor { shard, entry: 0 })
    }

    fn shard(&self, key: u64) -> MutexGuard<'_, LruMap<AffinityEntry>> {
        lock(&self.shards[(key >> 32) as usize % SHARDS])
    }
}

/// A poisoned lock is usable: a thread that panicked left only complete entries.
fn lock(shard: &Mutex<LruMap<AffinityEntry>>) -> MutexGuard<'_, LruMap<AffinityEntry>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The key of a server, by its name: the same in every pool that has a server of this name.
pub fn server_key(name: &str) -> u64 {
    table_key::hash_part(name.as_bytes())
}

/// The key of a scope: services with the same `share` have one scope, other services one for each pool.
pub fn scope_key(share: Option<&str>, service: ServiceId, pool: PoolId) -> u64 {
    match share {
        Some(word) => table_key::hash_part(word.as_bytes()),
        None => u64::from(service.0) << 32 | u64::from(pool.0),
    }
}

/// The server key stored for clients of a scope, so that scopes are counted separately. Applied to the stored key, it
/// returns the server's key.
pub fn scoped_server_key(server: u64, scope: u64) -> u64 {
    server ^ scoped_client_key(0, scope)
}

/// The key of a client, by the network of its address.
pub fn client_address_key(client: IpAddr, mask4: u8, mask6: u8) -> u64 {
    table_key::hash_network(client, mask4, mask6)
}

/// The key of a client, by a part of its request.
pub fn request_part_key(part: &[u8]) -> u64 {
    table_key::hash_part(part)
}

/// The key of the same client in a scope: a pool, or services that share entries.
pub fn scoped_client_key(key: u64, scope: u64) -> u64 {
    // The finalizer of SplitMix64: a change of either input changes half of the bits on average.
    let mut mixed = (key ^ scope.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^= mixed >> 29;
    mixed = mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> MonotonicTime {
        MonotonicTime(seconds * 1_000_000_000)
    }

    // Rows: I25
    #[test]
    fn each_visit_begins_the_time_anew() {
        let table = AffinityTable::new(100);
        table.assign(7, 1, at(0), MINUTE);
        assert_eq!(table.find(7, at(59), MINUTE), Some(1));
        assert_eq!(table.peek(7, at(118)), Some(1));
        assert_eq!(table.find(7, at(118), MINUTE), Some(1));
        assert_eq!((table.find(7, at(178), MINUTE), table.find(8, at(0), MINUTE)), (None, None));
        table.assign(7, 2, at(178), MINUTE);
        assert_eq!(table.find(7, at(179), MINUTE), Some(2));
        let counts = table.counts();
        assert_eq!((counts.entries, counts.hits, counts.assigned, counts.evicted), (1, 3, 2, 0));
    }

    #[test]
    fn when_it_is_full_the_oldest_goes_and_is_counted_unless_its_time_was_over() {
        // All keys in one shard.
        let table = AffinityTable::new(64);
        for key in 0..5 {
            table.assign(key, key, at(key), MINUTE);
        }
        assert_eq!((table.peek(0, at(5)), table.peek(1, at(5))), (None, Some(1)));
        assert_eq!((table.counts().entries, table.counts().evicted), (4, 1));
        for key in 10..14 {
            table.assign(key, key, at(100), MINUTE);
        }
        assert_eq!((table.counts().entries, table.counts().evicted), (4, 1));
    }

    #[test]
    fn clients_are_counted_by_server_and_scope_until_their_time_is_over() {
        let table = AffinityTable::new(100_000);
        let scopes = [
            scope_key(None, ServiceId(1), PoolId(1)),
            scope_key(Some("word"), ServiceId(1), PoolId(1)),
        ];
        let names = [server_key("a"), server_key("b")];
        for client in 0..40_000u64 {
            let scope = scopes[client as usize % 2];
            let name = names[client as usize / 2 % 2];
            let key = scoped_client_key(request_part_key(&client.to_be_bytes()), scope);
            table.assign(key, scoped_server_key(name, scope), at(client % 100), MINUTE);
            assert_eq!(
                table.peek(key, at(1)).map(|server| scoped_server_key(server, scope)),
                Some(name)
            );
        }
        let counted = |now| {
            let mut servers: HashMap<u64, u64> =
                [(scoped_server_key(names[0], scopes[1]), 0)].into();
            let mut slices = 1;
            let mut place = AffinityCursor::default();
            while let Some(next) = table.count_by_server(place, now, &mut servers) {
                place = next;
                slices += 1;
            }
            assert!(slices > 32, "{slices}: nobody waits for the whole");
            servers.into_values().sum::<u64>()
        };
        assert_eq!((counted(at(0)), counted(at(60 + 49)), counted(at(160))), (10_000, 4_800, 0));
    }

    // Rows: I25
    #[test]
    fn clients_of_a_network_are_one() {
        let key = |text: &str, m4, m6| client_address_key(text.parse().unwrap(), m4, m6);
        assert_eq!(key("192.0.2.1", 24, 128), key("192.0.2.200", 24, 128));
        assert_ne!(key("192.0.2.1", 32, 128), key("192.0.2.200", 32, 128));
        assert_eq!(key("::ffff:192.0.2.1", 24, 128), key("192.0.2.9", 24, 0));
        assert_eq!(key("2001:db8::1", 32, 64), key("2001:db8::2:1", 32, 64));
        assert_ne!(scoped_client_key(1, 2), scoped_client_key(2, 1));
    }
}
