//! The actions that a load engine requests from its thread.

/// An action on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketAction {
    /// Open a new one and report `connected` or `connect_failed`.
    Connect(usize),
    /// Send what is pending.
    Flush(usize),
    Read(usize),
    Close(usize),
}
