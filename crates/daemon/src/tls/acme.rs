//! ACME (RFC 8555): one task for each ordered certificate, started and ended as the configuration says.
//!
//! `renewal` waits until an order is due, `order` carries it out, `paths` has the files and `status` the result. A new
//! certificate is loaded by `tls::cert_store`, as with any file.

mod https;
mod order;
pub mod paths;
mod renewal;
pub mod status;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;

use model::config::{AcmeConfig, Config};
use tokio::task::{AbortHandle, JoinSet};

use crate::state::ControlHandle;
use renewal::RenewalJob;
use status::AcmeOrders;

/// Follows the snapshots until the daemon stops.
pub async fn run(control: ControlHandle, board: Arc<AcmeOrders>, state: Option<PathBuf>) {
    // Without a state directory nothing is ordered; such a configuration has been rejected before.
    let Some(state) = state else { return };
    let mut snapshots = control.watch();
    let mut jobs = JoinSet::new();
    let mut running: BTreeMap<String, (AcmeConfig, AbortHandle)> = BTreeMap::new();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        let wanted = if snapshot.shutting_down {
            BTreeMap::new()
        } else {
            wanted_certificates(&snapshot.config)
        };
        let gone: Vec<String> = running
            .iter()
            .filter(|(key, (acme, _))| wanted.get(*key) != Some(acme))
            .map(|(key, _)| key.clone())
            .collect();
        for key in gone {
            if let Some((_, job)) = running.remove(&key) {
                job.abort();
            }
            board.forget(&key);
            // It may have been in the middle of an order.
            control.publish_proof(key, None).await;
        }
        for (key, acme) in wanted {
            if let Entry::Vacant(room) = running.entry(key) {
                let control = control.clone();
                let board = Arc::clone(&board);
                let state = state.clone();
                let key = room.key().clone();
                let job = RenewalJob { control, board, state, key, acme: acme.clone() };
                room.insert((acme, jobs.spawn(job.run())));
            }
        }
        // Jobs end only when they are cancelled.
        while jobs.try_join_next().is_some() {}
        if snapshots.changed().await.is_err() {
            return;
        }
    }
}

/// The certificates to order, each once, regardless of how many services use it.
fn wanted_certificates(config: &Config) -> BTreeMap<String, AcmeConfig> {
    let all = config.services.values().filter_map(|service| service.tls.as_ref()?.acme.as_ref());
    all.map(|acme| (paths::key(acme), acme.clone())).collect()
}
