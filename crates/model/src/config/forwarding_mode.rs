//! The methods by which a service forwards. What each can carry `verify` knows.

use serde::Serialize;

/// How a service forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingMode {
    /// Proxied requests.
    Http,
    /// Proxied bytes.
    Tcp,
    /// Packets with another destination MAC address; servers answer clients directly.
    Mac,
    /// Packets in a tunnel; servers answer clients directly.
    Tunnel,
    /// Packets translated both ways.
    Nat,
}

impl ForwardingMode {
    /// Whether packets are forwarded rather than connections proxied.
    pub fn forwards_packets(self) -> bool {
        matches!(self, ForwardingMode::Mac | ForwardingMode::Tunnel | ForwardingMode::Nat)
    }

    pub fn name(self) -> &'static str {
        match self {
            ForwardingMode::Http => "http",
            ForwardingMode::Tcp => "tcp",
            ForwardingMode::Mac => "mac",
            ForwardingMode::Tunnel => "tunnel",
            ForwardingMode::Nat => "nat",
        }
    }
}
