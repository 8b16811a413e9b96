//! Link layers other than Ethernet: PPP, HDLC, FDDI, wireless networks, and the headers that capturing programs add.

use super::layer::{FrameLayer, NextLayer, NonTcpFrame};
use crate::bytes::{u16_at, u32_at};
use crate::input::CapturedFrame;

/// The tag of the packet among the attributes of NFLOG.
const NFLOG_PAYLOAD: u16 = 9;
/// Attributes that are passed over at most.
const MAX_ATTRIBUTES: usize = 32;

/// The first layer of a frame by its link type, a LINKTYPE number of the registry of pcap files.
#[inline]
pub fn first_layer(frame: &CapturedFrame<'_>) -> Result<NextLayer, NonTcpFrame> {
    let bytes = frame.bytes;
    let layer = |layer, skip| NextLayer { layer, skip };
    Ok(match frame.link {
        1 => layer(FrameLayer::Ethernet, 0),
        // Raw IP, under its several numbers.
        12 | 14 | 101 | 228 | 229 => layer(FrameLayer::Ip, 0),
        // Loopback: four bytes with the address family, in the byte order of the capturing machine.
        0 | 108 => layer(FrameLayer::Ip, 4),
        113 => layer(FrameLayer::Type(u16_at(bytes, 14, true)), 16),
        276 => layer(FrameLayer::Type(u16_at(bytes, 0, true)), 20),
        9 | 50 | 104 => serial_layer(bytes),
        // A session of PPPoE without Ethernet.
        51 => layer(FrameLayer::Type(0x8864), 0),
        // FDDI: frame control and two addresses.
        10 => layer(FrameLayer::Llc, 13),
        105 => layer(FrameLayer::Wireless, 0),
        // Radiotap: its length in bytes 2 and 3.
        127 => layer(FrameLayer::Wireless, usize::from(u16_at(bytes, 2, false))),
        // Prism's header has one length, that of AVS is in its bytes 4 to 7.
        119 => layer(FrameLayer::Wireless, 144),
        163 => layer(FrameLayer::Wireless, u32_at(bytes, 4, true) as usize),
        239 => nflog_layer(bytes)?,
        258 => pktap_layer(frame)?,
        other => return Err(NonTcpFrame::Link(other)),
    })
}

/// PPP in framing like HDLC (RFC 1662), PPP alone, or HDLC as Cisco has it.
fn serial_layer(bytes: &[u8]) -> NextLayer {
    match bytes {
        [0xff, 3, ..] => NextLayer { layer: FrameLayer::Ppp, skip: 2 },
        [0x0f | 0x8f, _, ..] => {
            NextLayer { layer: FrameLayer::Type(u16_at(bytes, 2, true)), skip: 4 }
        }
        _ => NextLayer { layer: FrameLayer::Ppp, skip: 0 },
    }
}

/// The protocol of PPP, which may be shortened to one byte (RFC 1661, 6.5).
pub fn ppp_layer(bytes: &[u8]) -> Result<NextLayer, NonTcpFrame> {
    let first = *bytes.first().ok_or(NonTcpFrame::Broken)?;
    let is_short = first & 1 == 1;
    let number = if is_short { u16::from(first) } else { u16_at(bytes, 0, true) };
    let skip = if is_short { 1 } else { 2 };
    match number {
        0x0021 | 0x0057 => Ok(NextLayer { layer: FrameLayer::Ip, skip }),
        0x0281 => Ok(NextLayer { layer: FrameLayer::Type(0x8847), skip }),
        _ => Err(NonTcpFrame::NotIp(0)),
    }
}

/// Logical link control with a subnetwork header (RFC 1042).
pub fn llc_layer(bytes: &[u8]) -> Result<NextLayer, NonTcpFrame> {
    match bytes {
        [0xaa, 0xaa, 3, _, _, _, _, _, ..] => {
            Ok(NextLayer { layer: FrameLayer::Type(u16_at(bytes, 6, true)), skip: 8 })
        }
        _ => Err(NonTcpFrame::NotIp(0)),
    }
}

/// Data of IEEE 802.11 that is not encrypted.
pub fn wireless_layer(bytes: &[u8]) -> Result<NextLayer, NonTcpFrame> {
    let control = u16_at(bytes, 0, false);
    let is_data = control >> 2 & 3 == 2 && control & 0x40 == 0;
    if bytes.len() < 24 || !is_data || control & 0x4000 != 0 {
        return Err(NonTcpFrame::NotIp(0));
    }
    let mut skip = 24;
    // Between two access points there is a fourth address.
    if control & 0x0300 == 0x0300 {
        skip += 6;
    }
    if control & 0x80 != 0 {
        let has_several = bytes.get(skip).is_some_and(|quality| quality & 0x80 != 0);
        skip += 2;
        if control & 0x8000 != 0 {
            skip += 4;
        }
        // Several frames in one: the first of them, behind its addresses and length.
        if has_several {
            skip += 14;
        }
    }
    Ok(NextLayer { layer: FrameLayer::Llc, skip })
}

/// Attributes of Netfilter's log, of which one is the packet.
fn nflog_layer(bytes: &[u8]) -> Result<NextLayer, NonTcpFrame> {
    let mut at = 4;
    for _ in 0..MAX_ATTRIBUTES {
        if bytes.len() < at + 4 {
            break;
        }
        let length = usize::from(u16_at(bytes, at, false));
        if u16_at(bytes, at + 2, false) & 0x7fff == NFLOG_PAYLOAD {
            return Ok(NextLayer { layer: FrameLayer::Ip, skip: at + 4 });
        }
        at += length.max(4).next_multiple_of(4);
    }
    Err(NonTcpFrame::Broken)
}

/// The header of captures on Apple's systems, which names the link behind it.
fn pktap_layer(frame: &CapturedFrame<'_>) -> Result<NextLayer, NonTcpFrame> {
    let length = u32_at(frame.bytes, 0, false) as usize;
    let link = u16::try_from(u32_at(frame.bytes, 8, false)).unwrap_or(u16::MAX);
    let bytes = frame.bytes.get(length..).filter(|_| length >= 12).ok_or(NonTcpFrame::Broken)?;
    if link == frame.link {
        return Err(NonTcpFrame::TooDeep);
    }
    let inner = first_layer(&CapturedFrame { link, bytes, ..*frame })?;
    Ok(NextLayer { skip: length + inner.skip, ..inner })
}
