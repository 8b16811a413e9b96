//! How the packet plane is told to end. It ends nothing itself.

use tokio::sync::oneshot;

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
pub struct Order {
    /// How to end.
    pub end: End,
    /// When it is done.
    pub done: oneshot::Sender<()>,
}
