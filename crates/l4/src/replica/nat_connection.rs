//! A translated connection as it is told, and where its record goes. Data alone.

use std::net::IpAddr;

use bpf::MapValue as _;

use crate::abi::{self, State};

/// Words of a record.
pub(super) const RECORD: usize = abi::Record::SIZE / 8;

/// A translated connection that lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatConnection {
    /// Its hash, as its client sees it.
    pub fingerprint: u64,
    pub state: State,
    /// Ticks until it is forgotten.
    pub ttl_ticks: u32,
    pub protocol: u8,
    pub client: (IpAddr, u16),
    /// The service, as the client knows it.
    pub service: (IpAddr, u16),
    /// Index of its share.
    pub share: u32,
    /// Index of its server.
    pub server: u32,
    /// Where it began with a SYN cookie: by what numbers are shifted.
    pub stamp: Option<u32>,
}

/// Where a record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSlot {
    /// Its place in the table.
    pub place: u32,
    /// Its place in the share.
    pub share_index: u32,
    /// The server's address and port, where the client's address is kept.
    pub client_source: Option<(IpAddr, u16)>,
}
