//! Commands to the packet plane's thread: to end, or to forward ahead of a change. It carries nothing out itself.

use std::sync::Arc;
use std::time::Duration;

use model::config::Config;
use model::snapshot::WorkerSnapshot;
use tokio::sync::{mpsc, oneshot};

/// How long others wait for the thread.
/// The process must end even if detaching programs hangs.
const WAIT: Duration = Duration::from_secs(5);

/// How the plane is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneExit {
    /// The datapath continues in the kernel.
    Detach,
    /// Every trace of it is removed.
    Remove,
}

/// A command for the thread.
#[derive(Debug)]
pub enum PlaneCommand {
    Shutdown {
        end: PlaneExit,
        /// When it is done.
        done: oneshot::Sender<()>,
    },
    /// To hash connections with another secret, which another machine has.
    ChangeHashSecret(l4::replica::FlowHashSecret),
    /// Forward by this snapshot before it is active elsewhere: listeners are about to close for it.
    ForwardEarly {
        snapshot: Arc<WorkerSnapshot>,
        /// The configuration that it was made from.
        config: Arc<Config>,
        /// When packets are forwarded, or cannot be.
        done: oneshot::Sender<()>,
    },
}

/// Where orders go, and where the thread takes them.
pub fn command_channel() -> (PlaneCommandSender, mpsc::Receiver<PlaneCommand>) {
    let (sender, inbox) = mpsc::channel(1);
    (PlaneCommandSender(sender), inbox)
}

/// Sends commands to the thread.
#[derive(Clone, Debug)]
pub struct PlaneCommandSender(mpsc::Sender<PlaneCommand>);

impl PlaneCommandSender {
    /// Waits, not for ever, until the plane has been left.
    pub async fn shut_down(&self, end: PlaneExit) {
        let (done, told) = oneshot::channel();
        if self.0.send(PlaneCommand::Shutdown { end, done }).await.is_ok() {
            // After the timeout the caller stops waiting; the thread ends with the process.
            let _ = tokio::time::timeout(WAIT, told).await;
        }
    }

    /// Changes the hash secret of connections soon. If the thread is busy the command is dropped, and the caller
    /// repeats it.
    pub fn change_hash_secret(&self, secret: l4::replica::FlowHashSecret) {
        let _ = self.0.try_send(PlaneCommand::ChangeHashSecret(secret));
    }

    /// Waits, for a limited time, until packets are forwarded by this snapshot.
    pub async fn forward_early(self, snapshot: Arc<WorkerSnapshot>, config: Arc<Config>) {
        let (done, told) = oneshot::channel();
        if self.0.send(PlaneCommand::ForwardEarly { snapshot, config, done }).await.is_ok() {
            // After the timeout the caller continues; the thread forwards as soon as it can.
            let _ = tokio::time::timeout(WAIT, told).await;
        }
    }
}
