//! Shared addresses under the daemon: one thread of its own speaks VRRP, sets addresses and renews the dead man's hold.
//!
//! The thread waits for nobody: it takes pictures, frames and orders as they are there, and asks nothing of workers or
//! the control task, so that neither's load delays an advertisement. It decides nothing about who is active: `ha` does.

mod alive;
mod ear;
mod fit;
mod gate;
mod ground;
mod group;
pub mod heartbeat;
mod mouth;
pub mod order;
pub mod replica;
mod restored;
mod scout;
mod seat;
mod settings;
mod task;
mod tell;
pub mod view;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::control::Control;
use crate::packets::tables::Source;
use crate::packets::view as packets;
pub use alive::{Pulse, now};
use order::Orders;
use view::View;

/// Nobody else's work is more urgent than an advertisement; without the right to say so it goes on as it is.
const NICE: i32 = -15;

/// The thread, as others see it.
#[derive(Debug)]
pub struct Handle {
    view: watch::Receiver<Arc<View>>,
    orders: Orders,
    thread: Option<JoinHandle<()>>,
}

impl Handle {
    /// Starts the thread, which follows `control`; `pulse` says whether the control's runtime lives, `packets` whether
    /// packets are forwarded, and `source` has the tables of connections.
    pub fn start(
        control: Control,
        pulse: Pulse,
        (packets, source): (watch::Receiver<Arc<packets::View>>, Source),
    ) -> Handle {
        let (orders, inbox) = order::orders();
        let (show, view) = watch::channel(Arc::new(View::default()));
        let events = control.events().clone();
        let thread = std::thread::Builder::new().name("vrrp".to_owned());
        let thread = thread.spawn(move || {
            // Of this thread alone, in Linux.
            let _ = rustix::process::setpriority_process(None, NICE);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => {
                    runtime.block_on(task::run(control, (pulse, packets, source), inbox, show))
                }
                Err(error) => events.error("vrrp-failed", format!("no runtime: {error}")),
            }
        });
        Handle { view, orders, thread: thread.ok() }
    }

    /// How things stand.
    pub fn view(&self) -> watch::Receiver<Arc<View>> {
        self.view.clone()
    }

    /// To order a takeover.
    pub fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// Ends the thread. `give`: addresses are given up, and the others told; otherwise the next process has them.
    pub async fn end(&mut self, give: bool) {
        let Some(thread) = self.thread.take() else { return };
        self.orders.end(give).await;
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}
