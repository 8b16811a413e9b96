//! The input and the result of a pick.
//!
//! Plain data: `eligible_servers.rs` determines which servers may be chosen, each policy chooses one.

use std::net::IpAddr;

use crate::id::ServerId;
use crate::monotonic_time::MonotonicTime;

/// The input of a pick.
#[derive(Clone, Copy, Debug)]
pub struct PickRequest<'a> {
    /// The client's address, which `maglev` and `source` hash.
    pub client: IpAddr,
    /// The hash of the key that `hash-on` names (`model::hash`); `None`: the key is the address, or the request lacks
    /// it.
    pub hash_key: Option<u64>,
    /// Servers that this exchange has already tried. None of them is chosen while an untried one may get work, or could
    /// if it were below its connection limit.
    pub tried: &'a [ServerId],
    /// The worker's clock, which ages measured times.
    pub now: MonotonicTime,
}

impl<'a> PickRequest<'a> {
    /// The first attempt for a client.
    pub fn first_attempt(client: IpAddr, now: MonotonicTime) -> PickRequest<'a> {
        PickRequest { client, hash_key: None, tried: &[], now }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickResult {
    /// An index into `PoolView::servers`.
    Server(usize),
    /// Servers may get work, but all untried ones are at their connection limit: wait in the queue.
    AllAtCap,
    /// No server may get work.
    None,
}
