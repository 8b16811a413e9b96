//! The plane's part in replication: its tables with what they mean, and another secret for their hashes.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use l4::replica::{FlowHashSecret, ReplicaTables};
use model::config::Config;

use super::OpenPlane;
use crate::planes::packets::connection_tables::ConnectionTables;

impl OpenPlane {
    /// The tables and the meaning of their indexes; `None` if they cannot be mapped.
    pub fn connection_tables(&self, config: &Config) -> Option<ConnectionTables> {
        if self.replica.get().is_none() {
            // The cell was empty just now, and nothing else fills it.
            let _ = self.replica.set(Arc::new(ReplicaTables::new(&self.plane).ok()?));
        }
        let secret = self.plane.config.get(&0).ok()??.secret;
        Some(ConnectionTables::new(self.replica.get()?, secret, &self.planner, config))
    }

    /// Has connections hashed with another secret; `false`: they are already.
    ///
    /// # Errors
    /// A map refused.
    pub fn change_hash_secret(
        &mut self,
        secret: &FlowHashSecret,
        tick: u32,
    ) -> Result<bool, bpf::MapError> {
        let mut config = self.plane.config.get(&0)?.unwrap_or_default();
        let Some(replica) = self.replica.get().filter(|_| config.secret != *secret) else {
            return Ok(false);
        };
        let servers: HashMap<u32, SocketAddr> = self
            .planner
            .all_servers()
            .map(|one| (one.index, SocketAddr::new(one.key.address, one.key.port)))
            .collect();
        let keep: BTreeSet<u32> = {
            let shares = self.planner.all_shares();
            shares.filter(|one| one.key.return_address.is_none()).map(|one| one.index).collect()
        };
        config.secret = *secret;
        self.plane.config.set(&0, &config)?;
        replica.change_secret(secret, tick, |one| {
            servers.get(&one.server).copied().filter(|_| keep.contains(&one.share))
        });
        Ok(true)
    }
}
