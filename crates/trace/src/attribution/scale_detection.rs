//! Determines a side's window scale: known, proven by behaviour, bounded, or reported as unknown.
//!
//! A scale applies only if both SYNs have the option; SYN windows are never scaled (RFC 7323, 2.2). A guess is never
//! used as known.

use crate::address;
use crate::conversation::Conversation;
use crate::event::ConnectionSide;

use super::path::PathTiming;
use super::scale::{ScaleOverrides, ScaleProvenance, WindowScale};
use super::sender::SenderView;

/// The largest shift (RFC 7323, 2.3).
const MAX_SHIFT: u8 = 14;
/// Flights that must end on the edge.
const FLIGHTS: usize = 2;

/// The scale of the windows that `side` advertises.
pub fn detect_scale(
    conversation: &Conversation,
    side: ConnectionSide,
    path: &PathTiming,
    segment: u32,
    wishes: &ScaleOverrides,
) -> WindowScale {
    let end = conversation.ends[side.index()];
    if let Some(shift) = wishes.shift_for(address::ip(end.address), end.port) {
        return WindowScale { shift: shift.min(MAX_SHIFT), provenance: ScaleProvenance::User };
    }
    if let Some(shift) = conversation.window_shift(side) {
        return WindowScale { shift, provenance: ScaleProvenance::Syn };
    }
    let sender = &SenderView::from_conversation(conversation, side.peer(), path, None);
    let shift = lower_bound(sender, i64::from(segment));
    let provenance = if shift > 0 {
        ScaleProvenance::LowerBound
    } else if ends_on_edge(sender, path) >= FLIGHTS {
        ScaleProvenance::ProvenZero
    } else {
        ScaleProvenance::Unknown
    };
    WindowScale { shift, provenance }
}

/// The smallest shift with which the bytes in flight never exceed the window by more than two segments and 2 %.
fn lower_bound(sender: &SenderView, segment: i64) -> u8 {
    let mut shift = 0;
    sender.each_flight(|in_flight, ack| {
        let raw = i64::from(ack.raw_window);
        while shift < MAX_SHIFT && raw > 0 {
            let window = raw << shift;
            if in_flight <= window + window / 50 + 2 * segment {
                break;
            }
            shift += 1;
        }
    });
    shift
}

/// How many flights ended exactly on the unscaled edge, and stopped there for more than two round trips.
fn ends_on_edge(sender: &SenderView, path: &PathTiming) -> usize {
    let long = 2 * path.round_trip_ns();
    let mut count = 0;
    for (at, pair) in sender.sent.windows(2).enumerate() {
        let Some(ack) = sender.ack_before(pair[0].time_ns) else { continue };
        let edge = ack.ack + i64::from(ack.raw_window);
        let stopped = pair[1].time_ns - pair[0].time_ns > long;
        count += usize::from(ack.raw_window > 0 && sender.high[at] == edge && stopped);
    }
    count
}
