//! What the next bytes of a frame are, and what a frame was instead of TCP. Plain data.

/// What a frame was instead of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonTcpFrame {
    /// Of a link type that is not known.
    Link(u16),
    /// No IP: ARP and the like.
    NotIp,
    /// IP, but neither TCP nor a known tunnel.
    NotTcp,
    Fragment,
    /// Cut or broken before TCP.
    Broken,
    /// Tunnels in tunnels, too many.
    TooDeep,
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug)]
pub enum FrameLayer {
    Ethernet,
    /// By the number of an Ethernet frame's type.
    Type(u16),
    /// An IP header of either version.
    Ip,
    Gre,
}
