//! Starts an origin and sends commands to it while it runs.
//!
//! The origin's own thread executes commands; each call waits for the result.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::getsockname;
use thiserror::Error;

use super::content::OriginFault;
use super::counts::{OriginCounters, OriginCounts};
use super::event_loop::{OriginCommand, OriginThread, start_listening};
use super::options::OriginOptions;
use crate::poller::{Poller, PollerWaker};
use crate::port::bind_socket;

#[derive(Debug, Error)]
pub enum OriginStartError {
    /// The address is in use or not of this host.
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        source: Errno,
    },
    /// The name is not valid in a header field.
    #[error("an origin's name must be visible ASCII, at most 64 bytes")]
    Name,
    /// The kernel rejected an epoll instance, a timer or an event descriptor.
    #[error("no poller could be made")]
    Poller(#[from] Errno),
    /// The kernel could not start a thread.
    #[error("no thread could be started")]
    Thread(#[from] std::io::Error),
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OriginCommandError {
    /// The origin's thread has ended.
    #[error("the origin has stopped")]
    Stopped,
    #[error("the kernel refused")]
    Refused(#[from] Errno),
}

/// A running origin; dropping it closes everything.
#[derive(Debug)]
pub struct TestOrigin {
    address: SocketAddr,
    orders: SyncSender<OriginCommand>,
    waker: PollerWaker,
    counts: Arc<OriginCounters>,
    thread: Option<JoinHandle<()>>,
}

impl TestOrigin {
    pub fn start(options: OriginOptions) -> Result<TestOrigin, OriginStartError> {
        if options.name.len() > 64 || !options.name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(OriginStartError::Name);
        }
        let failed = |source| OriginStartError::Listen { address: options.listen, source };
        let listener = bind_socket(options.listen, false).map_err(failed)?;
        start_listening(&listener).map_err(failed)?;
        let address = getsockname(&listener)?;
        let address = SocketAddr::try_from(address).map_err(failed)?;
        let poller = Poller::new()?;
        let waker = poller.waker();
        let (orders, inbox) = sync_channel(ORDERS);
        let counts = Arc::new(OriginCounters::default());
        let name = format!("origin-{}", options.name);
        let shell = OriginThread::new(options, address, listener, poller, inbox, counts.clone())?;
        let thread = std::thread::Builder::new().name(name).spawn(move || shell.run())?;
        Ok(TestOrigin { address, orders, waker, counts, thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The current counts.
    pub fn figures(&self) -> OriginCounts {
        self.counts.read()
    }

    /// Stops listening and resets every connection, as when a process is killed. The port stays reserved.
    pub fn kill(&self) -> Result<(), OriginCommandError> {
        self.send_command(|done| OriginCommand::Kill { done })
    }

    /// Listens again on the same port.
    pub fn revive(&self) -> Result<(), OriginCommandError> {
        self.send_command(|done| OriginCommand::Revive { done })
    }

    /// Stops or resumes all work; the kernel still accepts connections and receives bytes.
    pub fn set_hung(&self, hang: bool) -> Result<(), OriginCommandError> {
        self.send_command(|done| OriginCommand::Hang { hang, done })
    }

    /// Sets the fault of all further responses; `None` removes it. An echoing origin has no faults.
    pub fn set_fault(&self, fault: Option<OriginFault>) -> Result<(), OriginCommandError> {
        self.send_command(|done| OriginCommand::Fault { fault, done })
    }

    /// Sets the time after which idle connections are closed.
    pub fn set_idle_close(&self, after: Option<Duration>) -> Result<(), OriginCommandError> {
        self.send_command(|done| OriginCommand::IdleClose { after, done })
    }

    fn send_command(
        &self,
        order: impl FnOnce(SyncSender<Result<(), Errno>>) -> OriginCommand,
    ) -> Result<(), OriginCommandError> {
        let (done, outcome) = sync_channel(1);
        self.orders.send(order(done)).map_err(|_| OriginCommandError::Stopped)?;
        self.waker.wake();
        outcome
            .recv()
            .map_err(|_| OriginCommandError::Stopped)?
            .map_err(OriginCommandError::Refused)
    }
}

impl Drop for TestOrigin {
    fn drop(&mut self) {
        if self.orders.send(OriginCommand::Stop).is_ok() {
            self.waker.wake();
        }
        if let Some(thread) = self.thread.take() {
            // Fails only if the thread panicked, which it has reported on standard error.
            let _ = thread.join();
        }
    }
}

/// Queued commands; a sender waits while the queue is full.
const ORDERS: usize = 16;
