//! Losses in a capture: holes that are filled late, and jumps in the sender's IP identification.
//!
//! Data that fills a hole within a fraction of a round trip was reordered; later it is a retransmission.

use std::collections::VecDeque;

use crate::event::{FILLS, PacketEvent};

/// Bytes of a stream that were missing when a later byte passed.
#[derive(Clone, Copy, Debug)]
struct StreamHole {
    /// Offset of its first byte.
    from: i64,
    /// When it was noticed, nanoseconds since the capture began.
    since_ns: i64,
}

#[derive(Debug)]
pub struct LossTracker {
    round_trip_ns: i64,
    holes: VecDeque<StreamHole>,
    last_id: Option<u16>,
    steps: u32,
    single: u32,
}

/// Reordering within this is no loss, nanoseconds; as Wireshark has it.
const REORDERED_NS: i64 = 3_000_000;
/// Holes followed at once.
/// A receiver reports four ranges in an acknowledgement at most (RFC 2018 §3); sixteen with different ranges fit.
const MAX_HOLES: usize = 64;

impl LossTracker {
    /// Follows a direction of a path.
    pub fn new(round_trip_ns: i64) -> LossTracker {
        LossTracker { round_trip_ns, holes: VecDeque::new(), last_id: None, steps: 0, single: 0 }
    }

    /// Whether a packet repairs a loss that happened before the capture; `high`: offset behind the highest byte.
    pub fn is_repair(&mut self, event: &PacketEvent, high: i64) -> bool {
        if high != i64::MIN && event.seq > high && self.holes.len() < MAX_HOLES {
            self.holes.push_back(StreamHole { from: high, since_ns: event.time_ns });
        }
        if !event.has_mark(FILLS) {
            return false;
        }
        let hole = self.holes.iter().rev().find(|hole| hole.from <= event.seq).copied();
        self.holes.retain(|hole| hole.from < event.seq || hole.from >= event.end());
        let late = REORDERED_NS.max(self.round_trip_ns / 2);
        hole.is_none_or(|hole| event.time_ns - hole.since_ns > late)
    }

    /// Whether the sender's identification jumps with this packet.
    pub fn id_jumps(&mut self, event: &PacketEvent) -> bool {
        let last = self.last_id.replace(event.ip_id);
        let Some(last) = last.filter(|_| event.ip_id != 0) else { return false };
        let step = event.ip_id.wrapping_sub(last);
        self.steps += 1;
        self.single += u32::from(step == 1);
        (2..64).contains(&step)
    }

    /// Whether identifications count only the packets of this connection, nearly always by one.
    pub fn is_regular(&self) -> bool {
        self.steps >= 8 && self.single * 10 >= self.steps * 9
    }
}
