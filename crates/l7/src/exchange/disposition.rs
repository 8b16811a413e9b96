//! What happens to a client's connection after an exchange or a local reply.
//!
//! `downstream::connection` applies it.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionDisposition {
    /// The connection may carry another request.
    KeepAlive,
    Close,
    /// Closed with a reset, so that a truncated response does not look complete.
    Reset,
    /// The sending direction ends, and the client's bytes are read for a while.
    Linger,
}
