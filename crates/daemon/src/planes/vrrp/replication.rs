//! Replication: a thread of its own sends connections and sticky clients to the other member, and enters what it
//! receives. `ha` decides what is trusted and what is sent again; `l4` knows the entries.
//!
//! Replication waits for no other task and no other task waits for it, so it delays neither an advertisement nor a
//! packet.

mod full_scan;
mod record_codec;
mod send_round;
mod server_index;
mod task;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::planes::packets::connection_tables::ReplicationSource;
use crate::planes::vrrp::heartbeat::pair_state::PairState;
use crate::planes::vrrp::heartbeat::replication_view::ReplicationView;

/// The thread, as the heartbeat sees it. It ends with this.
#[derive(Debug)]
pub struct ReplicationHandle {
    pair: watch::Sender<Option<Arc<PairState>>>,
    view: watch::Receiver<Arc<ReplicationView>>,
    _thread: Option<JoinHandle<()>>,
}

impl ReplicationHandle {
    pub fn start(source: ReplicationSource) -> ReplicationHandle {
        let (pair, pairs) = watch::channel(None);
        let (show, view) = watch::channel(Arc::new(ReplicationView::default()));
        let thread = std::thread::Builder::new().name("replication".to_owned());
        let thread = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(task::run(source, pairs, show));
            }
        });
        ReplicationHandle { pair, view, _thread: thread.ok() }
    }

    /// Sets the state of the pair.
    pub fn set_pair_state(&self, pair: Option<PairState>) {
        self.pair.send_replace(pair.map(Arc::new));
    }

    pub fn view(&self) -> Arc<ReplicationView> {
        self.view.borrow().clone()
    }
}
