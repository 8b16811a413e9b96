//! A result of service discovery, on its way to the control actor.

use crate::state::overlay::DiscoveredServer;

/// An answer of a discovery source.
#[derive(Clone, Debug)]
pub struct DiscoveryResult {
    pub pool: String,
    /// Where, for messages: `dns web.internal`.
    pub source: String,
    /// The servers, or why the last valid answer stays in use.
    pub servers: Result<Vec<DiscoveredServer>, String>,
    /// Servers that were too many.
    pub left_out: usize,
}
