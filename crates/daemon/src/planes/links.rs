//! Bundles of links: one thread of its own makes their devices, probes their next hops, and sets which links carry
//! packets.
//!
//! The thread waits for no other task, so that no load delays a failover. The crate `links` makes the decisions.
//! Packets pass through the kernel alone, except packets that are held for their order (`delay_equalizer`).

mod bundle;
mod delay_equalizer;
mod device;
mod frame_socket;
mod link_tracker;
mod prober;
mod task;
pub mod view;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use crate::state::ControlHandle;
use task::LinksShutdown;
use view::LinksView;

/// A failover is urgent. Without the right to raise the priority the thread runs at the normal one.
const NICE: i32 = -15;
/// How long others wait for the thread to end.
/// The process must end even if removing devices hangs.
const WAIT: Duration = Duration::from_secs(5);

/// The thread, as others see it.
#[derive(Debug)]
pub struct LinksHandle {
    view: watch::Receiver<Arc<LinksView>>,
    end: mpsc::Sender<LinksShutdown>,
    thread: Option<JoinHandle<()>>,
}

impl LinksHandle {
    /// Starts the thread, which follows `control`.
    pub fn start(control: ControlHandle) -> LinksHandle {
        let (end, ended) = mpsc::channel(1);
        let (show, view) = watch::channel(Arc::new(LinksView::default()));
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
        LinksHandle { view, end, thread: thread.ok() }
    }

    pub fn view(&self) -> watch::Receiver<Arc<LinksView>> {
        self.view.clone()
    }

    /// Ends the thread. `give`: devices are removed; otherwise packets flow on as they do now.
    pub async fn end(&mut self, give: bool) {
        let Some(thread) = self.thread.take() else { return };
        let (done, told) = oneshot::channel();
        if self.end.send(LinksShutdown { remove_devices: give, done }).await.is_ok() {
            // After the limit the thread is left behind and ends with the process.
            let _ = tokio::time::timeout(WAIT, told).await;
        }
        if thread.is_finished() {
            // Fails only if the thread panicked, which it has reported on standard error.
            let _ = thread.join();
        }
    }
}
