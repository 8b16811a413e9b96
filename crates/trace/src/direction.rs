//! Counters of one side's packets: packets, bytes, retransmissions, windows, options.
//!
//! Counters are exact on any capture. Other modules attribute the time.

use crate::duplicate::RecentPackets;
use crate::packet::{FIN, RST, SYN, TcpPacket};
use crate::ranges::{MissingBytes, OffsetRanges};

/// The state of a side's window scale option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowScaleOption {
    /// Its SYN was not captured, or not all of its options.
    #[default]
    NotSeen,
    /// The SYN has no such option.
    Absent,
    /// The shift that it announces, at most 14 (RFC 7323, 2.3).
    Shift(u8),
}

/// Sums of one direction. Copies that only the capture made are in `copies` and nowhere else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounts {
    pub packets: u64,
    pub data_packets: u64,
    /// Payload bytes, retransmissions included.
    pub bytes: u64,
    /// Packets with at least one byte that was captured before.
    pub retransmitted_packets: u64,
    /// Bytes that were seen before.
    pub retransmitted_bytes: u64,
    /// Packets that filled a hole.
    pub out_of_order_packets: u64,
    /// Packets without payload, SYN, FIN and RST.
    pub pure_acks: u64,
    /// Probes of a closed window or a quiet connection.
    pub probes: u64,
    /// Packets with a window of zero, without SYN, FIN, RST.
    pub zero_windows: u64,
    /// Packets with SYN, FIN, RST.
    pub syns: u64,
    pub fins: u64,
    pub resets: u64,
}

/// The window field's smallest and largest value, unscaled, SYNs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowFieldRange {
    pub smallest: u16,
    pub largest: u16,
}

/// The largest payloads of a direction's packets, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LargestPayloads {
    pub once: u32,
    /// The largest one that occurred more than once.
    pub repeated: u32,
}

#[derive(Clone, Debug, Default)]
pub struct DirectionState {
    pub counts: DirectionCounts,
    /// Copies that the capture made.
    pub recent: RecentPackets,
    /// The window scale option.
    pub scale: WindowScaleOption,
    /// The maximum segment size that this side announced; 0 if not seen.
    pub mss: u16,
    /// Whether it announced selective acknowledgements.
    pub sack_permitted: bool,
    pub raw_window: Option<WindowFieldRange>,
    /// Window of its SYN, never scaled.
    pub syn_window: Option<u16>,
    pub largest: LargestPayloads,
    /// Most bytes sent and not acknowledged, acknowledgements as they passed the capture.
    pub max_in_flight: i64,
    /// The acknowledged offset of the other direction.
    pub acked: i64,
    /// Sequence number of the stream's first byte.
    base: Option<u32>,
    /// Offset behind the highest byte.
    next_offset: i64,
    ranges: OffsetRanges,
}

/// The effect of a packet on its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentPlacement {
    /// Offset of the first byte.
    pub from: i64,
    /// Bytes that were not seen before.
    pub new: i64,
    /// Whether it lies below the highest byte.
    pub below_highest: bool,
    pub is_probe: bool,
}

impl DirectionState {
    /// The first sequence number of the direction, if known: of its SYN, or of the first captured byte.
    pub fn base(&self) -> Option<u32> {
        self.base
    }

    /// Offset behind the highest byte.
    pub fn next(&self) -> i64 {
        self.next_offset
    }

    /// Bytes seen at least once.
    pub fn unique_bytes(&self) -> u64 {
        self.counts.bytes - self.counts.retransmitted_bytes
    }

    /// Bytes that the other side acknowledged up to `acked` and that are not in the capture.
    pub fn missing(&self, acked: i64) -> MissingBytes {
        let is_begun = self.counts.syns > 0;
        if !is_begun && self.counts.data_packets == 0 {
            return MissingBytes::default();
        }
        // The end of the stream takes a number too (RFC 9293, 3.4).
        let end = self.next_offset + 1;
        let to = if acked <= end { acked.min(self.next_offset) } else { acked };
        self.ranges.missing(is_begun.then_some(0), to)
    }

    /// How often more holes were open than are remembered.
    pub fn joined(&self) -> u64 {
        self.ranges.joined()
    }

