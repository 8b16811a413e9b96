//! Ethernet frames: announcements and probes of addresses, and advertisements as they arrive and as a virtual router
//! sends them. It sends and receives nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::advert::{GROUP_V4, GROUP_V6, HOPS, IpHeader, PROTOCOL};
use crate::checksum;

/// An address of a link.
pub type MacAddress = [u8; 6];

/// Destination, source and EtherType: 6 + 6 + 2 bytes.
const ETHERNET: usize = 14;
const BROADCAST: MacAddress = [0xff; 6];
/// The link address for frames to `ff02::1` (RFC 2464 §7).
const ALL_NODES_LINK: MacAddress = [0x33, 0x33, 0, 0, 0, 1];
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const TYPE_V4: [u8; 2] = [0x08, 0x00];
const TYPE_V6: [u8; 2] = [0x86, 0xdd];
const TYPE_ARP: [u8; 2] = [0x08, 0x06];
/// The next-header number of ICMPv6 (RFC 4443 §1).
const ICMP_V6: u8 = 58;
/// Where frames to the group of VRRP go (RFC 1112 §6.4, RFC 2464 §7).
const GROUP_LINK_V4: MacAddress = [0x01, 0, 0x5e, 0, 0, 18];
const GROUP_LINK_V6: MacAddress = [0x33, 0x33, 0, 0, 0, 0x12];
/// Internetwork control (RFC 2474 §4.2.2.2), as routing protocols have it.
pub const CONTROL: u8 = 0xc0;
/// Override: the neighbour replaces its entry (RFC 4861 §4.4).
const OVERRIDE: u8 = 0x20;

/// Announces to every neighbour that this address is at this link: a gratuitous ARP request (RFC 5227 §3, which every
/// stack accepts), or an unsolicited neighbour advertisement (RFC 4861 §7.2.6).
pub fn announcement(ip: IpAddr, link: MacAddress) -> Vec<u8> {
    match ip {
        IpAddr::V4(v4) => gratuitous_arp(v4, link),
        IpAddr::V6(v6) => unsolicited_advertisement(v6, link),
    }
}

/// A frame that probes whether another host has this address, without changing any neighbour's entry. An ARP probe (RFC
/// 5227 §2.1.1), or a solicitation as for duplicate address detection (RFC 4862 §5.4.2).
pub fn address_probe(ip: IpAddr, link: MacAddress) -> Vec<u8> {
    match ip {
        IpAddr::V4(v4) => arp_request(Ipv4Addr::UNSPECIFIED, v4, link),
        IpAddr::V6(v6) => neighbor_solicitation(v6, link),
    }
}

fn gratuitous_arp(ip: Ipv4Addr, link: MacAddress) -> Vec<u8> {
    arp_request(ip, ip, link)
}

fn arp_request(sender: Ipv4Addr, ip: Ipv4Addr, link: MacAddress) -> Vec<u8> {
    let mut out = ethernet(BROADCAST, link, TYPE_ARP);
    // Ethernet, IPv4, lengths 6 and 4, request.
    out.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    out.extend(link);
    out.extend(sender.octets());
    out.extend([0; 6]);
    out.extend(ip.octets());
    out
}

fn unsolicited_advertisement(ip: Ipv6Addr, link: MacAddress) -> Vec<u8> {
    let mut message = vec![136, 0, 0, 0, OVERRIDE, 0, 0, 0];
    message.extend(ip.octets());
    // Option 2, one unit of eight bytes: the target's link address.
    message.extend([2, 1]);
    message.extend(link);
    icmp(message, ip, ALL_NODES, ethernet(ALL_NODES_LINK, link, TYPE_V6))
}

fn neighbor_solicitation(ip: Ipv6Addr, link: MacAddress) -> Vec<u8> {
    let mut message = vec![135, 0, 0, 0, 0, 0, 0, 0];
    message.extend(ip.octets());
    let [.., a, b, c] = ip.octets();
    // The solicited-node group (RFC 4291 §2.7.1).
    let group =
        Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]));
    let to = [0x33, 0x33, 0xff, a, b, c];
    icmp(message, Ipv6Addr::UNSPECIFIED, group, ethernet(to, link, TYPE_V6))
}

/// An ICMPv6 message with its headers and checksum.
fn icmp(mut message: Vec<u8>, from: Ipv6Addr, to: Ipv6Addr, mut out: Vec<u8>) -> Vec<u8> {
    let sum = checksum::checksum_with_pseudo_header(&message, from.into(), to.into(), ICMP_V6);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    out.extend([0x60, 0, 0, 0]);
    out.extend(length.to_be_bytes());
    out.extend([ICMP_V6, 255]);
    out.extend(from.octets());
    out.extend(to.octets());
    out.extend(message);
    out
}

/// An address that a frame claims for a link: the sender of ARP, or the target of a neighbour advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedAddress {
    pub ip: IpAddr,
    pub link: MacAddress,
}

