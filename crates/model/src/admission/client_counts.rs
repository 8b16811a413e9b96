//! The number of connections of each client, over all workers: exact counts, in memory proportional to the number of
//! connections.
//!
//! The counts change when a connection starts and ends, never for a request.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::client_share::ClientKey;
use super::keyed_hasher::KeyedBuildHasher;

/// Parts of the table, each with its own lock, so that workers rarely wait for each other.
/// More than the workers that accept at one moment, as a rule.
const SHARDS: usize = 16;

/// Connections of all clients.
#[derive(Debug)]
pub struct ClientConnectionCounts {
    hasher: KeyedBuildHasher,
    shards: [Mutex<ClientCountShard>; SHARDS],
}

/// Clients without a connection stay with a count of 0 until they outnumber the others, so that a client that connects
/// again finds its entry.
#[derive(Debug, Default)]
struct ClientCountShard {
    counts: HashMap<ClientKey, u32, KeyedBuildHasher>,
    /// Clients of this shard that have a connection.
    active: usize,
}

/// A shard keeps at least this many clients without a connection, so that small shards are not swept for each newcomer.
const SPARE: usize = 16;

/// A client and how many connections it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientConnectionCount {
    pub client: ClientKey,
    pub connections: u32,
}

impl Default for ClientConnectionCounts {
    fn default() -> Self {
        ClientConnectionCounts {
            hasher: KeyedBuildHasher::default(),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl ClientConnectionCounts {
    pub fn add(&self, client: ClientKey) {
        let part = &mut *self.shard(client);
        if let Some(count) = part.counts.get_mut(&client) {
            part.active += usize::from(*count == 0);
            *count += 1;
            return;
        }
        if part.counts.len() > 2 * part.active + SPARE {
            part.counts.retain(|_, count| *count > 0);
        }
        part.counts.insert(client, 1);
        part.active += 1;
    }

    pub fn remove(&self, client: ClientKey) {
        let part = &mut *self.shard(client);
        if let Some(count) = part.counts.get_mut(&client)
            && *count > 0
        {
            *count -= 1;
            part.active -= usize::from(*count == 0);
        }
    }

    pub fn connections_of(&self, client: ClientKey) -> u32 {
        self.shard(client).counts.get(&client).copied().unwrap_or(0)
    }

    /// The clients with most connections, the largest first.
    pub fn largest_clients(&self, most: usize) -> Vec<ClientConnectionCount> {
        let mut all = Vec::new();
        for part in &self.shards {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            let holders = part.counts.iter().filter(|(_, count)| **count > 0);
            all.extend(holders.map(|(client, count)| ClientConnectionCount {
                client: *client,
                connections: *count,
            }));
        }
        all.sort_unstable_by_key(|holder| (u32::MAX - holder.connections, holder.client));
        all.truncate(most);
        all
    }

    fn shard(&self, client: ClientKey) -> MutexGuard<'_, ClientCountShard> {
        // The shard is chosen by other bits of the hash than those that the shard's own table uses.
        let at = (self.hasher.hash_one(client) >> 40) as usize % SHARDS;
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_and_nothing_is_left_behind() {
        let holders = ClientConnectionCounts::default();
        let client = |last| ClientKey::from_address([192, 0, 2, last].into());
        for _ in 0..3 {
            holders.add(client(1));
        }
        holders.add(client(2));
        assert_eq!((holders.connections_of(client(1)), holders.connections_of(client(2))), (3, 1));
        assert_eq!(
            holders.largest_clients(1),
            [ClientConnectionCount { client: client(1), connections: 3 }]
        );
        assert_eq!(holders.largest_clients(9).len(), 2);
        for _ in 0..3 {
            holders.remove(client(1));
        }
        holders.remove(client(2));
        holders.remove(client(2));
        assert_eq!((holders.connections_of(client(1)), holders.connections_of(client(2))), (0, 0));
        assert_eq!(holders.largest_clients(9), []);
    }

    #[test]
    fn clients_that_have_gone_take_no_room() {
        let holders = ClientConnectionCounts::default();
        let client = |number: u32| ClientKey::from_address(std::net::Ipv4Addr::from(number).into());
        for number in 0..20_000 {
            holders.add(client(number));
            if number >= 100 {
                holders.remove(client(number - 100));
            }
        }
        let clients: usize =
            holders.shards.iter().map(|part| part.lock().unwrap().counts.len()).sum();
        assert!(clients <= 2 * 100 + SHARDS * (SPARE + 2), "{clients}");
        assert_eq!(holders.largest_clients(1_000).len(), 100);
    }
}
