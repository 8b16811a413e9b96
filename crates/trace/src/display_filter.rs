//! Display filters of Wireshark and tshark that show the packets of a finding.

use std::net::IpAddr;

use crate::address;
use crate::packet::TcpEndpoint;

/// The packets between these ends with these numbers, both included. `transport`: the name of its protocol's fields.
pub fn connection_filter(
    transport: FilteredTransport,
    ends: [TcpEndpoint; 2],
    from_packet: u32,
    to_packet: u32,
) -> String {
    let name = match transport {
        FilteredTransport::Tcp => "tcp",
        FilteredTransport::Udp => "udp",
    };
    let [a, b] = ends.map(|end| {
        let address = address::ip(end.address);
        let version = match address {
            IpAddr::V4(_) => "ip",
            IpAddr::V6(_) => "ipv6",
        };
        format!("{version}.addr == {address} && {name}.port == {}", end.port)
    });
    format!("{a} && {b} && {}", frame_filter(from_packet, to_packet))
}

/// Packets with these numbers, both included.
pub fn frame_filter(from_packet: u32, to_packet: u32) -> String {
    format!("frame.number >= {from_packet} && frame.number <= {to_packet}")
}

/// The protocol whose ports are filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilteredTransport {
    Tcp,
    Udp,
}
