//! Facts of this machine that a plan needs beside the snapshot. Pure data.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use crate::layout::ShareKey;

/// The current facts. Large sets that grow with the servers are shared, because they are compared and stored with every
/// change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Addresses of this machine.
    pub local_addresses: Arc<HashSet<IpAddr>>,
    /// Addresses that this machine shares with others: it has them while it holds them.
    pub shared_addresses: Arc<HashSet<IpAddr>>,
    /// A heartbeat with a peer exists, so connections may be replicated.
    pub has_peer: bool,
    /// Return addresses that something else on this machine uses, and its name.
    pub used_addresses: HashMap<IpAddr, String>,
    /// Our source address towards each server.
    pub source_addresses: Arc<HashMap<IpAddr, IpAddr>>,
    /// Servers behind a router.
    pub routed_servers: Arc<HashSet<IpAddr>>,
    /// Minutes since 1970, local time.
    pub local_minute: i64,
    /// The reason why nothing can be forwarded: no interface, or missing privileges.
    pub unavailable: Option<String>,
}

/// Counts the uses of each key.
#[derive(Clone, Debug)]
pub struct UseCounts<K>(HashMap<K, u32>);

impl<K> Default for UseCounts<K> {
    fn default() -> Self {
        UseCounts(HashMap::new())
    }
}

impl<K: std::hash::Hash + Eq + Copy> UseCounts<K> {
    /// Adds a use; true when it is the first.
    pub fn add(&mut self, key: K) -> bool {
        let count = self.0.entry(key).or_default();
        *count += 1;
        *count == 1
    }

    /// Removes a use; true when it was the last.
    pub fn drop_one(&mut self, key: &K) -> bool {
        let Some(count) = self.0.get_mut(key) else { return false };
        *count -= 1;
        if *count == 0 {
            self.0.remove(key);
            return true;
        }
        false
    }

    pub fn has(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    /// All keys in use, in no order.
    pub fn keys(&self) -> impl Iterator<Item = K> {
        self.0.keys().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The uses of shares, and the values derived from them: the return addresses in use, and whether any share preserves
/// clients' addresses.
#[derive(Clone, Debug, Default)]
pub struct ShareUses {
    shares: UseCounts<ShareKey>,
    /// By return address. `None` for shares that preserve the client's address.
    return_addresses: UseCounts<Option<IpAddr>>,
    /// By whether they are of all ports.
    by_kind: UseCounts<bool>,
}

impl ShareUses {
    pub fn add(&mut self, share: ShareKey) {
        if self.shares.add(share) {
            self.return_addresses.add(share.return_address);
            self.by_kind.add(share.port == 0);
        }
    }

    /// Removes a use; true when it was the last.
    pub fn drop_one(&mut self, share: &ShareKey) -> bool {
        let last = self.shares.drop_one(share);
        if last {
            self.return_addresses.drop_one(&share.return_address);
            self.by_kind.drop_one(&(share.port == 0));
        }
        last
    }

    pub fn has(&self, share: &ShareKey) -> bool {
        self.shares.has(share)
    }

    /// Return addresses in use.
    pub fn return_addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.return_addresses.keys().flatten()
    }

    /// Whether there are shares at all.
    pub fn is_used(&self) -> bool {
        !self.shares.is_empty()
    }

    /// Whether both shares of one port and shares of all ports exist.
    pub fn has_port_pairs(&self) -> bool {
        self.by_kind.has(&true) && self.by_kind.has(&false)
    }

    /// Whether a share preserves the client's address.
    pub fn keeps_client_address(&self) -> bool {
        self.return_addresses.keys().any(|back| back.is_none())
    }
}
