//! What happens to a client's connection after an exchange or a local reply.
//!
//! `downstream::connection` carries it out.

/// What becomes of the client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionDisposition {
    /// It may carry another request.
    KeepAlive,
    Close,
    /// It is closed with a reset: an answer that was cut must not look complete.
    Reset,
    /// Our side ends, the client's bytes are read for a while.
    Linger,
}
