//! The packet plane under the daemon: one thread owns it, follows the pictures, keeps next hops fresh, counts, and
//! shows how things stand.
//!
//! The plane lives in the kernel: it goes on when this thread ends, unless it is told to take everything down. Without
//! a service that forwards packets nothing is loaded and no right is needed.

mod alarms;
pub mod attach;
pub mod facts;
pub mod fragmenter;
mod insight;
pub mod netlink;
pub mod order;
mod shows;
pub mod site;
pub mod tables;
mod task;
pub mod view;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::control::Control;
use crate::insight::Insight;
use order::{End, Order, Orders};
use tables::{Source, Tables};
use view::View;

/// How long the plane may take to stand before others go on without it.
const STAND: Duration = Duration::from_secs(10);

/// The packet plane, as others see it.
#[derive(Debug)]
pub struct Handle {
    view: watch::Receiver<Arc<View>>,
    insight: Arc<Insight>,
    tables: watch::Receiver<Option<Arc<Tables>>>,
    orders: Orders,
    thread: Option<JoinHandle<()>>,
}

impl Handle {
    /// Starts the thread, which follows `control` and takes its orders from `inbox`.
    pub fn start(control: Control, (orders, inbox): (Orders, mpsc::Receiver<Order>)) -> Handle {
        let insight = Arc::new(Insight::default());
        let sees = Arc::clone(&insight);
        let (show, view) = watch::channel(Arc::new(View::default()));
        let (give, tables) = watch::channel(None);
        let events = control.events().clone();
        let thread = std::thread::Builder::new().name("packets".to_owned());
        let thread = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(task::run(control, inbox, (show, give), sees)),
                Err(error) => events.error("packets-failed", format!("no runtime: {error}")),
            }
        });
        Handle { view, insight, tables, orders, thread: thread.ok() }
    }

    /// How things stand.
    pub fn view(&self) -> watch::Receiver<Arc<View>> {
        self.view.clone()
    }

    /// What watched connections showed.
    pub fn insight(&self) -> Arc<Insight> {
        Arc::clone(&self.insight)
    }

    /// The tables of connections, and how to have them hashed otherwise, for replication.
    pub fn source(&self) -> Source {
        Source { tables: self.tables.clone(), orders: self.orders.clone() }
    }

    /// Waits, not for ever, until what is asked for was carried out or refused with its reason.
    pub fn settled(&self) -> impl Future<Output = ()> + use<> {
        let mut view = self.view();
        async move {
            let settled = view.wait_for(|view| view.settled);
            // Whatever keeps it is told by the thread, and stands in `status`.
            let _ = tokio::time::timeout(STAND, settled).await;
        }
    }

    /// Ends the thread; what a second call says does not count any more.
    pub async fn end(&mut self, end: End) {
        let Some(thread) = self.thread.take() else { return };
        self.orders.end(end).await;
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}
