//! How many connections each client has, over all workers: exact, and as large as there are connections.
//!
//! Touched when a connection begins and ends, never for a request.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::share::Client;

/// Parts of the table that are locked apart from each other.
const PARTS: usize = 16;

/// Connections of all clients.
#[derive(Debug)]
pub struct Holders {
    // Keyed anew in each process, so that nobody can make clients that meet in one place.
    random: RandomState,
    parts: [Mutex<HashMap<Client, u32>>; PARTS],
}

/// A client and what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Who.
    pub client: Client,
    /// How many connections.
    pub connections: u32,
}

impl Default for Holders {
    fn default() -> Self {
        Holders { random: RandomState::new(), parts: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl Holders {
    /// One connection more.
    pub fn add(&self, client: Client) {
        *self.part(client).entry(client).or_insert(0) += 1;
    }

    /// One fewer.
    pub fn remove(&self, client: Client) {
        let mut part = self.part(client);
        if let Some(count) = part.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                part.remove(&client);
            }
        }
    }

    /// Connections of a client.
    pub fn held(&self, client: Client) -> u32 {
        self.part(client).get(&client).copied().unwrap_or(0)
    }

    /// Who has most, the largest first.
    pub fn largest(&self, most: usize) -> Vec<Holder> {
        let mut all = Vec::new();
        for part in &self.parts {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(
                part.iter().map(|(client, count)| Holder { client: *client, connections: *count }),
            );
        }
        all.sort_unstable_by_key(|holder| (u32::MAX - holder.connections, holder.client));
        all.truncate(most);
        all
    }

    fn part(&self, client: Client) -> MutexGuard<'_, HashMap<Client, u32>> {
        let at = self.random.hash_one(client) as usize % PARTS;
        self.parts[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_and_nothing_is_left_behind() {
        let holders = Holders::default();
        let client = |last| Client::of([192, 0, 2, last].into());
        for _ in 0..3 {
            holders.add(client(1));
        }
        holders.add(client(2));
        assert_eq!((holders.held(client(1)), holders.held(client(2))), (3, 1));
        assert_eq!(holders.largest(1), [Holder { client: client(1), connections: 3 }]);
        assert_eq!(holders.largest(9).len(), 2);
        for _ in 0..3 {
            holders.remove(client(1));
        }
        holders.remove(client(2));
        holders.remove(client(2));
        assert!(holders.parts.iter().all(|part| part.lock().unwrap().is_empty()));
    }
}
