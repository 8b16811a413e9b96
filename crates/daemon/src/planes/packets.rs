//! The packet plane: one thread owns it, follows the snapshots, keeps next hops fresh, counts, and publishes its view.
//!
//! The plane runs in the kernel: it continues when this thread ends, unless a command removes it. Without a service
//! that forwards packets nothing is loaded and no privilege is needed.

mod alarms;
pub mod connection_tables;
mod flow_samples;
pub mod fragmenter;
pub mod half_open_clients;
pub mod host_facts;
pub mod interface_selection;
pub mod netlink;
pub mod open_plane;
pub mod order;
mod task;
pub mod view;
mod view_builder;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::planes::flow_samples::FlowSampleCollector;
use crate::state::ControlHandle;
use connection_tables::{ConnectionTables, ReplicationSource};
use order::{PlaneCommand, PlaneCommandSender, PlaneExit};
use view::PacketPlaneView;

/// How long the plane may take to stand before others go on without it.
/// The kernel verifies each program while it is loaded, which a slow machine prolongs.
const STAND: Duration = Duration::from_secs(10);

/// The packet plane, as others see it.
#[derive(Debug)]
pub struct PacketPlaneHandle {
    view: watch::Receiver<Arc<PacketPlaneView>>,
    flow_samples: Arc<FlowSampleCollector>,
    tables: watch::Receiver<Option<Arc<ConnectionTables>>>,
    commands: PlaneCommandSender,
    thread: Option<JoinHandle<()>>,
}

impl PacketPlaneHandle {
    /// Starts the thread, which follows `control` and takes its orders from `inbox`.
    pub fn start(
        control: ControlHandle,
        orders: PlaneCommandSender,
        inbox: mpsc::Receiver<PlaneCommand>,
    ) -> PacketPlaneHandle {
        let insight = Arc::new(FlowSampleCollector::default());
        let sees = Arc::clone(&insight);
        let (show, view) = watch::channel(Arc::new(PacketPlaneView::default()));
        let (give, tables) = watch::channel(None);
        let events = control.events().clone();
        let thread = std::thread::Builder::new().name("packets".to_owned());
        let thread = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(task::run(control, inbox, show, give, sees)),
                Err(error) => events.error("packets-failed", format!("no runtime: {error}")),
            }
        });
        PacketPlaneHandle {
            view,
            flow_samples: insight,
            tables,
            commands: orders,
            thread: thread.ok(),
        }
    }

    pub fn view(&self) -> watch::Receiver<Arc<PacketPlaneView>> {
        self.view.clone()
    }

    pub fn flow_samples(&self) -> Arc<FlowSampleCollector> {
        Arc::clone(&self.flow_samples)
    }

    /// The tables of connections, and how to have them hashed otherwise, for replication.
    pub fn replication_source(&self) -> ReplicationSource {
        ReplicationSource { tables: self.tables.clone(), commands: self.commands.clone() }
    }

    /// Waits, for a limited time, until the configuration was carried out or rejected with its reason.
    pub fn wait_settled(&self) -> impl Future<Output = ()> + use<> {
        let mut view = self.view();
        async move {
            let settled = view.wait_for(|view| view.is_settled);
            // A timeout needs no handling: the thread reports its reason, which `status` shows.
            let _ = tokio::time::timeout(STAND, settled).await;
        }
    }

    /// Ends the thread; a second call has no effect.
    pub async fn shut_down(&mut self, end: PlaneExit) {
        let Some(thread) = self.thread.take() else { return };
        self.commands.shut_down(end).await;
        if thread.is_finished() {
            // Fails only if the thread panicked, which it has reported on standard error.
            let _ = thread.join();
        }
    }
}
