//! Flood limits: how often a peer may do something on one connection in ten seconds before it counts as an attack. A
//! pure state machine over counts.
//!
//! `downstream::http2::serve` closes the connection and counts the attack.

use std::time::Duration;

use model::config::Http2FloodLimits;
use model::monotonic_time::MonotonicTime;

/// The interval over which events are counted.
/// Ten seconds tell a flood from a page that a user leaves early.
const WINDOW: Duration = Duration::from_secs(10);

/// Fewer events of a kind than this are normal traffic.
const MIN_COUNT: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloodEvent {
    /// The peer reset a stream.
    Reset,
    /// A control frame, or an empty DATA frame.
    Control,
    /// The peer's window cut a body into a tiny piece.
    Tiny,
    /// A stream that violated the protocol.
    Malformed,
}

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloodLimit(pub FloodEvent);

impl FloodLimit {
    pub fn name(self) -> &'static str {
        match self.0 {
            FloodEvent::Reset => "rapid-reset",
            FloodEvent::Control => "control-frames",
            FloodEvent::Tiny => "tiny-frames",
            FloodEvent::Malformed => "malformed-requests",
        }
    }
}

/// The event counts of one connection.
#[derive(Debug)]
pub struct FloodCounters {
    limits: Http2FloodLimits,
    since: MonotonicTime,
    counts: [u32; 4],
    limit_reached: Option<FloodLimit>,
}

impl FloodCounters {
    pub fn new(limits: Http2FloodLimits, now: MonotonicTime) -> FloodCounters {
        FloodCounters { limits, since: now, counts: [0; 4], limit_reached: None }
    }

    pub fn record(&mut self, deed: FloodEvent, now: MonotonicTime) {
        if now.since(self.since) >= WINDOW {
            self.since = now;
            self.counts = [0; 4];
        }
        let (at, most) = match deed {
            FloodEvent::Reset => (0, self.limits.resets),
            FloodEvent::Control => (1, self.limits.control_frames),
            FloodEvent::Tiny => (2, self.limits.tiny_frames),
            FloodEvent::Malformed => (3, self.limits.malformed),
        };
        self.counts[at] = self.counts[at].saturating_add(1);
        if self.counts[at] > most && self.limit_reached.is_none() {
            self.limit_reached = Some(FloodLimit(deed));
        }
    }

    /// Records that the library's own limit was reached, as the limit of the most frequent event. Returns whether there
    /// is one.
    pub fn reach_library_limit(&mut self) -> bool {
        let deeds =
            [FloodEvent::Reset, FloodEvent::Control, FloodEvent::Tiny, FloodEvent::Malformed];
        let most = self.counts.iter().zip(deeds).max_by_key(|(count, _)| **count);
        if let Some((count, deed)) = most
            && *count >= MIN_COUNT
            && self.limit_reached.is_none()
        {
            self.limit_reached = Some(FloodLimit(deed));
        }
        self.limit_reached.is_some()
    }

    /// The limit that was reached first.
    pub fn limit_reached(&self) -> Option<FloodLimit> {
        self.limit_reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonotonicTime {
        MonotonicTime(millis * 1_000_000)
    }

    #[test]
    fn a_limit_is_met_within_its_span_only() {
        let limits =
            Http2FloodLimits { resets: 3, control_frames: 3, tiny_frames: 3, malformed: 3 };
        for deed in
            [FloodEvent::Reset, FloodEvent::Control, FloodEvent::Tiny, FloodEvent::Malformed]
        {
            let mut deeds = FloodCounters::new(limits, at(0));
            for second in 0..60 {
                deeds.record(deed, at(second * 4_000));
            }
            assert_eq!(deeds.limit_reached(), None, "{deed:?}: three in ten seconds are allowed");
            for _ in 0..4 {
                deeds.record(deed, at(300_000));
            }
            assert_eq!(deeds.limit_reached(), Some(FloodLimit(deed)));
            deeds.record(FloodEvent::Reset, at(900_000));
            assert_eq!(deeds.limit_reached(), Some(FloodLimit(deed)), "it stays met");
            let mut deeds = FloodCounters::new(Http2FloodLimits { resets: 100, ..limits }, at(0));
            assert!(!deeds.reach_library_limit(), "nothing was done");
            (0..MIN_COUNT).for_each(|_| deeds.record(FloodEvent::Reset, at(1)));
            assert!(deeds.limit_reached().is_none() && deeds.reach_library_limit());
            assert_eq!(deeds.limit_reached(), Some(FloodLimit(FloodEvent::Reset)));
        }
    }
}
