//! Packets that exceed a tunnel's MTU and whose senders allow fragments. This module takes them from the datapath's
//! ring, and builds the outer packets with their fragments (RFC 2003 §3.1, RFC 791 §3.2). The caller has the sockets.
//!
//! The inner packet is fragmented, not the outer one. Each outer packet is whole and must not be fragmented on its way,
//! so the decapsulator needs no memory. The server reassembles by the sender's identification.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use bpf::{LoadError, MapValue};
use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use thiserror::Error;

use crate::abi::{Oversized, Wrap};

/// Bytes of the IPv4 header without options, and the most with them.
/// RFC 791 §3.1.
const HEADER: usize = 20;
/// The outer header of IPv6.
/// RFC 8200 §3.
const OUTER6: usize = 40;
/// The hop limit of outer packets, as the datapath's.
/// The default of Linux.
const HOPS: u8 = 64;
/// Bits of the flags and fragment offset field.
/// RFC 791 §3.1.
const MORE_FRAGMENTS: u16 = 0x2000;
const DONT_FRAGMENT: u16 = 0x4000;
const OFFSET: u16 = 0x1fff;
/// An option that later fragments have too (RFC 791 §3.1).
const COPIED: u8 = 0x80;

/// A packet from the datapath, and its encapsulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OversizedPacket {
    /// Ends, wrap and room of the outer packets.
    pub head: Oversized,
    /// The client's packet, from its IP header on.
    pub packet: Vec<u8>,
}

impl OversizedPacket {
    /// An entry of the ring; `None` where it is truncated.
    pub fn parse(bytes: &[u8]) -> Option<OversizedPacket> {
        let head = Oversized::read(bytes.get(..Oversized::SIZE)?);
        let length = usize::try_from(head.length).ok()?;
        let packet = bytes.get(Oversized::SIZE..)?.get(..length)?.to_vec();
        Some(OversizedPacket { head, packet })
    }
}

/// Why no fragments are made of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FragmentError {
    /// The packet is no valid IPv4 packet. The datapath checks headers before it passes a packet on.
    #[error("it is no IPv4 packet whose header is right")]
    Malformed,
    /// Its sender forbids fragments.
    #[error("its sender allows no fragments")]
    DontFragment,
    /// Its hop limit ends here.
    #[error("its hop limit ends here")]
    Hops,
    /// Not even eight bytes fit behind the headers, or the fragment offset is exhausted.
    #[error("the way has no room for a fragment")]
    Room,
}

/// The outer packets, in the order of the fragments. The kernel writes the checksum of an outer IPv4 header.
///
/// # Errors
/// See `FragmentError`; then nothing is to be sent.
pub fn fragment_packet(handed: &OversizedPacket) -> Result<Vec<Vec<u8>>, FragmentError> {
    let OversizedPacket { head, packet } = handed;
    let inner = InnerPacket::parse(packet)?;
    let around = outer_bytes(head);
    let room = usize::try_from(head.room).unwrap_or(usize::MAX).min(usize::from(u16::MAX));
    let mut out = Vec::new();
    let mut at = 0;
    while at < inner.payload.len() {
        let header = if at == 0 { &inner.first } else { &inner.later };
        let space = room.saturating_sub(around + header.len());
        let left = inner.payload.len() - at;
        let bytes = if left <= space { left } else { space & !7 };
        let offset = inner.offset + at / 8;
        if bytes == 0 || offset > usize::from(OFFSET) {
            return Err(FragmentError::Room);
        }
        let more = if at + bytes < inner.payload.len() { MORE_FRAGMENTS } else { inner.more };
        let word = u16::try_from(offset).map_err(|_| FragmentError::Room)? | inner.reserved | more;
        let mut one = outer_headers(head, header.len() + bytes);
        let start = one.len();
        one.extend_from_slice(header);
        one.extend_from_slice(&inner.payload[at..at + bytes]);
        finish_header(&mut one[start..], header.len(), word);
        out.push(one);
        at += bytes;
    }
    Ok(out)
}

/// The parts that fragments are built from.
struct InnerPacket<'a> {
    /// The header of the first fragment with all options; later ones have only the copied options.
    first: Vec<u8>,
    later: Vec<u8>,
    payload: &'a [u8],
    /// The fragment offset of the packet itself, in units of eight bytes.
    offset: usize,
    more: u16,
    /// The reserved bit, preserved.
    reserved: u16,
}

