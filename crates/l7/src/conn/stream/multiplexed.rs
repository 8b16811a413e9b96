//! Results of reads and writes, and the interface of a stream that shares a connection with others.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;

use crate::accounting::DownstreamProtocol;
use crate::tls::verified_client::VerifiedClient;

/// The result of a read.
#[derive(Debug)]
pub enum StreamReadResult {
    Data(usize),
    WouldBlock,
    End,
    /// The connection is broken.
    Failed(io::Error),
}

/// The result of a write.
#[derive(Debug)]
pub enum StreamWriteResult {
    /// This many bytes, possibly fewer than offered: then no more fit now.
    Bytes(usize),
    WouldBlock,
    /// The connection is broken.
    Failed(io::Error),
}

/// The TLS state of a connection.
#[derive(Clone, Debug, Default)]
pub struct TlsContext {
    /// What the client has proven, as lines of a head.
    pub identity: Vec<u8>,
    /// The client's certificate; `None`: it has shown none.
    pub verified_client: Option<Rc<VerifiedClient>>,
    /// The name that the client asked for, lower case.
    pub name: Option<String>,
    /// Which TLS session it is, over all connections that resume it.
    pub session: Option<u64>,
}

/// One of many that share a connection, in the form of a connection of HTTP/1 that carries one exchange.
///
/// Whatever answers `Later`, or says that something is not possible yet, wakes its task when that changes.
pub trait MultiplexedStream {
    /// Reads the available bytes.
    fn read(&self, into: &mut [u8]) -> StreamReadResult;
    /// Writes as much as possible.
    fn write(&self, from: &[u8]) -> StreamWriteResult;
    /// Whether a read may give something, the end included.
    fn may_read(&self) -> bool;
    /// Whether a write may take something.
    fn may_write(&self) -> bool;
    /// Whether it is known to be broken, or the peer has given it up.
    fn is_broken(&self) -> bool;
    /// Sends the end of the stream; reading continues.
    fn end(&self);
    /// Resets the stream, so that the peer does not take it for complete.
    fn reset(&self);
    /// What its connection has under TLS; `None`: no TLS.
    fn tls_context(&self) -> Option<&TlsContext>;
    /// Whether the peer has declared it unprocessed.
    fn unprocessed(&self) -> bool;
    /// Since when it is the peer's window that lets a write wait, not the connection; `None`: it is not.
    fn window_closed(&self) -> Option<MonotonicTime>;
    /// The kernel's counters of the shared connection.
    fn counters(&self) -> Option<TcpInfoSample>;
    /// Our port of the connection that it shares.
    fn local_port(&self) -> Option<u16>;
    /// Bytes that all streams of that connection keep for its peer.
    fn shared_buffered(&self) -> Option<Rc<Cell<usize>>> {
        None
    }
    /// The protocol of the connection.
    fn protocol(&self) -> DownstreamProtocol {
        DownstreamProtocol::Http2
    }
}
