//! Servers that are looked up: one task a pool that has a source asks again and again and tells the control.
//!
//! What an answer is worth is decided by `belief`, what it changes by the control. The last good answer stands while
//! the source is silent, empty or wrong.

mod ask;
mod belief;
mod dns;
mod listed;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use model::config::{Discovery, Place};
use tokio::task::JoinHandle;

use crate::control::{Control, Found};
use crate::keep;

/// Between two looks at a file.
const LOOK: Duration = Duration::from_secs(1);
/// After an answer that was not believed.
const AGAIN: Duration = Duration::from_secs(5);
/// The shortest time to live that is respected.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest.
const LONGEST: Duration = Duration::from_secs(3600);
/// Bytes of a file with servers.
const FILE_BYTES: u64 = 4 << 20;

/// Ends its task when the pool has another source, or none.
struct Watcher {
    of: Discovery,
    task: JoinHandle<()>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Looks until the daemon is gone.
pub async fn run(control: Control) {
    let mut pictures = control.watch();
    let mut watchers: HashMap<String, Watcher> = HashMap::new();
    loop {
        let picture = pictures.borrow_and_update().clone();
        let pools = &picture.config.pools;
        watchers.retain(|name, watcher| {
            pools.get(name).and_then(|pool| pool.discovery.as_ref()) == Some(&watcher.of)
        });
        for (name, pool) in pools {
            let Some(of) = pool.discovery.clone().filter(|_| !watchers.contains_key(name)) else {
                continue;
            };
            let (control, pool, from) = (control.clone(), name.clone(), of.clone());
            let task = tokio::spawn(async move {
                match from.place.clone() {
                    Place::Dns { .. } => ask_again(control, pool, from).await,
                    Place::File(path) => look_again(control, pool, from, path).await,
                }
            });
            watchers.insert(name.clone(), Watcher { of, task });
        }
        if pictures.changed().await.is_err() {
            return;
        }
    }
}

async fn ask_again(control: Control, pool: String, from: Discovery) {
    loop {
        let answer = ask::ask(&from.place).await;
        let wait = answer.as_ref().map_or(AGAIN, |answer| answer.time_to_live);
        let servers = answer.map(|answer| answer.servers);
        let believed = servers.and_then(|servers| belief::believe(servers, &from));
        let wait = if believed.is_ok() { wait.clamp(SHORTEST, LONGEST) } else { AGAIN };
        control.found(told(&pool, &from.place, believed)).await;
        tokio::time::sleep(wait).await;
    }
}

async fn look_again(control: Control, pool: String, from: Discovery, path: PathBuf) {
    let mut seen = None;
    loop {
        // A file that is replaced while it is read is read again.
        let mark =
            std::fs::metadata(&path).ok().map(|it| (it.modified().ok(), it.len(), inode(&it)));
        if mark.is_none() || mark != seen {
            seen = mark;
            let servers = match keep::read(&path, FILE_BYTES) {
                Ok(Some(text)) => listed::servers(&text),
                Ok(None) => Err("there is no such file".to_owned()),
                Err(error) => Err(format!("it cannot be read: {error}")),
            };
            let believed = servers.and_then(|servers| belief::believe(servers, &from));
            control.found(told(&pool, &from.place, believed)).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn inode(of: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(of)
}

fn told(pool: &str, place: &Place, believed: Result<belief::Believed, String>) -> Found {
    let place = match place {
        Place::Dns { name, .. } => format!("dns {name}"),
        Place::File(path) => format!("file {}", path.display()),
    };
    let (servers, left_out) = match believed {
        Ok(believed) => (Ok(believed.servers), believed.left_out),
        Err(why) => (Err(why), 0),
    };
    Found { pool: pool.to_owned(), place, servers, left_out }
}
