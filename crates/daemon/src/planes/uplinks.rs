//! Uplinks in the daemon: one thread probes targets beyond each gateway and writes the results into the kernel. These
//! are routing rules and tables, and the programs that select an uplink for each connection and translate sources.
//!
//! What follows from what it sees is decided by `links::uplink`; packets go through the kernel alone.

mod kernel_state;
mod netns;
pub(crate) mod nfnetlink;
mod path;
mod prober;
pub(crate) mod rtnetlink;
mod task;
pub mod view;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use crate::state::ControlHandle;
use task::UplinksShutdown;
use view::UplinksView;

/// How long others wait for the thread to end.
/// The process must end even if removing rules and routes hangs.
const WAIT: Duration = Duration::from_secs(5);

/// The thread, as others see it.
#[derive(Debug)]
pub struct UplinksHandle {
    view: watch::Receiver<Arc<UplinksView>>,
    stop: mpsc::Sender<UplinksShutdown>,
    thread: Option<JoinHandle<()>>,
}

impl UplinksHandle {
    /// Starts the thread, which follows `control`.
    pub fn start(control: ControlHandle) -> UplinksHandle {
        let (end, ended) = mpsc::channel(1);
        let (show, view) = watch::channel(Arc::new(UplinksView::default()));
        let events = control.events().clone();
        let thread = std::thread::Builder::new().name("uplinks".to_owned());
        let thread = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(task::run(control, ended, show)),
                Err(error) => events.error("uplink-failed", format!("no runtime: {error}")),
            }
        });
        UplinksHandle { view, stop: end, thread: thread.ok() }
    }

    pub fn view(&self) -> watch::Receiver<Arc<UplinksView>> {
        self.view.clone()
    }

    /// Ends the thread. `give`: rules, routes and programs are removed; otherwise connections go on as they do now.
    pub async fn shut_down(&mut self, give: bool) {
        let Some(thread) = self.thread.take() else { return };
        let (done, told) = oneshot::channel();
        if self.stop.send(UplinksShutdown { remove_routes: give, done }).await.is_ok() {
            // After the limit the thread is left behind and ends with the process.
            let _ = tokio::time::timeout(WAIT, told).await;
        }
        if thread.is_finished() {
            // Fails only if the thread panicked, which it has reported on standard error.
            let _ = thread.join();
        }
    }
}
