//! Uplinks under the daemon: one thread of its own asks beyond each gateway, and writes what follows into the kernel:
//! routing rules and tables, the programs that draw an uplink for each connection, and whose source is translated.
//!
//! What follows from what it sees is decided by `links::uplink`; packets go through the kernel alone.

mod asker;
mod path;
pub(crate) mod routes;
mod sys;
pub(crate) mod talk;
mod task;
pub mod view;
mod write;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use crate::control::Control;
use task::End;
use view::View;

/// How long others wait for the thread to end.
const WAIT: Duration = Duration::from_secs(5);

/// The thread, as others see it.
#[derive(Debug)]
pub struct Handle {
    view: watch::Receiver<Arc<View>>,
    end: mpsc::Sender<End>,
    thread: Option<JoinHandle<()>>,
}

impl Handle {
    /// Starts the thread, which follows `control`.
    pub fn start(control: Control) -> Handle {
        let (end, ended) = mpsc::channel(1);
        let (show, view) = watch::channel(Arc::new(View::default()));
        let events = control.events().clone();
        let thread = std::thread::Builder::new().name("uplinks".to_owned());
        let thread = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(task::run(control, ended, show)),
                Err(error) => events.error("uplink-failed", format!("no runtime: {error}")),
            }
        });
        Handle { view, end, thread: thread.ok() }
    }

    /// How things stand.
    pub fn view(&self) -> watch::Receiver<Arc<View>> {
        self.view.clone()
    }

    /// Ends the thread. `give`: rules, routes and programs are removed; otherwise connections go on as they do now.
    pub async fn end(&mut self, give: bool) {
        let Some(thread) = self.thread.take() else { return };
        let (done, told) = oneshot::channel();
        if self.end.send(End { give, done }).await.is_ok() {
            let _ = tokio::time::timeout(WAIT, told).await;
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}
