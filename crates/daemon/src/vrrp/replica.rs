//! Replication at work: a thread of its own tells the other member of connections and sticky clients, and enters what it
//! is told. Who is believed and what is sent again is decided in `ha`; what entries are is known to `l4`.
//!
//! It waits for nobody and nobody waits for it: neither an advertisement nor a packet is later for it.

mod carry;
mod index;
pub mod pair;
mod task;
mod telling;
pub mod view;
mod walk;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::packets::tables::Source;
use pair::Pair;
use view::View;

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
