//! Which client belongs to which server: keys of clients, and a bounded table; the words of our own cookies are `cookie`'s.
//!
//! The same rules for every plane that keeps clients: a client is known by the network of its address or by a part of
//! its request; each connection or request renews the time; when the table is full, the client that was seen longest
//! ago goes first, and is counted. Servers are known by name, so that services may share what they know. It decides
//! nothing about servers that may take no work: whoever asks does.

pub mod cookie;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::bounded::Bounded;
use crate::id::{PoolId, ServiceId};
use crate::moment::Moment;
use crate::table_key;

/// Parts of a table that are locked apart.
const SHARDS: usize = 16;
/// Entries that are counted while a part is locked: some microseconds, which a worker may have to wait.
const SLICE: usize = 1_024;

/// Clients and their servers, shared by workers.
#[derive(Debug)]
pub struct Table {
    shards: Box<[Mutex<Bounded<Entry>>]>,
    entries: u32,
    found: AtomicU64,
    put: AtomicU64,
    evicted: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// `held` of the server's name and its client's scope.
    server: u64,
    /// When it is forgotten.
    until: Moment,
}

/// What a table did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries now, those that ended included until their place is needed.
    pub held: u64,
    /// At most so many.
    pub most: u64,
    /// Clients that were known.
    pub found: u64,
    /// Clients that were put in, or moved to another server.
    pub put: u64,
    /// Entries that had to go before their time.
    pub evicted: u64,
}

/// How far a table has been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    shard: usize,
    entry: usize,
}

impl Table {
    /// For at most so many clients.
    pub fn new(entries: u32) -> Table {
        let each = (entries as usize).div_ceil(SHARDS);
        Table {
            shards: (0..SHARDS).map(|_| Mutex::new(Bounded::new(each))).collect(),
            entries,
            found: AtomicU64::new(0),
            put: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
        }
    }

    /// For how many clients it is.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// The server of a client, whose time begins anew.
    pub fn find(&self, key: u64, now: Moment, time: Duration) -> Option<u64> {
        let mut shard = self.shard(key);
        if shard.get(key)?.until <= now {
            return None;
        }
        let entry = shard.renew(key)?;
        entry.until = now + time;
        self.found.fetch_add(1, Ordering::Relaxed);
        Some(entry.server)
    }

    /// The server of a client, for whoever only looks.
    pub fn look(&self, key: u64, now: Moment) -> Option<u64> {
        self.shard(key).get(key).filter(|entry| entry.until > now).map(|entry| entry.server)
    }

