//! Frames of a block of the kernel's ring of packets (TPACKET_V3, Documentation/networking/packet_mmap.rst).
//!
//! Bytes in, frames out. Lengths and offsets are checked although the kernel wrote them: a block that contradicts itself
//! ends there, and what it lacks is counted.

use super::frame::CapturedFrame;
use crate::bytes::{be_u16, ne_u16, ne_u32};

/// Offsets in a block's head.
const BLOCK_PACKETS: usize = 12;
const BLOCK_FIRST: usize = 16;
/// Offsets in a packet's head.
const PACKET_NEXT: usize = 0;
const PACKET_SECONDS: usize = 4;
const PACKET_NANOSECONDS: usize = 8;
const PACKET_CAPTURED: usize = 12;
const PACKET_LENGTH: usize = 16;
const PACKET_MAC: usize = 24;
const PACKET_NET: usize = 26;
/// Where the address of the link stands, behind the head: its protocol, its hardware type, and where the packet went.
const LINK_PROTOCOL: usize = 48 + 2;
const LINK_HARDWARE: usize = 48 + 8;
const LINK_DIRECTION: usize = 48 + 10;

/// Hardware types of `linux/if_arp.h`.
const HARDWARE_ETHERNET: u16 = 1;
const HARDWARE_LOOPBACK: u16 = 772;
const HARDWARE_80211: u16 = 801;
const HARDWARE_80211_RADIOTAP: u16 = 803;
/// `PACKET_OUTGOING`.
const OUTGOING: u8 = 4;

/// Link types of capture files.
const LINK_ETHERNET: u16 = 1;
const LINK_RAW: u16 = 101;
const LINK_80211: u16 = 105;
const LINK_80211_RADIOTAP: u16 = 127;

/// The frames of a block that the kernel has handed over.
#[derive(Debug)]
pub struct RingBlock<'a> {
    bytes: &'a [u8],
    next: usize,
    left: u32,
    broken: u32,
}

impl<'a> RingBlock<'a> {
    pub fn new(bytes: &'a [u8]) -> RingBlock<'a> {
        let left = ne_u32(bytes, BLOCK_PACKETS).unwrap_or(0);
        let next = ne_u32(bytes, BLOCK_FIRST).unwrap_or(0) as usize;
        RingBlock { bytes, next, left, broken: 0 }
    }

    /// Packets that the block announces and does not have.
    pub fn broken(&self) -> u32 {
        self.broken
    }

    /// `None`: the packet's head or bytes are not within the block.
    fn read_packet(&self) -> Option<RingPacket<'a>> {
        let head = self.bytes.get(self.next..)?;
        let captured = ne_u32(head, PACKET_CAPTURED)? as usize;
        let length = ne_u32(head, PACKET_LENGTH)?;
        let mac = usize::from(ne_u16(head, PACKET_MAC)?);
        let net = usize::from(ne_u16(head, PACKET_NET)?);
        let end = mac.checked_add(captured)?;
        let hardware = ne_u16(head, LINK_HARDWARE)?;
        let has_own_header = match hardware {
            HARDWARE_ETHERNET | HARDWARE_LOOPBACK => Some(LINK_ETHERNET),
            HARDWARE_80211 => Some(LINK_80211),
            HARDWARE_80211_RADIOTAP => Some(LINK_80211_RADIOTAP),
            _ => None,
        };
        // Headers of other links are as many as drivers: IP begins where the kernel found it.
        let begin = if has_own_header.is_some() { mac } else { net.clamp(mac, end) };
        let time_ns = i64::from(ne_u32(head, PACKET_SECONDS)?) * 1_000_000_000
            + i64::from(ne_u32(head, PACKET_NANOSECONDS)?);
        // On the loopback interface each packet is seen leaving and arriving.
        let is_copy =
            hardware == HARDWARE_LOOPBACK && head.get(LINK_DIRECTION).copied()? == OUTGOING;
        let is_ip = matches!(be_u16(head, LINK_PROTOCOL)?, 0x0800 | 0x86dd);
        let frame = CapturedFrame {
            time_ns,
            link: has_own_header.unwrap_or(if is_ip { LINK_RAW } else { hardware }),
            bytes: head.get(begin..end)?,
            original_len: length.saturating_sub((begin - mac) as u32),
        };
        Some(RingPacket { frame, is_copy, next: ne_u32(head, PACKET_NEXT)? as usize })
    }
}

/// A packet of a block.
struct RingPacket<'a> {
    frame: CapturedFrame<'a>,
    is_copy: bool,
    /// From this packet's head to the next one's, bytes.
    next: usize,
}

impl<'a> Iterator for RingBlock<'a> {
    type Item = CapturedFrame<'a>;

