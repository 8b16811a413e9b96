//! Frames on Ethernet: what announces an address, and advertisements as they arrive. It sends and receives nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::advert::{Envelope, PROTOCOL};
use crate::sum;

/// An address of a link.
pub type Link = [u8; 6];

const ETHERNET: usize = 14;
const BROADCAST: Link = [0xff; 6];
/// Where the frame of `ff02::1` goes (RFC 2464 §7).
const ALL_NODES_LINK: Link = [0x33, 0x33, 0, 0, 0, 1];
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const TYPE_V4: [u8; 2] = [0x08, 0x00];
const TYPE_V6: [u8; 2] = [0x86, 0xdd];
const TYPE_ARP: [u8; 2] = [0x08, 0x06];
const ICMP_V6: u8 = 58;
/// Override: what a neighbour knows is replaced (RFC 4861 §4.4).
const OVERRIDE: u8 = 0x20;

/// Tells every neighbour that this address is at this link: a gratuitous ARP request (RFC 5227 §3, which every stack
/// heeds), or an unsolicited neighbour advertisement (RFC 4861 §7.2.6).
pub fn announcement(ip: IpAddr, link: Link) -> Vec<u8> {
    match ip {
        IpAddr::V4(v4) => gratuitous(v4, link),
        IpAddr::V6(v6) => unsolicited(v6, link),
    }
}

fn gratuitous(ip: Ipv4Addr, link: Link) -> Vec<u8> {
    let mut out = ethernet(BROADCAST, link, TYPE_ARP);
    // Ethernet, IPv4, lengths 6 and 4, request.
    out.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    out.extend(link);
    out.extend(ip.octets());
    out.extend([0; 6]);
    out.extend(ip.octets());
    out
}

fn unsolicited(ip: Ipv6Addr, link: Link) -> Vec<u8> {
    let mut message = vec![136, 0, 0, 0, OVERRIDE, 0, 0, 0];
    message.extend(ip.octets());
    // Option 2, one unit of eight bytes: the target's link address.
    message.extend([2, 1]);
    message.extend(link);
    let sum = sum::with_pseudo(&message, ip.into(), ALL_NODES.into(), ICMP_V6);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut out = ethernet(ALL_NODES_LINK, link, TYPE_V6);
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    out.extend([0x60, 0, 0, 0]);
    out.extend(length.to_be_bytes());
    out.extend([ICMP_V6, 255]);
    out.extend(ip.octets());
    out.extend(ALL_NODES.octets());
    out.extend(message);
    out
}

fn ethernet(to: Link, from: Link, kind: [u8; 2]) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    out.extend(to);
    out.extend(from);
    out.extend(kind);
    out
}

/// The packet of protocol 112 in a frame; `None` for anything else, and for a header that is not whole.
pub fn vrrp(frame: &[u8]) -> Option<(Envelope, &[u8])> {
    let (kind, packet) = (frame.get(12..ETHERNET)?, frame.get(ETHERNET..)?);
    if kind == TYPE_V4 {
        of_v4(packet)
    } else if kind == TYPE_V6 {
        of_v6(packet)
    } else {
        None
    }
}

fn of_v4(packet: &[u8]) -> Option<(Envelope, &[u8])> {
    let head = packet.first_chunk::<20>()?;
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let header = usize::from(head[0] & 0x0f) * 4;
    // More fragments, or not the first one: nobody fragments an advertisement.
    let fragment = u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0;
    if head[0] >> 4 != 4 || header < 20 || head[9] != PROTOCOL || fragment {
        return None;
    }
    let ip = |at: usize| IpAddr::from([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let envelope = Envelope { source: ip(12), destination: ip(16), hops: head[8] };
    Some((envelope, packet.get(header..length)?))
}

fn of_v6(packet: &[u8]) -> Option<(Envelope, &[u8])> {
    let head = packet.first_chunk::<40>()?;
    let length = usize::from(u16::from_be_bytes([head[4], head[5]]));
    if head[0] >> 4 != 6 || head[6] != PROTOCOL {
        return None;
    }
    let source = <[u8; 16]>::try_from(&head[8..24]).ok()?;
    let destination = <[u8; 16]>::try_from(&head[24..40]).ok()?;
    let envelope =
        Envelope { source: source.into(), destination: destination.into(), hops: head[7] };
    Some((envelope, packet.get(40..40 + length)?))
}

#[cfg(test)]
mod tests;
