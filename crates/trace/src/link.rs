//! Strips link layers and tunnels from a frame down to TCP or UDP.
//!
//! VLAN tags, PPPoE sessions, tunnels and their keys are folded into one number that is the same in both directions. So
//! equal addresses on different paths are distinct. MPLS labels differ by direction and are skipped. Fragments other
//! than a first one have no TCP header and are counted.

mod ip;
mod layer;
mod link_header;
mod notice;
mod overlay;
mod tags;

use crate::bytes::{u16_at, u32_at};
use crate::input::CapturedFrame;
use crate::packet::IpSegment;
use ip::IpPayload;
use layer::{FrameLayer, NextLayer};
use tags::PathTags;

pub use layer::NonTcpFrame;
pub use notice::{UnreachableNotice, UnreachableReason};

/// Layers that are peeled before giving up: tags, labels and tunnels together.
/// Deeper nesting is a damaged or hostile capture.
const MAX_LAYERS: usize = 24;

/// The packet in a frame.
#[derive(Clone, Copy, Debug)]
pub enum CarriedSegment<'a> {
    Tcp(IpSegment<'a>),
    Udp(IpSegment<'a>),
    /// A packet of TCP could not be delivered.
    Notice(UnreachableNotice),
}

/// The packet of TCP or UDP in a frame.
#[inline]
pub fn find_segment<'a>(frame: &CapturedFrame<'a>) -> Result<CarriedSegment<'a>, NonTcpFrame> {
    let NextLayer { mut layer, skip } = link_header::first_layer(frame)?;
    let mut bytes = frame.bytes.get(skip..).ok_or(NonTcpFrame::Broken)?;
    // The rest of the packet on the wire; used only where IP has no length.
    let mut wire = (frame.original_len as usize).max(frame.bytes.len()).saturating_sub(skip);
    let mut path = PathTags::default();
    for _ in 0..MAX_LAYERS {
        let next = match layer {
            FrameLayer::Ethernet => {
                NextLayer { layer: FrameLayer::Type(u16_at(bytes, 12, true)), skip: 14 }
            }
            FrameLayer::Type(number) => ethertype_layer(number, bytes, &mut path)?,
            FrameLayer::Gre => gre_layer(bytes, &mut path)?,
            FrameLayer::Llc => link_header::llc_layer(bytes)?,
            FrameLayer::Ppp => link_header::ppp_layer(bytes)?,
            FrameLayer::Wireless => link_header::wireless_layer(bytes)?,
            FrameLayer::Ip => match ip::parse_ip(bytes, wire, &mut path)? {
                IpPayload::Tcp(carried) => return Ok(CarriedSegment::Tcp(carried)),
                IpPayload::Udp(carried) => {
                    let Some(next) = overlay::udp_layer(carried.bytes, &mut path) else {
                        return Ok(CarriedSegment::Udp(carried));
                    };
                    path.tunnel(&carried.source, &carried.destination);
                    bytes = carried.bytes;
                    wire = carried.length as usize;
                    next
                }
                IpPayload::Notice(notice) => return Ok(CarriedSegment::Notice(notice)),
                IpPayload::Tunnel(next) => next,
            },
        };
        layer = next.layer;
        bytes = bytes.get(next.skip..).ok_or(NonTcpFrame::Broken)?;
        wire = wire.saturating_sub(next.skip);
    }
    Err(NonTcpFrame::TooDeep)
}

/// The layer behind the type of an Ethernet frame.
fn ethertype_layer(
    number: u16,
    bytes: &[u8],
    path: &mut PathTags,
) -> Result<NextLayer, NonTcpFrame> {
    match number {
        0x0800 | 0x86dd => Ok(NextLayer { layer: FrameLayer::Ip, skip: 0 }),
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
            path.add(tags::VLAN, u64::from(u16_at(bytes, 0, true) & 0x0fff));
            Ok(NextLayer { layer: FrameLayer::Type(u16_at(bytes, 2, true)), skip: 4 })
        }
        // PPPoE session (RFC 2516): version, code 0, session, length; then the PPP protocol.
        0x8864 => {
            path.add(tags::PPPOE, u64::from(u16_at(bytes, 2, true)));
            match u16_at(bytes, 6, true) {
                0x0021 | 0x0057 => Ok(NextLayer { layer: FrameLayer::Ip, skip: 8 }),
                _ => Err(NonTcpFrame::NotIp(number)),
            }
        }
        0x8847 | 0x8848 => mpls_layer(bytes),
        // Ethernet bridged in GRE.
        0x6558 => Ok(NextLayer { layer: FrameLayer::Ethernet, skip: 0 }),
        // A length instead of a type (IEEE 802.3).
        0..=1_500 => Ok(NextLayer { layer: FrameLayer::Llc, skip: 0 }),
        _ => Err(NonTcpFrame::NotIp(number)),
    }
}

/// A stack of MPLS labels (RFC 3032). The first half-byte after the stack shows the next layer.
fn mpls_layer(bytes: &[u8]) -> Result<NextLayer, NonTcpFrame> {
    let bottom = bytes.chunks_exact(4).take(MAX_LAYERS).position(|label| label[2] & 1 == 1);
    let skip = bottom.ok_or(NonTcpFrame::Broken)? * 4 + 4;
    match bytes.get(skip).map(|byte| byte >> 4) {
        Some(4 | 6) => Ok(NextLayer { layer: FrameLayer::Ip, skip }),
        // A control word (RFC 4385) before a bridged frame.
        Some(0) => Ok(NextLayer { layer: FrameLayer::Ethernet, skip: skip + 4 }),
        _ => Err(NonTcpFrame::NotIp(0x8847)),
    }
}

/// GRE (RFC 2784, RFC 2890), without source routes.
fn gre_layer(bytes: &[u8], path: &mut PathTags) -> Result<NextLayer, NonTcpFrame> {
    let flags = u16_at(bytes, 0, true);
    if bytes.len() < 4 || flags & 0x4007 != 0 {
        return Err(if bytes.len() < 4 { NonTcpFrame::Broken } else { NonTcpFrame::NotTcp(47) });
    }
    let mut skip = 4;
    if flags & 0x8000 != 0 {
        skip += 4;
    }
    if flags & 0x2000 != 0 {
        path.add(tags::GRE_KEY, u64::from(u32_at(bytes, skip, true)));
        skip += 4;
    }
    let has_sequence = flags & 0x1000 != 0;
    if has_sequence {
        skip += 4;
    }
    let number = u16_at(bytes, 2, true);
    if matches!(number, 0x88be | 0x22eb) {
        let behind = bytes.get(skip..).ok_or(NonTcpFrame::Broken)?;
        let mirrored = overlay::erspan_layer(number, behind, has_sequence)?;
        return Ok(NextLayer { skip: skip + mirrored.skip, ..mirrored });
    }
    Ok(NextLayer { layer: FrameLayer::Type(number), skip })
}

#[cfg(test)]
mod tests;
