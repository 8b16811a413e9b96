//! The name server: threads that answer over UDP, one that maintains the zone data and answers over TCP.
//!
//! The crate `names` creates the answers; this module has the sockets, the clock and the limits of connections. The
//! threads wait for no other task: they read the newest zone data between two batches, and a change of it closes no
//! socket.

mod bind;
mod connection_limit;
mod datagram_batch;
pub mod shared;
mod task;
mod tcp_connection;
mod udp_worker;
mod worker_mailbox;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::state::ControlHandle;
use shared::NameServerState;

/// The name server, as others see it.
#[derive(Debug)]
pub struct NameServerHandle {
    state: Arc<NameServerState>,
    stop: watch::Sender<bool>,
    listening: watch::Receiver<bool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServerHandle {
    /// Starts the thread that follows `control`; it starts the others when there is something to listen on.
    pub fn start(control: ControlHandle) -> NameServerHandle {
        let shared = Arc::new(NameServerState::default());
        let (end, ended) = watch::channel(false);
        let (settle, settled) = watch::channel(false);
        let events = control.events().clone();
        let held = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("names".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(task::run(control, held, settle, ended)),
                Err(error) => events.error("names-failed", format!("no runtime: {error}")),
            }
        });
        NameServerHandle { state: shared, stop: end, listening: settled, thread: thread.ok() }
    }

    /// Waits until every address is bound, or has failed: the previous process may stop then.
    pub async fn wait_listening(&mut self) {
        // A thread that could not be started settles nothing, and drops its end.
        let _ =
            tokio::time::timeout(shared::LAST, self.listening.wait_for(|settled| *settled)).await;
    }

    /// The active zone data, and counters.
    pub fn state(&self) -> Arc<NameServerState> {
        Arc::clone(&self.state)
    }

    /// Answers pending queries, closes every socket and ends the threads.
    pub async fn shut_down(&mut self) {
        self.stop.send_replace(true);
        let Some(thread) = self.thread.take() else { return };
        // Joining blocks for up to one poll interval, so it runs on a blocking thread.
        let joined = tokio::task::spawn_blocking(move || thread.join());
        // After the limit the threads are left behind and end with the process.
        let _ = tokio::time::timeout(shared::LAST, joined).await;
    }
}
