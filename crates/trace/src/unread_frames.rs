//! Frames that were seen and hold no TCP that can be read: what they are, and how many.

use std::collections::BTreeMap;

use crate::link::NonTcpFrame;
use crate::report::UnreadReport;

/// What a frame is instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum UnreadKind {
    /// A number of the registry of link types of pcap files.
    LinkType(u16),
    /// A number of an Ethernet frame's type.
    EthernetType(u16),
    /// IANA's number of a protocol over IP.
    IpProtocol(u8),
}

/// Kinds that are told apart; hostile captures have more.
const MAX_KINDS: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct UnreadFrames {
    counts: BTreeMap<UnreadKind, u64>,
}

impl UnreadFrames {
    pub fn count(&mut self, frame: NonTcpFrame) {
        let kind = match frame {
            NonTcpFrame::Link(number) => UnreadKind::LinkType(number),
            NonTcpFrame::NotIp(number) => UnreadKind::EthernetType(number),
            NonTcpFrame::NotTcp(number) => UnreadKind::IpProtocol(number),
            NonTcpFrame::Fragment | NonTcpFrame::Broken | NonTcpFrame::TooDeep => return,
        };
        if self.counts.len() < MAX_KINDS || self.counts.contains_key(&kind) {
            *self.counts.entry(kind).or_insert(0) += 1;
        }
    }

    /// The kinds, the most frequent first.
    pub fn report(&self) -> Vec<UnreadReport> {
        let mut counts: Vec<_> = self.counts.iter().collect();
        counts.sort_by_key(|(kind, frames)| (std::cmp::Reverse(**frames), **kind));
        counts.into_iter().map(|(kind, frames)| kind.report(*frames)).collect()
    }
}

impl UnreadKind {
    fn report(self, frames: u64) -> UnreadReport {
        let number = match self {
            UnreadKind::LinkType(number) | UnreadKind::EthernetType(number) => number,
            UnreadKind::IpProtocol(number) => u16::from(number),
        };
        let kind = match self {
            UnreadKind::LinkType(_) => "link-type",
            UnreadKind::EthernetType(_) => "ethernet-type",
            UnreadKind::IpProtocol(_) => "ip-protocol",
        };
        let known = match self {
            UnreadKind::LinkType(number) => link_name(number),
            UnreadKind::EthernetType(number) => ethernet_name(number),
            UnreadKind::IpProtocol(number) => protocol_name(number),
        };
        let name = match self {
            _ if !known.is_empty() => known.to_owned(),
            UnreadKind::EthernetType(_) => format!("Ethernet type 0x{number:04x}"),
            UnreadKind::LinkType(_) => format!("link type {number}"),
            UnreadKind::IpProtocol(_) => format!("IP protocol {number}"),
        };
        UnreadReport { kind, number, name, frames }
    }
}

fn link_name(number: u16) -> &'static str {
    match number {
        6 => "Token Ring",
        187 | 201 | 251 | 272 => "Bluetooth",
        189 | 220 | 249 => "USB",
        190 | 227 => "CAN",
        195 | 215 | 230 => "IEEE 802.15.4",
        242 | 247 => "InfiniBand",
        _ => "",
    }
}

fn ethernet_name(number: u16) -> &'static str {
    match number {
        0 => "no IP",
        0x0806 => "ARP",
        0x8035 => "RARP",
        0x8809 => "LACP",
        0x8863 => "PPPoE discovery",
        0x888e => "IEEE 802.1X",
        0x88cc => "LLDP",
        0x88e5 => "MACsec",
        0x88f7 => "PTP",
        _ => "",
    }
}

fn protocol_name(number: u8) -> &'static str {
    match number {
        1 => "ICMP",
        2 => "IGMP",
        17 => "UDP",
        47 => "GRE",
        50 => "ESP",
        58 => "ICMPv6",
        89 => "OSPF",
        103 => "PIM",
        112 => "VRRP",
        132 => "SCTP",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_is_named_with_its_count() {
        let mut unread = UnreadFrames::default();
        for _ in 0..3 {
            unread.count(NonTcpFrame::NotTcp(17));
        }
        unread.count(NonTcpFrame::Link(147));
        unread.count(NonTcpFrame::NotIp(0x1234));
        unread.count(NonTcpFrame::Broken);
        let report: Vec<String> =
            unread.report().iter().map(|one| format!("{} {}", one.frames, one.name)).collect();
        assert_eq!(report, ["3 UDP", "1 link type 147", "1 Ethernet type 0x1234"]);
    }

    #[test]
    fn kinds_are_bounded() {
        let mut unread = UnreadFrames::default();
        (0..1_000).for_each(|number| unread.count(NonTcpFrame::Link(number)));
        assert_eq!(unread.report().len(), MAX_KINDS);
    }
}
