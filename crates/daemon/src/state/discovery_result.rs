//! A result of service discovery, on its way to the control actor.

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
