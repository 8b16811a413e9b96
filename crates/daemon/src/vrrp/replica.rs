//! Replication at work: a thread of its own tells the other member of connections and sticky clients, and enters what it
//! is told. Who is believed and what is sent again is decided in `ha`; what entries are is known to `l4`.
//!
//! It waits for nobody and nobody waits for it: neither an advertisement nor a packet is later for it.

mod carry;
mod index;
mod task;
pub mod view;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use ha::keys::Keys;
use model::config::BeatPath;
use tokio::sync::watch;

use crate::packets::tables::Source;
use view::View;

/// How the pair stands, as the heartbeat sees it.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The keys in force.
    pub keys: Keys,
    /// Our process, and the other member's while it is heard.
    pub sessions: Option<(u64, u64)>,
    /// The heartbeat's port; ours is the one beside it.
    pub port: u16,
    /// Its paths, in the order of the configuration: what is written, its interface's number, and whether it is up.
    pub paths: Vec<(BeatPath, u32, bool)>,
    /// Shared addresses that this member holds.
    pub active: BTreeSet<IpAddr>,
}

/// The thread, as the heartbeat sees it. It ends with this.
#[derive(Debug)]
pub struct Replication {
    pair: watch::Sender<Option<Arc<Pair>>>,
    view: watch::Receiver<Arc<View>>,
    _thread: Option<JoinHandle<()>>,
}

impl Replication {
    /// Starts it.
    pub fn start(source: Source) -> Replication {
        let (pair, pairs) = watch::channel(None);
        let (show, view) = watch::channel(Arc::new(View::default()));
        let thread = std::thread::Builder::new().name("replication".to_owned());
        let thread = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(task::run(source, pairs, show));
            }
        });
        Replication { pair, view, _thread: thread.ok() }
    }

    /// How the pair stands now.
    pub fn tell(&self, pair: Option<Pair>) {
        self.pair.send_replace(pair.map(Arc::new));
    }

    /// How replication stands.
    pub fn view(&self) -> Arc<View> {
        self.view.borrow().clone()
    }
}

/// The port beside that of the heartbeat.
fn port(heartbeat: u16) -> u16 {
    heartbeat.checked_add(1).unwrap_or(heartbeat - 1)
}