    /// Puts a client to a server from now on.
    pub fn put(&self, key: u64, server: u64, now: Moment, time: Duration) {
        let entry = Entry { server, until: now + time };
        let gone = self.shard(key).put(key, entry);
        self.put.fetch_add(1, Ordering::Relaxed);
        if gone.is_some_and(|gone| gone.until > now) {
            self.evicted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What it did so far.
    pub fn counts(&self) -> Counts {
        let held = |shard: &Mutex<Bounded<Entry>>| lock(shard).len() as u64;
        Counts {
            held: self.shards.iter().map(held).sum(),
            most: u64::from(self.entries),
            found: self.found.load(Ordering::Relaxed),
            put: self.put.load(Ordering::Relaxed),
            evicted: self.evicted.load(Ordering::Relaxed),
        }
    }

    /// Adds to each of these servers, as the table holds them, the clients that it has in a slice of the table; the next
    /// slice, `None`: that was the last one. Clients that come or go between two slices may be missed.
    pub fn count(
        &self,
        from: Place,
        now: Moment,
        servers: &mut HashMap<u64, u64>,
    ) -> Option<Place> {
        let shard = lock(self.shards.get(from.shard)?);
        let mut seen = 0;
        for entry in shard.part(from.entry, SLICE) {
            seen += 1;
            if entry.until > now
                && let Some(clients) = servers.get_mut(&entry.server)
            {
                *clients += 1;
            }
        }
        if seen == SLICE {
            return Some(Place { entry: from.entry + SLICE, ..from });
        }
        let shard = from.shard + 1;
        (shard < SHARDS).then_some(Place { shard, entry: 0 })
    }

    fn shard(&self, key: u64) -> MutexGuard<'_, Bounded<Entry>> {
        lock(&self.shards[(key >> 32) as usize % SHARDS])
    }
}

/// A thread that panicked left whole entries behind.
fn lock(shard: &Mutex<Bounded<Entry>>) -> MutexGuard<'_, Bounded<Entry>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server, by its name: the same in every pool that has one of this name.
pub fn server(name: &str) -> u64 {
    table_key::part(name.as_bytes())
}

/// Whose entries these are: of services that share a word, else of one service and pool.
pub fn scope(share: Option<&str>, service: ServiceId, pool: PoolId) -> u64 {
    match share {
        Some(word) => table_key::part(word.as_bytes()),
        None => u64::from(service.0) << 32 | u64::from(pool.0),
    }
}

/// What a table holds of a server for clients of a scope, so that they can be counted apart from those of another. Asked of
/// what is held, it gives the server back.
pub fn held(server: u64, scope: u64) -> u64 {
    server ^ scoped(0, scope)
}

/// A client, by the network of its address.
pub fn address(client: IpAddr, mask4: u8, mask6: u8) -> u64 {
    table_key::network(client, mask4, mask6)
}

/// A client, by a part of its request.
pub fn part(part: &[u8]) -> u64 {
    table_key::part(part)
}

/// The same client in one of several scopes: a pool, or what services share.
pub fn scoped(key: u64, scope: u64) -> u64 {
    // As one word of a published cipher would: any change of either changes half of the bits.
    let mut mixed = (key ^ scope.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^= mixed >> 29;
    mixed = mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Moment {
        Moment(seconds * 1_000_000_000)
    }

    #[test]
    fn each_visit_begins_the_time_anew() {
        let table = Table::new(100);
        table.put(7, 1, at(0), MINUTE);
        assert_eq!(table.find(7, at(59), MINUTE), Some(1));
        assert_eq!(table.look(7, at(118)), Some(1));
        assert_eq!(table.find(7, at(118), MINUTE), Some(1));
        assert_eq!((table.find(7, at(178), MINUTE), table.find(8, at(0), MINUTE)), (None, None));
        table.put(7, 2, at(178), MINUTE);
        assert_eq!(table.find(7, at(179), MINUTE), Some(2));
        let counts = table.counts();
        assert_eq!((counts.held, counts.found, counts.put, counts.evicted), (1, 3, 2, 0));
    }

    #[test]
    fn when_it_is_full_the_oldest_goes_and_is_counted_unless_its_time_was_over() {
        // Keys of one shard.
        let table = Table::new(64);
        for key in 0..5 {
            table.put(key, key, at(key), MINUTE);
        }
        assert_eq!((table.look(0, at(5)), table.look(1, at(5))), (None, Some(1)));
        assert_eq!((table.counts().held, table.counts().evicted), (4, 1));
        for key in 10..14 {
            table.put(key, key, at(100), MINUTE);
        }
        assert_eq!((table.counts().held, table.counts().evicted), (4, 1));
    }

    #[test]
    fn clients_are_counted_by_server_and_scope_until_their_time_is_over() {
        let table = Table::new(100_000);
        let scopes =
            [scope(None, ServiceId(1), PoolId(1)), scope(Some("word"), ServiceId(1), PoolId(1))];
        let names = [server("a"), server("b")];
        for client in 0..40_000u64 {
            let (scope, name) = (scopes[client as usize % 2], names[client as usize / 2 % 2]);
            let key = scoped(part(&client.to_be_bytes()), scope);
            table.put(key, held(name, scope), at(client % 100), MINUTE);
            assert_eq!(table.look(key, at(1)).map(|found| held(found, scope)), Some(name));
        }
        let counted = |now| {
            let mut servers: HashMap<u64, u64> = [(held(names[0], scopes[1]), 0)].into();
            let mut slices = 1;
            let mut place = Place::default();
            while let Some(next) = table.count(place, now, &mut servers) {
                (place, slices) = (next, slices + 1);
            }
            assert!(slices > 32, "{slices}: nobody waits for the whole");
            servers.into_values().sum::<u64>()
        };
        assert_eq!((counted(at(0)), counted(at(60 + 49)), counted(at(160))), (10_000, 4_800, 0));
    }

    #[test]
    fn clients_of_a_network_are_one() {
        let one = |text: &str, m4, m6| address(text.parse().unwrap(), m4, m6);
        assert_eq!(one("192.0.2.1", 24, 128), one("192.0.2.200", 24, 128));
        assert_ne!(one("192.0.2.1", 32, 128), one("192.0.2.200", 32, 128));
        assert_eq!(one("::ffff:192.0.2.1", 24, 128), one("192.0.2.9", 24, 0));
        assert_eq!(one("2001:db8::1", 32, 64), one("2001:db8::2:1", 32, 64));
        assert_ne!(scoped(1, 2), scoped(2, 1));
    }
}
