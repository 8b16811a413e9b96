//! Distinguishes packets that were captured twice from packets that were sent twice.
//!
//! A capture on several interfaces, or of a switch's mirror port, repeats a packet within a millisecond with the same
//! IP identification, sequence number, length and flags. Before and behind a router the copy has another TTL, and may be
//! later: once one was seen, all packets of that direction with this TTL are copies. Without an identification the checksum, window and
//! acknowledgement must be equal as well. An empty acknowledgement counts only where most data packets are doubled too.

use crate::packet::{FIN, SYN, TcpPacket};

/// How far apart copies are, nanoseconds.
/// A mirror port or a bridge delivers its copy at once; a retransmission waits for a round trip at least.
const WITHIN_NS: i64 = 1_000_000;

/// How far apart a packet is before and behind a router, nanoseconds: a queue in it.
const ROUTED_NS: i64 = 1_000_000_000;

/// Packets of a direction that are remembered.
/// Copies arrive one behind the other, or after the packets of one burst.
const MEMORY: usize = 8;

/// A packet that passed lately, as a fingerprint of its header; 0: none.
#[derive(Clone, Copy, Debug, Default)]
struct PacketFingerprint {
    print: u64,
    time_ns: i64,
    ttl: u8,
}

#[derive(Clone, Debug, Default)]
pub struct RecentPackets {
    packets: [PacketFingerprint; MEMORY],
    next: u8,
    pub copies: u64,
    carried_bytes: u64,
    /// The TTL of copies behind a router, or before it.
    routed_ttl: Option<u8>,
}

impl RecentPackets {
    /// Whether this packet is a copy of an earlier one.
    #[inline]
    pub fn is_copy(&mut self, packet: &TcpPacket<'_>) -> bool {
        let print = fingerprint(packet);
        let carries = packet.length > 0 || packet.flags & (SYN | FIN) != 0;
        let time_ns = packet.time_ns;
        let ttl = packet.ttl;
        if self.routed_ttl == Some(ttl) {
            self.copies += 1;
            return true;
        }
        let routed = |seen: &PacketFingerprint| {
            seen.print == print && seen.ttl != ttl && (time_ns - seen.time_ns).abs() <= ROUTED_NS
        };
        if carries && self.packets.iter().any(routed) {
            self.routed_ttl = Some(ttl);
            self.copies += 1;
            return true;
        }
        let near = |seen: &PacketFingerprint| {
            seen.print == print && (time_ns - seen.time_ns).abs() <= WITHIN_NS
        };
        if self.packets.iter().any(near)
            && (carries || has_distinct_id(packet) || self.is_doubled())
        {
            self.copies += 1;
            return true;
        }
        self.carried_bytes += u64::from(carries);
        self.packets[usize::from(self.next) % MEMORY] = PacketFingerprint { print, time_ns, ttl };
        self.next = self.next.wrapping_add(1);
        false
    }

    fn is_doubled(&self) -> bool {
        self.copies > 0 && self.copies * 2 >= self.carried_bytes
    }
}

/// Whether the identification distinguishes packets.
fn has_distinct_id(packet: &TcpPacket<'_>) -> bool {
    packet.ip_id.is_some_and(|id| id != 0)
}

#[inline]
fn fingerprint(packet: &TcpPacket<'_>) -> u64 {
    let high = u64::from(packet.seq) << 32;
    let low = u64::from(packet.length) ^ u64::from(packet.flags) << 24;
    let (id, more) = if has_distinct_id(packet) {
        (u64::from(packet.ip_id.unwrap_or(0)), 0)
    } else {
        let window = u64::from(packet.window) << 16;
        (u64::from(packet.checksum) | 1 << 17, window ^ u64::from(packet.ack).rotate_left(40))
    };
    // Odd constants spread the empty bits of the fields; equal packets give equal values.
    (high | low).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ id.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ more
        | 1
}