impl<'a> InnerPacket<'a> {
    fn parse(packet: &'a [u8]) -> Result<InnerPacket<'a>, FragmentError> {
        let fixed: &[u8; HEADER] = packet.first_chunk().ok_or(FragmentError::Malformed)?;
        let size = usize::from(fixed[0] & 15) * 4;
        let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        let sound = fixed[0] >> 4 == 4 && size >= HEADER && size < total && total == packet.len();
        let (header, payload) =
            packet.split_at_checked(size).filter(|_| sound).ok_or(FragmentError::Malformed)?;
        let word = u16::from_be_bytes([fixed[6], fixed[7]]);
        if word & DONT_FRAGMENT != 0 {
            return Err(FragmentError::DontFragment);
        }
        if fixed[8] <= 1 {
            return Err(FragmentError::Hops);
        }
        let mut first = header.to_vec();
        first[8] -= 1;
        let mut later = first[..HEADER].to_vec();
        later.extend_from_slice(&copied_options(&header[HEADER..]));
        // At most 60 bytes.
        later[0] = 0x40 | (later.len() / 4) as u8;
        let offset = usize::from(word & OFFSET);
        let more = word & MORE_FRAGMENTS;
        Ok(InnerPacket { first, later, payload, offset, more, reserved: word & 0x8000 })
    }
}

/// The options of later fragments, padded to whole words. Empty after an unreadable option.
fn copied_options(options: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = options;
    while let [kind, ..] = rest {
        let length = match (*kind, rest.get(1)) {
            (0, _) => break,
            (1, _) => 1,
            (_, Some(length)) => usize::from(*length),
            (_, None) => break,
        };
        let Some((option, after)) = rest.split_at_checked(length).filter(|_| length > 0) else {
            break;
        };
        if *kind & COPIED != 0 {
            out.extend_from_slice(option);
        }
        rest = after;
    }
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// Writes length, flags and checksum of an inner header.
fn finish_header(packet: &mut [u8], header: usize, word: u16) {
    // A fragment is no longer than the MTU.
    let length = packet.len() as u16;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[6..8].copy_from_slice(&word.to_be_bytes());
    packet[10..12].fill(0);
    let check = checksum(&packet[..header]);
    packet[10..12].copy_from_slice(&check.to_be_bytes());
}

fn is_v4(head: &Oversized) -> bool {
    head.server[..10] == [0; 10] && head.server[10..12] == [0xff; 2]
}

fn wrap_bytes(head: &Oversized) -> usize {
    match Wrap::of(head.wrap.into()) {
        Some(Wrap::Gue) => 8,
        Some(Wrap::Gre) => 4,
        _ => 0,
    }
}

/// Bytes around each fragment.
fn outer_bytes(head: &Oversized) -> usize {
    wrap_bytes(head) + if is_v4(head) { HEADER } else { OUTER6 }
}

/// The headers around a fragment of this size, as the datapath writes them (`bpf/tunnel.h`).
fn outer_headers(head: &Oversized, inner: usize) -> Vec<u8> {
    let wrap = Wrap::of(head.wrap.into());
    let proto = match wrap {
        Some(Wrap::Gue) => 17,
        Some(Wrap::Gre) => 47,
        _ => 4,
    };
    // The sum fits, because the packet is within the MTU.
    let behind = (wrap_bytes(head) + inner) as u16;
    let mut out = Vec::with_capacity(outer_bytes(head) + inner);
    if is_v4(head) {
        let [high, low] = (behind + HEADER as u16).to_be_bytes();
        let flags = (DONT_FRAGMENT >> 8) as u8;
        out.extend_from_slice(&[0x45, head.tos, high, low, 0, 0, flags, 0, HOPS, proto, 0, 0]);
        out.extend_from_slice(&head.outer[12..]);
        out.extend_from_slice(&head.server[12..]);
    } else {
        let first = 6 << 28 | u32::from(head.tos) << 20 | head.entropy & 0xf_ffff;
        out.extend_from_slice(&first.to_be_bytes());
        out.extend_from_slice(&behind.to_be_bytes());
        out.extend_from_slice(&[proto, HOPS]);
        out.extend_from_slice(&head.outer);
        out.extend_from_slice(&head.server);
    }
    match wrap {
        Some(Wrap::Gre) => out.extend_from_slice(&[0, 0, 8, 0]),
        Some(Wrap::Gue) => {
            let source = 0xc000 | (head.entropy & 0x3fff) as u16;
            for word in [source, head.wrap_port, behind, 0] {
                out.extend_from_slice(&word.to_be_bytes());
            }
        }
        _ => {}
    }
    out
}

/// The Internet checksum (RFC 1071) of whole words.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The reading end of the ring.
#[derive(Debug)]
pub struct OversizedReader {
    ring: RingBuffer<'static>,
    received: Receiver<Option<OversizedPacket>>,
}

impl OversizedReader {
    /// Opens the ring of a plane (`Plane::oversized`).
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open(map: &MapHandle) -> Result<OversizedReader, LoadError> {
        let failed = |source| LoadError::Map { name: "oversized".to_owned(), source };
        let (give, handed) = channel();
        let take = move |bytes: &[u8]| {
            // Both ends are held here.
            let _ = give.send(OversizedPacket::parse(bytes));
            0
        };
        let mut ring = RingBufferBuilder::new();
        ring.add(map, take).map_err(failed)?;
        Ok(OversizedReader { ring: ring.build().map_err(failed)?, received: handed })
    }

    /// Waits for the first packet up to `patience` and returns all that arrived; `None` for an unreadable entry.
    pub fn wait_for_packets(&self, patience: Duration) -> Vec<Option<OversizedPacket>> {
        // Ignored: an error leaves the packets taken so far, and the next call continues.
        let _ = self.ring.poll(patience);
        self.received.try_iter().collect()
    }
}

#[cfg(test)]
mod tests;
