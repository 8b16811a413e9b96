//! What a load engine orders of its shell. It orders nothing by itself.

/// What the shell is to do with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketAction {
    /// Open a new one and report `connected` or `connect_failed`.
    Connect(usize),
    /// Send what is pending.
    Flush(usize),
    Read(usize),
    Close(usize),
}
