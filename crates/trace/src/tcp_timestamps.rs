//! Round trips by TCP timestamps (RFC 7323, 3): for captures without better samples.
//!
//! One value at a time is followed for each side: when a new one passes, and when its echo does. A delayed echo makes a
//! sample too long, never too short, so the smallest counts.

use crate::event::ConnectionSide;
use crate::packet::{TcpPacket, TimestampOption};

/// A timestamp value that passed the capture and whose echo did not yet.
#[derive(Clone, Copy, Debug)]
struct AwaitedEcho {
    value: u32,
    /// When it passed, nanoseconds since the capture began.
    since_ns: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct TimestampTracker {
    waiting: [Option<AwaitedEcho>; 2],
    /// Smallest time between a value of this side and its echo, nanoseconds.
    shortest_ns: [Option<i64>; 2],
}

impl TimestampTracker {
    /// Each side was the other one.
    pub fn swap_sides(&mut self) {
        self.waiting.swap(0, 1);
        self.shortest_ns.swap(0, 1);
    }

    #[inline]
    pub fn track_packet(&mut self, side: ConnectionSide, packet: &TcpPacket<'_>) {
        let Some(TimestampOption { value, echo }) = packet.options.stamps else { return };
        let time_ns = packet.time_ns;
        let theirs = side.peer().index();
        if let Some(awaited) = self.waiting[theirs]
            && echo.wrapping_sub(awaited.value).cast_signed() >= 0
        {
            if echo == awaited.value && time_ns > awaited.since_ns {
                let sample = time_ns - awaited.since_ns;
                let shortest = &mut self.shortest_ns[theirs];
                *shortest = Some(shortest.map_or(sample, |known| known.min(sample)));
            }
            self.waiting[theirs] = None;
        }
        // Only data packets are echoed at once.
        if packet.length > 0 && self.waiting[side.index()].is_none() {
            self.waiting[side.index()] = Some(AwaitedEcho { value, since_ns: time_ns });
        }
    }

    /// The smallest time between something that `side` sent passing the capture and its echo doing so.
    pub fn shortest_ns(&self, side: ConnectionSide) -> Option<i64> {
        self.shortest_ns[side.index()]
    }
}
