//! What the analysis of a message's transfer needs to know: its packets, the path, and what limits are compared with.

use super::link_estimate::LinkEstimate;
use super::sender::{SenderView, SentSegment};
use super::transaction::{EffectiveWindowRange, LimitStretch};

/// The largest burst of a sender with pacing, in packets.
/// 64 KiB of full segments, which one offloaded send may hold, are 46.
const PACED_BURST: usize = 46;

/// Segments that one acknowledgement covers only when they did not arrive singly.
const MANY_SEGMENTS: i64 = 4;

/// The result of an analysed transfer.
#[derive(Debug)]
pub struct TransferBreakdown {
    /// Most in flight in the sender's view.
    pub max_in_flight: i64,
    /// The estimated size of the send buffer in bytes; 0: no evidence of a limit.
    pub cap: i64,
    /// Every slice, if needed.
    pub stretches: Vec<LimitStretch>,
    /// The effective windows, where known.
    pub window: Option<EffectiveWindowRange>,
}

#[derive(Debug)]
pub struct MessageTransfer<'a> {
    pub sender: &'a SenderView,
    /// The link in that direction.
    pub link: &'a LinkEstimate,
    /// The first packet, as an index in the sender's view.
    pub first: usize,
    pub last: usize,
    /// Earlier time belongs to another phase.
    pub from_ns: i64,
    /// Offset behind the message.
    pub to: i64,
    /// The whole round trip.
    pub round_trip_ns: i64,
    /// As long as it usually is, where the delay varies.
    pub usual_round_trip_ns: i64,
    /// How much the round trip between the capture and the sender varies; `None`: too few samples tell.
    pub varies_ns: Option<i64>,
    /// As above, between the capture and the receiver; 0: too few samples tell.
    pub peer_varies_ns: i64,
    /// Whether the sender's clock shows when packets left.
    pub by_clock: bool,
    /// The round trip between the capture and the sender.
    pub near_ns: i64,
    pub segment: i64,
    /// Whether every slice is wanted, for drawing.
    pub detailed: bool,
}

impl MessageTransfer<'_> {
    /// Whether the packet after this one left by the sender's clock, as BBR does: full segments, and a gap as long as
    /// the last one between bursts. A program that writes by the clock leaves a partial segment.
    pub fn is_paced(&self, at: usize) -> bool {
        let sent = &self.sender.sent;
        let whole = self.segment;
        let is_whole = |sent: &SentSegment| sent.to - sent.from >= whole;
        let gap_ns = |at: usize| sent[at + 1].time_ns - sent[at].time_ns;
        let this_ns = gap_ns(at);
        let first = self.first.max(at.saturating_sub(PACED_BURST));
        let before = (first..at).rev().map(gap_ns).find(|ns| *ns * 4 > this_ns);
        let regular = before.is_some_and(|ns| (ns - this_ns).abs() * 4 <= this_ns);
        regular && this_ns < self.round_trip_ns && is_whole(&sent[at]) && is_whole(&sent[at + 1])
    }

    /// Whether this acknowledgement was the only one in half a round trip and covers many segments: the receiver's
    /// program read a portion, which moved the window. A queue before a link empties packet by packet, with one
    /// acknowledgement each.
    pub fn is_aggregated_ack(&self, latest: Option<usize>) -> bool {
        let acks = &self.sender.acks;
        let Some(latest) = latest.and_then(|at| acks.get(at)) else { return false };
        // A further one of the same data only tells the window.
        let at = acks.partition_point(|one| one.ack < latest.ack);
        let pair = at.checked_sub(1).and_then(|before| acks.get(before..=at));
        let Some([before, ack]) = pair else { return false };
        let alone = (ack.time_ns - before.time_ns) * 2 >= self.round_trip_ns;
        alone && ack.ack - before.ack >= MANY_SEGMENTS * self.segment
    }
}
