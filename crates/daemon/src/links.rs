//! Bundles of links under the daemon: one thread of its own makes their devices, asks their next hops, and writes which
//! links may have packets.
//!
//! The thread waits for nobody, so that no load delays a failover. What follows from what it sees is decided by
//! `links`; packets go through the kernel alone, except those that are held for order (`holder`).

mod asker;
mod bundle;
mod device;
mod holder;
mod sys;
mod task;
mod track;
pub mod view;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use crate::control::Control;
use task::End;
use view::View;

/// A failover is urgent; without the right to say so the thread goes on as it is.
const NICE: i32 = -15;
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
        let thread = std::thread::Builder::new().name("links".to_owned());
        let thread = thread.spawn(move || {
            // Of this thread alone, in Linux.
            let _ = rustix::process::setpriority_process(None, NICE);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(task::run(control, ended, show)),
                Err(error) => events.error("bundle-failed", format!("no runtime: {error}")),
            }
        });
        Handle { view, end, thread: thread.ok() }
    }

    /// How things stand.
    pub fn view(&self) -> watch::Receiver<Arc<View>> {
        self.view.clone()
    }

    /// Ends the thread. `give`: devices are removed; otherwise packets flow on as they do now.
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