    #[inline]
    fn next(&mut self) -> Option<CapturedFrame<'a>> {
        while self.left > 0 {
            let Some(packet) = self.read_packet() else {
                self.broken += self.left;
                self.left = 0;
                return None;
            };
            self.left -= 1;
            self.next = self.next.saturating_add(packet.next);
            if packet.next == 0 {
                // It would be read again and again.
                self.broken += self.left;
                self.left = 0;
            }
            if !packet.is_copy {
                return Some(packet.frame);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A packet of such a block.
    struct Planted<'a> {
        hardware: u16,
        direction: u8,
        protocol: u16,
        link_header: usize,
        bytes: &'a [u8],
    }

    const MAC: usize = 80;

    fn block(packets: &[Planted<'_>]) -> Vec<u8> {
        let mut out = vec![0; 48];
        out[BLOCK_PACKETS..][..4].copy_from_slice(&(packets.len() as u32).to_ne_bytes());
        out[BLOCK_FIRST..][..4].copy_from_slice(&48_u32.to_ne_bytes());
        for (at, packet) in packets.iter().enumerate() {
            let mut head = vec![0; MAC];
            let size = MAC + packet.bytes.len();
            let next = if at + 1 < packets.len() { size as u32 } else { 0 };
            head[PACKET_NEXT..][..4].copy_from_slice(&next.to_ne_bytes());
            head[PACKET_SECONDS..][..4].copy_from_slice(&7_u32.to_ne_bytes());
            head[PACKET_NANOSECONDS..][..4].copy_from_slice(&(at as u32).to_ne_bytes());
            let captured = packet.bytes.len() as u32;
            head[PACKET_CAPTURED..][..4].copy_from_slice(&captured.to_ne_bytes());
            head[PACKET_LENGTH..][..4].copy_from_slice(&(captured + 100).to_ne_bytes());
            head[PACKET_MAC..][..2].copy_from_slice(&(MAC as u16).to_ne_bytes());
            let net = (MAC + packet.link_header) as u16;
            head[PACKET_NET..][..2].copy_from_slice(&net.to_ne_bytes());
            head[LINK_PROTOCOL..][..2].copy_from_slice(&packet.protocol.to_be_bytes());
            head[LINK_HARDWARE..][..2].copy_from_slice(&packet.hardware.to_ne_bytes());
            head[LINK_DIRECTION] = packet.direction;
            out.extend(head);
            out.extend(packet.bytes);
        }
        out
    }

    fn ethernet(bytes: &[u8]) -> Planted<'_> {
        Planted { hardware: 1, direction: 0, protocol: 0x0800, link_header: 14, bytes }
    }

    #[test]
    fn each_packet_has_its_time_link_and_bytes() {
        let packets = [
            ethernet(b"first"),
            Planted { hardware: 772, direction: OUTGOING, ..ethernet(b"leaves") },
            Planted { hardware: 772, ..ethernet(b"arrives") },
            Planted { hardware: 0xfffe, link_header: 0, ..ethernet(b"tunnel") },
            Planted { hardware: 512, link_header: 2, ..ethernet(b"..ppp") },
            Planted { hardware: 512, protocol: 0xc021, link_header: 2, ..ethernet(b"..lcp") },
            Planted { hardware: 803, ..ethernet(b"radio") },
        ];
        let bytes = block(&packets);
        let mut frames = RingBlock::new(&bytes);
        let found: Vec<String> = frames
            .by_ref()
            .map(|frame| {
                let text = String::from_utf8_lossy(frame.bytes);
                format!("{} {} {text} {}", frame.time_ns, frame.link, frame.original_len)
            })
            .collect();
        assert_eq!(
            found,
            [
                "7000000000 1 first 105",
                "7000000002 1 arrives 107",
                "7000000003 101 tunnel 106",
                "7000000004 101 ppp 103",
                "7000000005 512 lcp 103",
                "7000000006 127 radio 105",
            ]
        );
        assert_eq!(frames.broken(), 0);
    }

    #[test]
    fn what_a_block_announces_and_lacks_is_counted() {
        let bytes = block(&[ethernet(b"first"), ethernet(b"second"), ethernet(b"third")]);
        let mut frames = RingBlock::new(&bytes[..bytes.len() - 1]);
        assert_eq!(frames.by_ref().count(), 2);
        assert_eq!(frames.broken(), 1);
        // A packet that names itself as the next one.
        let mut again = bytes.clone();
        again[48..52].copy_from_slice(&0_u32.to_ne_bytes());
        let mut frames = RingBlock::new(&again);
        assert_eq!(frames.by_ref().count(), 1);
        assert_eq!(frames.broken(), 2);
        assert_eq!(RingBlock::new(&[]).count(), 0);
    }

    proptest! {
        #[test]
        fn no_block_is_read_beyond_its_end(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut frames = RingBlock::new(&bytes);
            prop_assert!(frames.by_ref().take(1_000).count() < 1_000);
        }

        #[test]
        fn a_changed_byte_hides_packets_at_most(at in 0_usize..400, to in any::<u8>()) {
            let mut bytes = block(&[ethernet(b"first"), ethernet(b"second"), ethernet(b"third")]);
            let at = at % bytes.len();
            bytes[at] = to;
            let mut frames = RingBlock::new(&bytes);
            prop_assert!(frames.by_ref().take(1_000).count() <= 3 || at < 48);
        }
    }
}
