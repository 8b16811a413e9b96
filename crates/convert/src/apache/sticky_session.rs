//! The cookie that keeps a client at a member of a balancer.

use crate::source::SourcePlace;

/// `stickysession` of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StickySession {
    pub cookie: String,
    pub source: SourcePlace,
}
