//! What the packet plane's thread is told: to end, or to be ahead of a change. It carries nothing out itself.

use std::sync::Arc;
use std::time::Duration;

use model::config::Config;
use model::snapshot::Snapshot;
use tokio::sync::{mpsc, oneshot};

/// How long others wait for the thread.
const WAIT: Duration = Duration::from_secs(5);

/// How the plane is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It goes on in the kernel.
    Detach,
    /// Every trace of it is removed.
    Remove,
}

/// What the thread is told.
#[derive(Debug)]
pub enum Order {
    /// To end.
    End {
        /// How.
        end: End,
        /// When it is done.
        done: oneshot::Sender<()>,
    },
    /// To hash connections with another secret, which another machine has.
    Hash(l4::replica::Secret),
    /// To forward as this says before it is in force for others: listeners are about to close for it.
    Ahead {
        /// What is to be.
        snapshot: Arc<Snapshot>,
        /// What it was made from.
        config: Arc<Config>,
        /// When packets are forwarded, or cannot be.
        done: oneshot::Sender<()>,
    },
}

/// Where orders go, and where the thread takes them.
pub fn orders() -> (Orders, mpsc::Receiver<Order>) {
    let (sender, inbox) = mpsc::channel(1);
    (Orders(sender), inbox)
}

/// To tell the thread.
#[derive(Clone, Debug)]
pub struct Orders(mpsc::Sender<Order>);

impl Orders {
    /// Waits, not for ever, until the plane has been left.
    pub async fn end(&self, end: End) {
        let (done, told) = oneshot::channel();
        if self.0.send(Order::End { end, done }).await.is_ok() {
            let _ = tokio::time::timeout(WAIT, told).await;
        }
    }

    /// Connections are hashed with this soon, unless the thread is busy: whoever asks asks again.
    pub fn hash_with(&self, secret: l4::replica::Secret) {
        let _ = self.0.try_send(Order::Hash(secret));
    }

    /// Waits, not for ever, until packets are forwarded as this says.
    pub async fn ahead(self, snapshot: Arc<Snapshot>, config: Arc<Config>) {
        let (done, told) = oneshot::channel();
        if self.0.send(Order::Ahead { snapshot, config, done }).await.is_ok() {
            let _ = tokio::time::timeout(WAIT, told).await;
        }
    }
}
