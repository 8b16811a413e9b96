//! VRRP: one thread of its own speaks it, sets the floating addresses and renews the lease of the dead-man timer.
//!
//! The thread waits for no other task: it reads snapshots, frames and commands as they arrive and sends no request to
//! workers or the control actor. Their load therefore delays no advertisement. `ha` decides which member is active.

mod address_gate;
mod address_repair;
pub mod command;
mod control_liveness;
mod duplicate_filter;
mod group;
pub mod heartbeat;
mod interface;
mod macvlan;
pub mod replication;
mod rx_socket;
mod service_check;
mod settings;
mod task;
mod transition_text;
mod tx_socket;
pub mod view;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::planes::packets::connection_tables::ReplicationSource;
use crate::planes::packets::view as packets;
use crate::state::ControlHandle;
use command::VrrpCommandSender;
pub use control_liveness::ControlPulse;
use view::VrrpView;

/// Advertisements are more urgent than any other work here. Without the right to raise the priority the thread runs at
/// the normal one.
const NICE: i32 = -15;

/// The thread, as others see it.
#[derive(Debug)]
pub struct VrrpHandle {
    view: watch::Receiver<Arc<VrrpView>>,
    commands: VrrpCommandSender,
    thread: Option<JoinHandle<()>>,
}

impl VrrpHandle {
    /// Starts the thread, which follows `control`. `pulse` reports whether the control's runtime lives, `packets`
    /// whether packets are forwarded; `source` provides the connection tables.
    pub fn start(
        control: ControlHandle,
        pulse: ControlPulse,
        packets: watch::Receiver<Arc<packets::PacketPlaneView>>,
        source: ReplicationSource,
    ) -> VrrpHandle {
        let (orders, inbox) = command::command_channel();
        let (show, view) = watch::channel(Arc::new(VrrpView::default()));
        let events = control.events().clone();
        let thread = std::thread::Builder::new().name("vrrp".to_owned());
        let thread = thread.spawn(move || {
            // Of this thread alone, in Linux.
            let _ = rustix::process::setpriority_process(None, NICE);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => {
                    runtime.block_on(task::run(control, pulse, packets, source, inbox, show))
                }
                Err(error) => events.error("vrrp-failed", format!("no runtime: {error}")),
            }
        });
        VrrpHandle { view, commands: orders, thread: thread.ok() }
    }

    pub fn view(&self) -> watch::Receiver<Arc<VrrpView>> {
        self.view.clone()
    }

    /// To order a takeover.
    pub fn commands(&self) -> VrrpCommandSender {
        self.commands.clone()
    }

    /// Ends the thread. With `give`, addresses are released and the peers informed; otherwise the next process takes
    /// them over.
    pub async fn shut_down(&mut self, give: bool) {
        let Some(thread) = self.thread.take() else { return };
        self.commands.shut_down(give).await;
        if thread.is_finished() {
            // Fails only if the thread panicked, which it has reported on standard error.
            let _ = thread.join();
        }
    }
}
