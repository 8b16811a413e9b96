//! The question that a choice answers, and the answer.
//!
//! It holds no rule: `eligible` says who may be chosen, each policy says who is.

use std::net::IpAddr;

use crate::id::ServerId;

/// What is known when a server is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The client's address: what `maglev` and `source` hash.
    pub client: IpAddr,
    /// Servers that this exchange has tried already. None of them is chosen while an untried one may take work,
    /// or could if it were not at its connection cap.
    pub tried: &'a [ServerId],
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This one: an index into `PoolView::servers`.
    Server(usize),
    /// Servers may take work, but each that is left is at its connection cap: wait in the queue.
    AllAtCap,
    /// No server may take work.
    None,
}
