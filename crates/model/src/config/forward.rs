//! The methods by which a service forwards. What each can carry `verify` knows.

use serde::Serialize;

/// How a service forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forward {
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

impl Forward {
    /// Whether packets are forwarded rather than connections proxied.
    pub fn packets(self) -> bool {
        matches!(self, Forward::Mac | Forward::Tunnel | Forward::Nat)
    }

    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            Forward::Http => "http",
            Forward::Tcp => "tcp",
            Forward::Mac => "mac",
            Forward::Tunnel => "tunnel",
            Forward::Nat => "nat",
        }
    }
}
