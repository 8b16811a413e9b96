//! What a source of servers said, on its way to the control. What it changes is decided there.

use crate::state::overlay::DiscoveredServer;

/// What a source of servers said.
#[derive(Clone, Debug)]
pub struct DiscoveryResult {
    pub pool: String,
    /// Where, for messages: `dns web.internal`.
    pub source: String,
    /// The servers, or why the last good answer stands.
    pub servers: Result<Vec<DiscoveredServer>, String>,
    /// Servers that were too many.
    pub left_out: usize,
}
