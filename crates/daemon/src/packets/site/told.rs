//! The plane's part in replication: its tables with what they mean, and another secret for their hashes.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use l4::replica::{Replica, Secret};
use model::config::Config;

use super::Site;
use crate::packets::tables::Tables;

impl Site {
    /// The tables with what their indexes mean; `None` where they cannot be laid into memory.
    pub fn tables(&self, config: &Config) -> Option<Tables> {
        if self.replica.get().is_none() {
            let _ = self.replica.set(Arc::new(Replica::new(&self.plane).ok()?));
        }
        let secret = self.plane.config.get(&0).ok()??.secret;
        Some(Tables::of(self.replica.get()?, secret, &self.planner, config))
    }

    /// Has connections hashed with another secret; `false`: they are already.
    ///
    /// # Errors
    /// A map refused.
    pub fn hash(&mut self, secret: &Secret, tick: u32) -> Result<bool, bpf::TableError> {
        let mut config = self.plane.config.get(&0)?.unwrap_or_default();
        let Some(replica) = self.replica.get().filter(|_| config.secret != *secret) else {
            return Ok(false);
        };
        let servers: HashMap<u32, (IpAddr, u16)> =
            self.planner.all_servers().map(|(at, _, key)| (at, (key.address, key.port))).collect();
        let keep: BTreeSet<u32> = {
            let shares = self.planner.all_shares();
            shares.filter(|(key, ..)| key.back.is_none()).map(|(_, at, _)| at).collect()
        };
        config.secret = *secret;
        self.plane.config.set(&0, &config)?;
        replica.begin_anew(secret, tick, |one| {
            servers.get(&one.server).copied().filter(|_| keep.contains(&one.share))
        });
        Ok(true)
    }
}
