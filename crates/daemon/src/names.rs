//! The name server under the daemon: threads that answer over UDP, one that keeps the book and answers over TCP.
//!
//! What is answered is decided in the crate `names`; here are the sockets, the clock and the limits of connections. The
//! threads wait for nobody: they take the newest book between two batches, and a change of it loses no socket.

mod batch;
mod bind;
mod connections;
mod seat;
pub mod shared;
mod stream;
mod task;
mod udp;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::control::Control;
use shared::Shared;

/// The name server, as others see it.
#[derive(Debug)]
pub struct Handle {
    shared: Arc<Shared>,
    end: watch::Sender<bool>,
    settled: watch::Receiver<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Handle {
    /// Starts the thread that follows `control`; it starts the others when there is something to listen on.
    pub fn start(control: Control) -> Handle {
        let shared = Arc::new(Shared::default());
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
        Handle { shared, end, settled, thread: thread.ok() }
    }

    /// Waits until every address is had, or was tried: whoever served names before may leave then.
    pub async fn settled(&mut self) {
        // A thread that could not be started settles nothing, and drops its end.
        let _ = tokio::time::timeout(shared::LAST, self.settled.wait_for(|settled| *settled)).await;
    }

    /// What is in force and what was counted.
    pub fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Answers what has come, closes every socket and ends the threads.
    pub async fn end(&mut self) {
        self.end.send_replace(true);
        let Some(thread) = self.thread.take() else { return };
        // The thread ends within a look of its own; this one must not be held up meanwhile.
        let joined = tokio::task::spawn_blocking(move || thread.join());
        let _ = tokio::time::timeout(shared::LAST, joined).await;
    }
}
