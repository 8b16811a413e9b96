//! Tunnels of whole networks: VXLAN and Geneve in UDP, ERSPAN in GRE.

use super::layer::{FrameLayer, NextLayer, NonTcpFrame};
use super::tags::{self, PathTags};
use crate::bytes::{u16_at, u32_at};

/// Ports of VXLAN (RFC 7348, 8; the second is Linux's own default) and of Geneve (RFC 8926, 3.3).
const VXLAN: [u16; 2] = [4_789, 8_472];
const GENEVE: u16 = 6_081;
/// The header of UDP.
const UDP_HEADER: usize = 8;

/// The frame in a datagram of UDP. `None`: it is no tunnel.
pub fn udp_layer(bytes: &[u8], path: &mut PathTags) -> Option<NextLayer> {
    if bytes.len() < UDP_HEADER + 8 {
        return None;
    }
    let port = u16_at(bytes, 2, true);
    let network = || u64::from(u32_at(bytes, UDP_HEADER + 4, true) >> 8);
    if VXLAN.contains(&port) {
        path.add(tags::OVERLAY, network());
        return Some(NextLayer { layer: FrameLayer::Ethernet, skip: UDP_HEADER + 8 });
    }
    if port == GENEVE {
        path.add(tags::OVERLAY, network());
        let options = usize::from(bytes[UDP_HEADER] & 63) * 4;
        let number = u16_at(bytes, UDP_HEADER + 2, true);
        return Some(NextLayer { layer: FrameLayer::Type(number), skip: UDP_HEADER + 8 + options });
    }
    None
}

/// The header of ERSPAN behind GRE (draft-foschiano-erspan): type II has eight bytes and needs GRE's sequence numbers, type
/// III has twelve, and eight more where its last bit says so.
pub fn erspan_layer(
    number: u16,
    bytes: &[u8],
    has_sequence: bool,
) -> Result<NextLayer, NonTcpFrame> {
    let skip = match number {
        0x88be if has_sequence => 8,
        0x88be => 0,
        _ => 12 + 8 * usize::from(bytes.get(11).ok_or(NonTcpFrame::Broken)? & 1),
    };
    Ok(NextLayer { layer: FrameLayer::Ethernet, skip })
}
