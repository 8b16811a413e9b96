//! Limits against abuse: how often a peer may do something on one connection in ten seconds. A pure state machine over
//! counts.

use std::time::Duration;

/// The interval over which deeds are counted.
/// Ten seconds tell a flood from a page that a user leaves early.
const WINDOW: Duration = Duration::from_secs(10);

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbuseKind {
    /// The peer reset a stream.
    Reset,
    /// A control frame, or a frame of a body or head that carries nothing.
    Control,
    /// The peer's window cut a body into a tiny piece.
    Tiny,
    /// A stream that this side reset because of a violation: each may have caused work at a server.
    Malformed,
}

impl AbuseKind {
    /// The name of the limit.
    pub fn name(self) -> &'static str {
        match self {
            AbuseKind::Reset => "rapid-reset",
            AbuseKind::Control => "control-frames",
            AbuseKind::Tiny => "tiny-frames",
            AbuseKind::Malformed => "malformed-requests",
        }
    }
}

/// How much of each kind is allowed in ten seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbuseLimits {
    pub resets: u32,
    pub control_frames: u32,
    pub tiny_frames: u32,
    pub malformed: u32,
}

impl AbuseLimits {
    /// No limits, for peers that are trusted.
    pub const NONE: AbuseLimits = AbuseLimits {
        resets: u32::MAX,
        control_frames: u32::MAX,
        tiny_frames: u32::MAX,
        malformed: u32::MAX,
    };
}

/// The counts of one connection.
#[derive(Debug)]
pub(super) struct AbuseCounters {
    limits: AbuseLimits,
    since: Duration,
    counts: [u32; 4],
    reached: Option<AbuseKind>,
}

impl AbuseCounters {
    pub(super) fn new(limits: AbuseLimits, now: Duration) -> AbuseCounters {
        AbuseCounters { limits, since: now, counts: [0; 4], reached: None }
    }

    pub(super) fn record(&mut self, kind: AbuseKind, now: Duration) {
        if now.saturating_sub(self.since) >= WINDOW {
            self.since = now;
            self.counts = [0; 4];
        }
        let count = &mut self.counts[kind as usize];
        *count = count.saturating_add(1);
        let most = match kind {
            AbuseKind::Reset => self.limits.resets,
            AbuseKind::Control => self.limits.control_frames,
            AbuseKind::Tiny => self.limits.tiny_frames,
            AbuseKind::Malformed => self.limits.malformed,
        };
        if *count > most {
            self.reached.get_or_insert(kind);
        }
    }

    /// The limit that was exceeded first.
    pub(super) fn reached(&self) -> Option<AbuseKind> {
        self.reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_exceeded_within_its_interval_only() {
        use AbuseKind::{Control, Malformed, Reset, Tiny};
        let limits = AbuseLimits { resets: 3, control_frames: 3, tiny_frames: 3, malformed: 3 };
        for kind in [Reset, Control, Tiny, Malformed] {
            let mut counters = AbuseCounters::new(limits, Duration::ZERO);
            (0..60).for_each(|at| counters.record(kind, Duration::from_secs(at * 4)));
            assert_eq!(counters.reached(), None, "{kind:?}: three in ten seconds are allowed");
            (0..4).for_each(|_| counters.record(kind, Duration::from_secs(300)));
            assert_eq!(counters.reached(), Some(kind));
            counters.record(Reset, Duration::from_secs(900));
            assert_eq!(counters.reached(), Some(kind), "it stays exceeded");
        }
    }
}
