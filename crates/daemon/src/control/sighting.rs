//! What a source of servers said, on its way to the control. What it changes is decided there.

use crate::reconcile::overlay::FoundServer;

/// What a source of servers said.
#[derive(Clone, Debug)]
pub struct Found {
    /// For which pool.
    pub pool: String,
    /// Where, for messages: `dns web.internal`.
    pub place: String,
    /// The servers, or why the last good answer stands.
    pub servers: Result<Vec<FoundServer>, String>,
    /// Servers that were too many.
    pub left_out: usize,
}
