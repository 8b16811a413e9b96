//! An open connection to a server, counted while it lives.
//!
//! It is made and lent by `upstream` and kept by `shelf`.

use std::net::SocketAddr;
use std::sync::Arc;

use model::breaker::Permit;
use model::live::ServerLive;

use crate::caller::Whose;
use crate::ports::Lease;
use crate::rt::Net;
use crate::stream::Stream;

/// An open connection to a server.
pub struct Upstream<N: Net> {
    /// The connection.
    pub stream: Stream<N>,
    /// Where it goes.
    pub to: SocketAddr,
    /// Bytes that we have sent on it for exchanges.
    pub sent: u64,
    /// Bytes of a header before them, and before TLS.
    pub announced: u64,
    /// Whose it is.
    pub whose: Whose,
    /// What counts it; a strand is counted with its connection.
    pub counted: Option<Counted>,
}

/// A connection being open.
pub struct Counted {
    live: Arc<ServerLive>,
    _port: Lease,
    _permit: Permit,
}

impl<N: Net> Upstream<N> {
    /// Counts it as open until it is dropped.
    pub fn new(
        stream: Stream<N>,
        to: SocketAddr,
        live: Arc<ServerLive>,
        (port, permit): (Lease, Permit),
    ) -> Upstream<N> {
        live.connections.up();
        let counted = Some(Counted { live, _port: port, _permit: permit });
        Upstream { stream, to, sent: 0, announced: 0, whose: Whose::Anybodys, counted }
    }

    /// One of many that share a connection.
    pub fn strand(stream: Stream<N>, to: SocketAddr) -> Upstream<N> {
        Upstream { stream, to, sent: 0, announced: 0, whose: Whose::Anybodys, counted: None }
    }

    /// Bytes of ours on the wire so far.
    pub fn sent_before(&self) -> u64 {
        self.announced + self.stream.written().unwrap_or(self.sent)
    }

    /// Closes with a reset.
    pub fn reset(self) {
        self.stream.reset_on_drop();
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.live.connections.down();
    }
}
