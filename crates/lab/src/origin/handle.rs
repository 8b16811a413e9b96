//! Starting an origin, and telling it what to do while it runs.
//!
//! Orders are carried out by the origin's own thread; each call waits until that has happened.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::getsockname;
use thiserror::Error;

use super::counts::{Counts, Figures};
use super::options::Options;
use super::shell::{Order, Shell, listen};
use super::site::Fault;
use crate::poller::{Poller, Waker};
use crate::port::bound;

/// Why an origin could not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: Errno,
    },
    /// The name would break the grammar of a header field.
    #[error("an origin's name must be visible ASCII, at most 64 bytes")]
    Name,
    /// The kernel refused an epoll instance, an alarm or a wake-up.
    #[error("no poller could be made")]
    Poller(#[from] Errno),
    /// The kernel refused a thread.
    #[error("no thread could be started")]
    Thread(#[from] std::io::Error),
}

/// Why an order was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OrderError {
    /// The origin's thread has ended.
    #[error("the origin has stopped")]
    Stopped,
    /// The kernel refused.
    #[error("the kernel refused")]
    Refused(#[from] Errno),
}

/// A running origin; dropping it closes everything.
#[derive(Debug)]
pub struct Origin {
    address: SocketAddr,
    orders: SyncSender<Order>,
    waker: Waker,
    counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
}

impl Origin {
    /// Starts it.
    pub fn start(options: Options) -> Result<Origin, StartError> {
        if options.name.len() > 64 || !options.name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(StartError::Name);
        }
        let failed = |source| StartError::Listen { address: options.listen, source };
        let listener = bound(options.listen, false).map_err(failed)?;
        listen(&listener).map_err(failed)?;
        let address = getsockname(&listener)?;
        let address = SocketAddr::try_from(address).map_err(failed)?;
        let poller = Poller::new()?;
        let waker = poller.waker();
        let (orders, inbox) = sync_channel(ORDERS);
        let counts = Arc::new(Counts::default());
        let name = format!("origin-{}", options.name);
        let shell = Shell::new(options, address, listener, poller, inbox, counts.clone())?;
        let thread = std::thread::Builder::new().name(name).spawn(move || shell.run())?;
        Ok(Origin { address, orders, waker, counts, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has counted so far.
    pub fn figures(&self) -> Figures {
        self.counts.read()
    }

    /// Stops listening and resets every connection, as when a process is killed. The port stays reserved.
    pub fn kill(&self) -> Result<(), OrderError> {
        self.order(|done| Order::Kill { done })
    }

    /// Listens again on the same port.
    pub fn revive(&self) -> Result<(), OrderError> {
        self.order(|done| Order::Revive { done })
    }

    /// Stops or resumes doing anything; the kernel goes on accepting connections and bytes.
    pub fn hang(&self, hang: bool) -> Result<(), OrderError> {
        self.order(|done| Order::Hang { hang, done })
    }

    /// Answers from now on with this fault, or again without. An echoing origin has none.
    pub fn fault(&self, fault: Option<Fault>) -> Result<(), OrderError> {
        self.order(|done| Order::Fault { fault, done })
    }

    /// Closes idle connections after this time from now on.
    pub fn idle_close(&self, after: Option<Duration>) -> Result<(), OrderError> {
        self.order(|done| Order::IdleClose { after, done })
    }

    fn order(
        &self,
        order: impl FnOnce(SyncSender<Result<(), Errno>>) -> Order,
    ) -> Result<(), OrderError> {
        let (done, outcome) = sync_channel(1);
        self.orders.send(order(done)).map_err(|_| OrderError::Stopped)?;
        self.waker.wake();
        outcome.recv().map_err(|_| OrderError::Stopped)?.map_err(OrderError::Refused)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if self.orders.send(Order::Stop).is_ok() {
            self.waker.wake();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

const ORDERS: usize = 16;
