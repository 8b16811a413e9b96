//! The question that a choice answers, and the answer.
//!
//! It holds no rule: `eligible` says who may be chosen, each policy says who is.

use std::fmt;
use std::net::IpAddr;

use crate::id::ServerId;

/// What is known when a server is wanted.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The client's address: what `maglev` and `source` hash.
    pub client: IpAddr,
    /// Servers that this exchange has tried already. None of them is chosen while an untried one may take work,
    /// or could if it were not at its connection cap.
    pub tried: &'a [ServerId],
    /// Whether the caller holds an idle connection to that server. Asked only for servers at their connection
    /// cap, because idle connections count towards the cap but can be used without opening another.
    /// `&|_| false` when nothing is kept (`tcp`).
    pub shelved: &'a dyn Fn(ServerId) -> bool,
}

impl<'a> Ask<'a> {
    /// A first attempt by a caller that keeps no connections.
    pub fn first(client: IpAddr) -> Ask<'a> {
        Ask { client, tried: &[], shelved: &|_| false }
    }
}

impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("client", &self.client)
            .field("tried", &self.tried)
            .finish_non_exhaustive()
    }
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
