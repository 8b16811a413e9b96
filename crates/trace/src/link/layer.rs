//! The next layer of a frame, and the kinds of frames without TCP. Plain data.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonTcpFrame {
    /// The link type is unknown.
    Link(u16),
    /// No IP: ARP and the like, by the number of an Ethernet frame's type; 0: there is no such number.
    NotIp(u16),
    /// IP, but neither TCP nor a known tunnel, by IANA's number of the protocol.
    NotTcp(u8),
    Fragment,
    /// Cut or broken before TCP.
    Broken,
    /// Tunnels in tunnels, too many.
    TooDeep,
}

#[derive(Clone, Copy, Debug)]
pub enum FrameLayer {
    Ethernet,
    /// By the number of an Ethernet frame's type.
    Type(u16),
    /// An IP header of either version.
    Ip,
    Gre,
    /// Logical link control of IEEE 802.2.
    Llc,
    /// The protocol field of PPP.
    Ppp,
    /// IEEE 802.11.
    Wireless,
}

/// The layer behind another one.
#[derive(Clone, Copy, Debug)]
pub struct NextLayer {
    pub layer: FrameLayer,
    /// Bytes of the headers before it.
    pub skip: usize,
}
