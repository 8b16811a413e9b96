//! The forwarding methods of services. `verify` checks what each supports.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingMode {
    /// HTTP requests are proxied.
    Http,
    /// TCP connections are proxied.
    Tcp,
    /// Packets get another destination MAC address; servers respond directly to clients.
    Mac,
    /// Packets are encapsulated; servers respond directly to clients.
    Tunnel,
    /// Packets are translated in both directions.
    Nat,
}

impl ForwardingMode {
    /// Whether the method forwards packets instead of proxying connections.
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
