//! IP of both versions: addresses, lengths, extension headers, fragments, and IP's own tunnels.
//!
//! A total length of zero comes from offload to the network card. The packet's original length is used then, as with
//! jumbograms (RFC 2675).

use super::layer::{FrameLayer, NextLayer, NonTcpFrame};
use super::notice::{ICMP, ICMP_V6, UnreachableNotice};
use super::tags::PathTags;
use crate::bytes::{u16_at, u32_at};
use crate::packet::IpSegment;

/// The payload of an IP packet.
pub enum IpPayload<'a> {
    Tcp(IpSegment<'a>),
    Udp(IpSegment<'a>),
    /// A packet of TCP could not be delivered.
    Notice(UnreachableNotice),
    /// Another packet.
    Tunnel(NextLayer),
}

/// Numbers of IANA's registry of protocol numbers: TCP, and what a tunnel carries.
const TCP: u8 = 6;
const V4: u8 = 4;
const V6: u8 = 41;
const GRE: u8 = 47;
const UDP: u8 = 17;

/// Extension headers that are skipped at most (RFC 8200, 4.1).
/// The RFC recommends each at most once, and destination options twice.
const MAX_EXTENSIONS: usize = 8;

/// Reads the header; `wire`: bytes of the packet on the wire from here on, at most.
#[inline]
pub fn parse_ip<'a>(
    bytes: &'a [u8],
    wire: usize,
    path: &mut PathTags,
) -> Result<IpPayload<'a>, NonTcpFrame> {
    match bytes.first().map(|byte| byte >> 4) {
        Some(4) => parse_ipv4(bytes, wire, path),
        Some(6) => parse_ipv6(bytes, wire, path),
        Some(_) => Err(NonTcpFrame::NotIp(0)),
        None => Err(NonTcpFrame::Broken),
    }
}

#[inline]
fn parse_ipv4<'a>(
    bytes: &'a [u8],
    wire: usize,
    path: &mut PathTags,
) -> Result<IpPayload<'a>, NonTcpFrame> {
    if bytes.len() < 20 {
        return Err(NonTcpFrame::Broken);
    }
    let header = usize::from(bytes[0] & 15) * 4;
    let total = usize::from(u16_at(bytes, 2, true));
    let total = if total == 0 { wire } else { total };
    if header < 20 || total < header {
        return Err(NonTcpFrame::Broken);
    }
    if u16_at(bytes, 6, true) & 0x1fff != 0 {
        return Err(NonTcpFrame::Fragment);
    }
    // Mapped into version 6 (RFC 4291, 2.5.5.2).
    let address = |at: usize| (0xffff << 32 | u128::from(u32_at(bytes, at, true))).to_be_bytes();
    let source = address(12);
    let destination = address(16);
    let protocol = bytes[9];
    if !matches!(protocol, TCP | UDP) {
        if let Some(notice) = notice(bytes, header, protocol, source, path) {
            return Ok(IpPayload::Notice(notice));
        }
        path.tunnel(&source, &destination);
        return tunnel_payload(protocol, header);
    }
    let inner = captured_payload(bytes, header, total)?;
    let length = (total - header) as u32;
    let ip_id = Some(u16_at(bytes, 4, true));
    let path = path.number();
    let ttl = bytes[8];
    let segment = IpSegment { source, destination, ip_id, ttl, path, bytes: inner, length };
    Ok(if protocol == TCP { IpPayload::Tcp(segment) } else { IpPayload::Udp(segment) })
}

fn parse_ipv6<'a>(
    bytes: &'a [u8],
    wire: usize,
    path: &mut PathTags,
) -> Result<IpPayload<'a>, NonTcpFrame> {
    if bytes.len() < 40 {
        return Err(NonTcpFrame::Broken);
    }
    let payload = usize::from(u16_at(bytes, 4, true));
    let total = if payload == 0 { wire } else { payload + 40 };
    let address = |at: usize| {
        let mut address = [0; 16];
        address.copy_from_slice(&bytes[at..at + 16]);
        address
    };
    let source = address(8);
    let destination = address(24);
    let mut next = bytes[6];
    let mut at = 40;
    for _ in 0..MAX_EXTENSIONS {
        let Some(length) = extension_length(next, bytes, at)? else { break };
        next = bytes.get(at).copied().ok_or(NonTcpFrame::Broken)?;
        at += length;
    }
    if !matches!(next, TCP | UDP) {
        if let Some(notice) = notice(bytes, at, next, source, path) {
            return Ok(IpPayload::Notice(notice));
        }
        path.tunnel(&source, &destination);
        return tunnel_payload(next, at);
    }
    if total < at {
        return Err(NonTcpFrame::Broken);
    }
    let inner = captured_payload(bytes, at, total)?;
    let length = (total - at) as u32;
    let ip_id = None;
    let path = path.number();
    let ttl = bytes[7];
    let segment = IpSegment { source, destination, ip_id, ttl, path, bytes: inner, length };
    Ok(if next == TCP { IpPayload::Tcp(segment) } else { IpPayload::Udp(segment) })
}

/// The length of an extension header. `None` if the header is not an extension header (RFC 8200, 4).
fn extension_length(kind: u8, bytes: &[u8], at: usize) -> Result<Option<usize>, NonTcpFrame> {
    let length = || bytes.get(at + 1).map(|byte| usize::from(*byte)).ok_or(NonTcpFrame::Broken);
    Ok(Some(match kind {
        // Hop-by-hop, routing, destination, mobility.
        0 | 43 | 60 | 135 => length()? * 8 + 8,
        // The length of an authentication header is in words of four bytes (RFC 4302, 2.2).
        51 => length()? * 4 + 8,
        44 if u16_at(bytes, at + 2, true) & 0xfff8 != 0 => return Err(NonTcpFrame::Fragment),
        44 => 8,
        _ => return Ok(None),
    }))
}

/// What a message of ICMP behind this header says about a packet of TCP.
fn notice(
    bytes: &[u8],
    header: usize,
    protocol: u8,
    by: [u8; 16],
    path: &PathTags,
) -> Option<UnreachableNotice> {
    let message = bytes.get(header..).filter(|_| matches!(protocol, ICMP | ICMP_V6))?;
    UnreachableNotice::read(message, protocol, by, path.number())
}

fn tunnel_payload<'a>(protocol: u8, skip: usize) -> Result<IpPayload<'a>, NonTcpFrame> {
    match protocol {
        V4 | V6 => Ok(IpPayload::Tunnel(NextLayer { layer: FrameLayer::Ip, skip })),
        GRE => Ok(IpPayload::Tunnel(NextLayer { layer: FrameLayer::Gre, skip })),
        _ => Err(NonTcpFrame::NotTcp(protocol)),
    }
}

/// The captured inside of a packet, without padding of the link.
#[inline]
fn captured_payload(bytes: &[u8], header: usize, total: usize) -> Result<&[u8], NonTcpFrame> {
    bytes.get(header..total.min(bytes.len())).ok_or(NonTcpFrame::Broken)
}
