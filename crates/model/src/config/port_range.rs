//! One range of ports.

use serde::Serialize;

/// Ports of TCP or UDP from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "(u16, u16)")]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl From<PortRange> for (u16, u16) {
    fn from(range: PortRange) -> (u16, u16) {
        (range.first, range.last)
    }
}
