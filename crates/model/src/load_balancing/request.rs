//! The input and the result of a pick.
//!
//! Plain data: `eligible_servers.rs` says which servers may be chosen, each policy chooses one.

use std::net::IpAddr;

use crate::id::ServerId;
use crate::monotonic_time::MonotonicTime;

/// The input of a pick.
#[derive(Clone, Copy, Debug)]
pub struct PickRequest<'a> {
    /// The client's address, which `maglev` and `source` hash.
    pub client: IpAddr,
    /// The hash of what `hash-on` names (`model::hash`); `None`: that is the address, or the request lacks it.
    pub hash_key: Option<u64>,
    /// Servers that this exchange has tried already. None of them is chosen while an untried one may take work, or
    /// could if it were not at its connection cap.
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
    /// Servers may take work, but all untried ones are at their connection cap: wait in the queue.
    AllAtCap,
    /// No server may take work.
    None,
}
