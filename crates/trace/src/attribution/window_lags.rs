//! Packets that waited for room in the receiver's window, over a path whose delay varies.
//!
//! Which acknowledgements a sender knew at a time is not known then. But a packet that needs an acknowledgement's window did
//! not leave before it, and came as late behind it as the round trip was long.

use std::ops::RangeInclusive;

use super::sender::{SenderView, SentSegment};

/// Fewer packets that waited for room show no variation.
const FEW: usize = 16;

/// How long packets came behind the acknowledgements that made room for them and the base round trip, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct WindowLags {
    shortest_ns: i64,
    longest_ns: i64,
}

impl WindowLags {
    /// The lags of packets that waited for room: from the base on, which may be shorter than all samples, as much as the
    /// delay varies. `None`: they did not wait for it, or the delay does not vary. A lag that is always alike is room that
    /// the sender leaves unused.
    pub fn measure(
        sender: &SenderView,
        packets: RangeInclusive<usize>,
        near_ns: i64,
        trigger_ns: i64,
    ) -> Option<WindowLags> {
        let packets = &sender.sent[packets];
        if packets.len() < FEW {
            return None;
        }
        let lags = packets.iter().filter_map(|sent| lag_behind_window(sender, sent));
        let lags: Vec<i64> = lags.filter(|lag| lag.abs() <= near_ns).collect();
        let shortest_ns = *lags.iter().min().filter(|_| lags.len() >= FEW)?;
        let longest_ns = *lags.iter().max()?;
        let varies = longest_ns > trigger_ns && shortest_ns * 4 <= longest_ns;
        varies.then_some(WindowLags { shortest_ns: shortest_ns.min(0), longest_ns })
    }

    /// Whether a packet with this lag waited for room.
    pub fn contains(self, lag_ns: i64) -> bool {
        (self.shortest_ns..=self.longest_ns).contains(&lag_ns)
    }
}

/// How long after the acknowledgement that made room for it a packet came. `None`: there was always room, or the
/// windows are not known.
pub fn lag_behind_window(sender: &SenderView, sent: &SentSegment) -> Option<i64> {
    let opened = sender.acks.partition_point(|ack| ack.edge < sent.to);
    let before = opened.checked_sub(1)?;
    let full = &sender.acks[before];
    let is_known = sender.scaled && !sent.repeat && full.edge < sent.to && full.window > 0;
    let ack = sender.acks.get(opened).filter(|_| is_known)?;
    Some(sent.time_ns - ack.time_ns)
}
