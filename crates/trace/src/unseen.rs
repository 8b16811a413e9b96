//! Packets that passed and that the capture lacks: an acknowledgement for bytes that were never captured shows them.
//!
//! They are entered as events, so that requests and answers keep their places. Only the newest bytes of a direction
//! need that; a hole below captured bytes leaves the times around it known.

use crate::event::{ConnectionSide, PacketEvent, UNSEEN, UNTIMED};
use crate::packet::TcpPacket;

/// The acknowledgement that shows unseen bytes.
#[derive(Clone, Copy, Debug)]
pub struct UnseenSegment {
    /// Who sent the bytes.
    pub side: ConnectionSide,
    /// Offset of the first byte.
    pub from: i64,
    /// Offset behind the last byte.
    pub to: i64,
    /// Data of the other side that was captured so far, offset behind the last byte.
    pub answered: i64,
    /// Round trip between the capture and the side that acknowledged, nanoseconds; 0: not known.
    pub near_ns: i64,
}

/// The longest stretch that is entered. An acknowledgement further ahead is no acknowledgement of this connection:
/// windows have a gibibyte at most (RFC 7323, 2.3).
pub const MAX_BYTES: i64 = 1 << 30;
/// Events behind which a packet that was captured late is looked for.
const RECENT: usize = 64;

/// Enters unseen bytes where they most likely passed.
pub fn insert_unseen(events: &mut Vec<PacketEvent>, of: UnseenSegment, by: &TcpPacket<'_>) {
    let last_ns = events.last().map_or(by.time_ns, |event| event.time_ns);
    let mut event = PacketEvent::from(of.side);
    let is_timed = by.length == 0;
    event.mark(if is_timed { UNSEEN } else { UNSEEN | UNTIMED });
    event.time_ns = match of.side {
        // A request is answered later than it passed; how much later is not known.
        ConnectionSide::Client if !is_timed => last_ns,
        _ => by.time_ns - of.near_ns,
    };
    event.seq = of.from;
    event.length = u32::try_from(of.to - of.from).unwrap_or(u32::MAX);
    event.ack = of.answered;
    let first = events.len().saturating_sub(RECENT);
    let at = first + events[first..].partition_point(|other| other.time_ns <= event.time_ns);
    let before = at.checked_sub(1).map(|before| events[before]);
    event.time_ns = before.map_or(event.time_ns, |before| before.time_ns.max(event.time_ns));
    event.number = before.map_or(by.number, |before| before.number);
    events.insert(at, event);
}

/// Removes what was entered for bytes that were captured after their acknowledgement.
pub fn remove_unseen(events: &mut Vec<PacketEvent>, side: ConnectionSide, from: i64, to: i64) {
    let first = events.len().saturating_sub(RECENT);
    let overlaps = |event: &PacketEvent| {
        event.has_mark(UNSEEN) && event.side() == side && event.seq < to && from < event.end()
    };
    if let Some(at) = events[first..].iter().position(overlaps) {
        events.remove(first + at);
    }
}
