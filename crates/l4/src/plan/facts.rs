//! What a plan is made from beside the snapshot: facts of this machine and of the flows. Pure data.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

/// Facts of the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Addresses of this machine.
    pub local: HashSet<IpAddr>,
    /// Return addresses that something else on this machine uses, and what.
    pub busy: HashMap<IpAddr, String>,
    /// Our address on the way to a server.
    pub sources: HashMap<IpAddr, IpAddr>,
    /// Servers behind a router.
    pub routed: HashSet<IpAddr>,
    /// Minute of the day (UTC).
    pub minute: u16,
    /// Flows by index of server.
    pub flows: HashMap<u32, u32>,
    /// Why nothing can be forwarded at all: no interface, no rights.
    pub broken: Option<String>,
}

/// Counts who still needs something.
#[derive(Clone, Debug)]
pub struct Needs<K>(HashMap<K, u32>);

impl<K> Default for Needs<K> {
    fn default() -> Self {
        Needs(HashMap::new())
    }
}

impl<K: std::hash::Hash + Eq + Copy + Ord> Needs<K> {
    /// One more.
    pub fn add(&mut self, key: K) {
        *self.0.entry(key).or_default() += 1;
    }

    /// One less; true when nobody is left.
    pub fn drop_one(&mut self, key: &K) -> bool {
        let Some(count) = self.0.get_mut(key) else { return false };
        *count -= 1;
        if *count == 0 {
            self.0.remove(key);
            return true;
        }
        false
    }

    /// All that somebody needs.
    pub fn keys(&self) -> BTreeSet<K> {
        self.0.keys().copied().collect()
    }
}
