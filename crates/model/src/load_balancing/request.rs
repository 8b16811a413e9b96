//! The question that a choice answers, and the answer.
//!
//! It holds no rule: `eligible` says who may be chosen, each policy says who is.

use std::net::IpAddr;

use crate::id::ServerId;
use crate::monotonic_time::MonotonicTime;

/// What is known when a server is wanted.
#[derive(Clone, Copy, Debug)]
pub struct PickRequest<'a> {
    /// The client's address: what `maglev` and `source` hash.
    pub client: IpAddr,
    /// The hash of what `hash-on` names (`model::hash`); `None`: it is the address, or the request lacks it.
    pub hash_key: Option<u64>,
    /// Servers that this exchange has tried already. None of them is chosen while an untried one may take work,
    /// or could if it were not at its connection cap.
    pub tried: &'a [ServerId],
    /// Now, on the worker's clock: what ages measured times.
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
    /// This one: an index into `PoolView::servers`.
    Server(usize),
    /// Servers may take work, but each that is left is at its connection cap: wait in the queue.
    AllAtCap,
    /// No server may take work.
    None,
}
