//! Service discovery: one task for each pool that has a source queries the source periodically and reports to the
//! control actor.
//!
//! The last good answer stands while the source is silent, empty or wrong.

mod dns;
mod dns_client;
pub mod resolve;
mod sanity_check;
mod server_list;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use model::config::{DiscoveryConfig, DiscoverySource};
use tokio::task::JoinHandle;

use crate::state::{ControlHandle, DiscoveryResult};
use crate::util::atomic_file;

/// Between two looks at a file.
/// A change is active within a second; a check costs one stat(2) call.
const FILE_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The delay after an answer that was rejected.
/// The answer will hardly be better a moment later, and an operator who mends it waits no longer than this.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// The shortest time to live that is respected.
/// A time to live of 0 would ask the resolver without pause.
const MIN_TTL: Duration = Duration::from_secs(1);
/// A longer time to live would hide a server that moved for longer than an operator would wait.
const MAX_TTL: Duration = Duration::from_secs(3600);
/// Bytes of a file with servers.
/// 10,000 servers with names and ports have about a megabyte.
const FILE_BYTES: u64 = 4 << 20;

/// Ends its task when the pool has another source, or none.
struct DiscoveryTask {
    discovery: DiscoveryConfig,
    task: JoinHandle<()>,
}

impl Drop for DiscoveryTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs until the daemon stops.
pub async fn run(control: ControlHandle) {
    let mut snapshots = control.watch();
    let mut watchers: HashMap<String, DiscoveryTask> = HashMap::new();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        let pools = &snapshot.config.pools;
        watchers.retain(|name, watcher| {
            pools.get(name).and_then(|pool| pool.discovery.as_ref()) == Some(&watcher.discovery)
        });
        for (name, pool) in pools {
            let Some(of) = pool.discovery.clone().filter(|_| !watchers.contains_key(name)) else {
                continue;
            };
            let control = control.clone();
            let pool = name.clone();
            let from = of.clone();
            let task = tokio::spawn(async move {
                match from.place.clone() {
                    DiscoverySource::Dns { .. } => run_dns_discovery(control, pool, from).await,
                    DiscoverySource::File(path) => {
                        run_file_discovery(control, pool, from, path).await
                    }
                }
            });
            watchers.insert(name.clone(), DiscoveryTask { discovery: of, task });
        }
        if snapshots.changed().await.is_err() {
            return;
        }
    }
}

async fn run_dns_discovery(control: ControlHandle, pool: String, from: DiscoveryConfig) {
    loop {
        let answer = dns_client::query_resolvers(&from.place).await;
        let wait = answer.as_ref().map_or(RETRY_INTERVAL, |answer| answer.time_to_live);
        let servers = answer.map(|answer| answer.servers);
        let believed = servers.and_then(|servers| sanity_check::check_answer(servers, &from));
        let wait = if believed.is_ok() { wait.clamp(MIN_TTL, MAX_TTL) } else { RETRY_INTERVAL };
        control.report_discovery(report_change(&pool, &from.place, believed)).await;
        tokio::time::sleep(wait).await;
    }
}

async fn run_file_discovery(
    control: ControlHandle,
    pool: String,
    from: DiscoveryConfig,
    path: PathBuf,
) {
    let mut seen = None;
    loop {
        // If the file changes while it is read, it is read once more.
        let mark = std::fs::metadata(&path)
            .ok()
            .map(|metadata| (metadata.modified().ok(), metadata.len(), inode(&metadata)));
        if mark.is_none() || mark != seen {
            seen = mark;
            let servers = match atomic_file::read(&path, FILE_BYTES) {
                Ok(Some(text)) => server_list::parse_servers(&text),
                Ok(None) => Err("there is no such file".to_owned()),
                Err(error) => Err(format!("it cannot be read: {error}")),
            };
            let believed = servers.and_then(|servers| sanity_check::check_answer(servers, &from));
            control.report_discovery(report_change(&pool, &from.place, believed)).await;
        }
        tokio::time::sleep(FILE_POLL_INTERVAL).await;
    }
}

fn inode(of: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(of)
}

fn report_change(
    pool: &str,
    place: &DiscoverySource,
    believed: Result<sanity_check::AcceptedServers, String>,
) -> DiscoveryResult {
    let place = match place {
        DiscoverySource::Dns { name, .. } => format!("dns {name}"),
        DiscoverySource::File(path) => format!("file {}", path.display()),
    };
    let (servers, left_out) = match believed {
        Ok(believed) => (Ok(believed.servers), believed.omitted),
        Err(why) => (Err(why), 0),
    };
    DiscoveryResult { pool: pool.to_owned(), source: place, servers, left_out }
}
