//! The actions that a load engine requests from its thread.

/// An action on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketAction {
    /// Open a new connection and report `on_connected` or `on_connect_failed`.
    Connect(usize),
    /// Send the pending bytes.
    Flush(usize),
    Read(usize),
    Close(usize),
}
