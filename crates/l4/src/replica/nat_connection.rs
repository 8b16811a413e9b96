//! A replicated translated connection, and the place of its record. Data only.

use std::net::SocketAddr;

use bpf::MapValue as _;

use crate::abi::{self, State};

/// Words of a record.
pub(super) const RECORD: usize = abi::Record::SIZE / 8;

/// A live translated connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatConnection {
    /// The connection's hash from the client's side.
    pub fingerprint: u64,
    pub state: State,
    /// Ticks until the entry expires.
    pub ttl_ticks: u32,
    pub protocol: u8,
    pub client: SocketAddr,
    /// The service's address and port towards the client.
    pub service: SocketAddr,
    /// Index of its share.
    pub share: u32,
    /// Index of its server.
    pub server: u32,
    /// For a connection that began with a SYN cookie: the shift of its sequence numbers.
    pub stamp: Option<u32>,
}

/// The place for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSlot {
    /// Its place in the table.
    pub place: u32,
    /// Its place in the share.
    pub share_index: u32,
    /// The server's address and port, where the client's address is preserved.
    pub client_source: Option<SocketAddr>,
}
