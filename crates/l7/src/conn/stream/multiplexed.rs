//! Results of reads and writes, and the interface of a stream that shares a connection with others.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;

use crate::accounting::DownstreamProtocol;
use crate::rt::run_delay::HeldInterval;
use crate::tls::verified_client::VerifiedClient;

#[derive(Debug)]
pub enum StreamReadResult {
    Data(usize),
    WouldBlock,
    End,
    Failed(io::Error),
}

#[derive(Debug)]
pub enum StreamWriteResult {
    /// This many bytes. Fewer than offered: no more can be written now.
    Bytes(usize),
    WouldBlock,
    Failed(io::Error),
}

/// The TLS properties of a connection.
#[derive(Clone, Debug, Default)]
pub struct TlsContext {
    /// Field lines that describe the client's certificate.
    pub identity: Vec<u8>,
    /// The client's certificate; `None`: the client sent none.
    pub verified_client: Option<Rc<VerifiedClient>>,
    /// The server name (SNI) in lower case.
    pub name: Option<String>,
    /// Identifies the TLS session over all connections that resume it.
    pub session: Option<u64>,
    /// The version of TLS.
    pub version: Option<&'static str>,
}

/// A stream of a multiplexed connection, with the interface of an HTTP/1 connection that carries one exchange.
///
/// A method that returns `WouldBlock`, or `false` for "not possible yet", wakes the task when that changes.
pub trait MultiplexedStream {
    fn read(&self, into: &mut [u8]) -> StreamReadResult;
    /// Writes as much as possible.
    fn write(&self, from: &[u8]) -> StreamWriteResult;
    /// Whether a read would return something, including the end.
    fn may_read(&self) -> bool;
    /// Whether a write would accept something.
    fn may_write(&self) -> bool;
    /// Whether the stream is known to be broken, or the peer has reset it.
    fn is_broken(&self) -> bool;
    /// Ends the sending direction; reading continues.
    fn end(&self);
    /// Resets the stream, so that the peer does not treat it as complete.
    fn reset(&self);
    /// The TLS properties of the shared connection; `None`: no TLS.
    fn tls_context(&self) -> Option<&TlsContext>;
    /// Whether the peer has declared that it did not process the stream.
    fn unprocessed(&self) -> bool;
    /// Since when the peer's window, not the connection, blocks writes; `None`: the window does not.
    fn window_closed(&self) -> Option<MonotonicTime>;
    /// The time for which the thread was held between the last write to the stream and the sending of what was written.
    fn held_write(&self) -> Option<HeldInterval> {
        None
    }
    /// The kernel's TCP_INFO counters of the shared connection.
    fn counters(&self) -> Option<TcpInfoSample>;
    /// The balancer's port of the shared connection.
    fn local_port(&self) -> Option<u16>;
    /// The counter of bytes that all streams of the shared connection buffer for the peer.
    fn shared_buffered(&self) -> Option<Rc<Cell<usize>>> {
        None
    }
    /// The protocol of the shared connection.
    fn protocol(&self) -> DownstreamProtocol {
        DownstreamProtocol::Http2
    }
}