    /// The offset of a sequence number near the highest one; the first number sets the origin.
    #[inline]
    pub fn offset(&mut self, seq: u32) -> i64 {
        let base = *self.base.get_or_insert(seq);
        let relative = seq.wrapping_sub(base);
        let delta = relative.wrapping_sub(self.next_offset as u32).cast_signed();
        self.next_offset + i64::from(delta)
    }

    /// Counts a packet of this direction. `closed`: the other side's last window was zero.
    #[inline]
    pub fn record_packet(&mut self, packet: &TcpPacket<'_>, closed: bool) -> SegmentPlacement {
        let counts = &mut self.counts;
        counts.packets += 1;
        if packet.flags & (SYN | FIN | RST) != 0 {
            return self.record_control(packet, closed);
        }
        counts.pure_acks += u64::from(packet.length == 0);
        counts.zero_windows += u64::from(packet.window == 0);
        let first = WindowFieldRange { smallest: packet.window, largest: packet.window };
        let range = self.raw_window.get_or_insert(first);
        range.smallest = range.smallest.min(packet.window);
        range.largest = range.largest.max(packet.window);
        let from = self.offset(packet.seq);
        self.record_payload(packet, from, closed)
    }

    #[cold]
    fn record_control(&mut self, packet: &TcpPacket<'_>, closed: bool) -> SegmentPlacement {
        let counts = &mut self.counts;
        counts.fins += u64::from(packet.has(FIN));
        counts.resets += u64::from(packet.has(RST));
        let mut seq = packet.seq;
        if packet.has(SYN) {
            counts.syns += 1;
            let options = &packet.options;
            self.base.get_or_insert(packet.seq.wrapping_add(1));
            self.scale = match options.scale {
                // Larger shifts count as 14 (RFC 7323 §2.3).
                Some(shift) => WindowScaleOption::Shift(shift.min(14)),
                // What was not captured may be there.
                None if options.is_cut => WindowScaleOption::NotSeen,
                None => WindowScaleOption::Absent,
            };
            self.mss = options.mss;
            self.sack_permitted = options.sack_permitted;
            self.syn_window = Some(packet.window);
            seq = seq.wrapping_add(1);
        }
        // A reset may have any sequence number, and its payload is only a diagnostic text (RFC 9293, 3.5.2).
        if packet.has(RST) {
            return SegmentPlacement {
                from: self.next_offset,
                new: 0,
                below_highest: false,
                is_probe: false,
            };
        }
        let from = self.offset(seq);
        self.record_payload(packet, from, closed)
    }

    #[inline]
    fn record_payload(
        &mut self,
        packet: &TcpPacket<'_>,
        from: i64,
        closed: bool,
    ) -> SegmentPlacement {
        let length = packet.length;
        if length == 0 {
            let probe = from < self.next_offset
                && packet.flags & (SYN | FIN) == 0
                && from == self.next_offset - 1;
            self.counts.probes += u64::from(probe);
            return SegmentPlacement { from, new: 0, below_highest: false, is_probe: probe };
        }
        let counts = &mut self.counts;
        counts.data_packets += 1;
        counts.bytes += u64::from(length);
        if length > self.largest.once {
            self.largest.once = length;
        } else if length > self.largest.repeated {
            self.largest.repeated = length;
        }
        let to = from + i64::from(length);
        let below = from < self.next_offset;
        let new = self.ranges.add(from, to);
        let probe = length == 1 && (closed || (new == 0 && from == self.next_offset - 1));
        self.next_offset = self.next_offset.max(to);
        let repeated = u64::from(length) - new.max(0).cast_unsigned();
        if repeated > 0 || below {
            counts.retransmitted_bytes += repeated;
            counts.retransmitted_packets += u64::from(repeated > 0 && !probe);
            counts.out_of_order_packets += u64::from(new > 0 && below);
        }
        counts.probes += u64::from(probe);
        SegmentPlacement { from, new, below_highest: below, is_probe: probe }
    }

    /// The largest segment that this side sends, given the other side's announced MSS.
    pub fn max_segment(&self, wished: u16) -> u32 {
        let wished = u32::from(wished);
        let LargestPayloads { once, repeated } = self.largest;
        // Options take room that the wish does not count (RFC 6691).
        if once <= wished && repeated + 40 >= wished { repeated } else { wished }
    }
}