/// The address that a frame claims; `None` for any other frame.
pub fn claimed_address(frame: &[u8]) -> Option<ClaimedAddress> {
    let kind = frame.get(12..ETHERNET)?;
    let packet = frame.get(ETHERNET..)?;
    if kind == TYPE_ARP {
        let head = packet.first_chunk::<28>()?;
        let [a, b, c, d] = [head[14], head[15], head[16], head[17]];
        let known = head[..6] == [0, 1, 8, 0, 6, 4] && [a, b, c, d] != [0; 4];
        let link = head[8..14].try_into().ok()?;
        return known.then_some(ClaimedAddress { ip: Ipv4Addr::new(a, b, c, d).into(), link });
    }
    let head = packet.first_chunk::<64>().filter(|_| kind == TYPE_V6)?;
    // No router passed it on (RFC 4861 §7.1.2).
    if head[0] >> 4 != 6 || head[6] != ICMP_V6 || head[7] != 255 || head[40] != 136 {
        return None;
    }
    let target = <[u8; 16]>::try_from(&head[48..64]).ok()?;
    let option = packet.get(64..72).filter(|option| option[..2] == [2, 1]);
    let link = option.map_or(&frame[6..12], |option| &option[2..8]);
    Some(ClaimedAddress { ip: target.into(), link: link.try_into().ok()? })
}

/// A multicast advertisement from this link address instead of the interface's (RFC 9568 §7.2).
pub fn vrrp_frame(advert: &[u8], source: IpAddr, link: MacAddress) -> Vec<u8> {
    let length = |more: usize| u16::try_from(advert.len() + more).unwrap_or(u16::MAX).to_be_bytes();
    let mut out;
    match source {
        IpAddr::V4(v4) => {
            out = ethernet(GROUP_LINK_V4, link, TYPE_V4);
            let mut head = [0; 20];
            head[0] = 0x45;
            head[1] = CONTROL;
            head[8] = HOPS;
            head[9] = PROTOCOL;
            head[2..4].copy_from_slice(&length(20));
            head[12..16].copy_from_slice(&v4.octets());
            head[16..].copy_from_slice(&GROUP_V4.octets());
            let sum = checksum::checksum(&head).to_be_bytes();
            head[10..12].copy_from_slice(&sum);
            out.extend(head);
        }
        IpAddr::V6(v6) => {
            out = ethernet(GROUP_LINK_V6, link, TYPE_V6);
            out.extend([0x60 | CONTROL >> 4, CONTROL << 4, 0, 0]);
            out.extend(length(0));
            out.extend([PROTOCOL, HOPS]);
            out.extend(v6.octets());
            out.extend(GROUP_V6.octets());
        }
    }
    out.extend(advert);
    out
}

fn ethernet(to: MacAddress, from: MacAddress, kind: [u8; 2]) -> Vec<u8> {
    // The shortest frame of Ethernet, as ARP needs it; longer frames grow once.
    let mut out = Vec::with_capacity(64);
    out.extend(to);
    out.extend(from);
    out.extend(kind);
    out
}

/// A packet of protocol 112 that was found in a frame.
#[derive(Clone, Copy, Debug)]
pub struct VrrpFramePacket<'a> {
    pub header: IpHeader,
    /// The advertisement's bytes, without padding.
    pub advert: &'a [u8],
}

/// The packet of protocol 112 in a frame; `None` for any other frame, and for a truncated header.
pub fn parse_vrrp_frame(frame: &[u8]) -> Option<VrrpFramePacket<'_>> {
    let kind = frame.get(12..ETHERNET)?;
    let packet = frame.get(ETHERNET..)?;
    if kind == TYPE_V4 {
        parse_ipv4_packet(packet)
    } else if kind == TYPE_V6 {
        parse_ipv6_packet(packet)
    } else {
        None
    }
}

fn parse_ipv4_packet(packet: &[u8]) -> Option<VrrpFramePacket<'_>> {
    let head = packet.first_chunk::<20>()?;
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let header = usize::from(head[0] & 0x0f) * 4;
    // A fragment: no sender fragments an advertisement.
    let fragment = u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0;
    if head[0] >> 4 != 4 || header < 20 || head[9] != PROTOCOL || fragment {
        return None;
    }
    let ip = |at: usize| IpAddr::from([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let envelope = IpHeader { source: ip(12), destination: ip(16), hops: head[8] };
    Some(VrrpFramePacket { header: envelope, advert: packet.get(header..length)? })
}

fn parse_ipv6_packet(packet: &[u8]) -> Option<VrrpFramePacket<'_>> {
    let head = packet.first_chunk::<40>()?;
    let length = usize::from(u16::from_be_bytes([head[4], head[5]]));
    if head[0] >> 4 != 6 || head[6] != PROTOCOL {
        return None;
    }
    let source = <[u8; 16]>::try_from(&head[8..24]).ok()?;
    let destination = <[u8; 16]>::try_from(&head[24..40]).ok()?;
    let envelope =
        IpHeader { source: source.into(), destination: destination.into(), hops: head[7] };
    Some(VrrpFramePacket { header: envelope, advert: packet.get(40..40 + length)? })
}

#[cfg(test)]
mod tests;
