//! What a peer may do on one connection in ten seconds before it is taken for an attack: a pure machine over counts.
//!
//! It ends nothing: `serve` does, and counts it.

use std::time::Duration;

use model::config::Http2Flood;
use model::moment::Moment;

/// Over which counts are taken.
const SPAN: Duration = Duration::from_secs(10);

/// So many of a kind are more than happen by the way.
const SOME: u32 = 10;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A stream was taken back.
    Reset,
    /// A frame that carries nothing.
    Control,
    /// A body had to be cut into a piece of few bytes.
    Tiny,
    /// A stream that broke the protocol.
    Malformed,
}

/// Which limit was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flood(pub Deed);

impl Flood {
    /// As logged.
    pub fn name(self) -> &'static str {
        match self.0 {
            Deed::Reset => "rapid-reset",
            Deed::Control => "control-frames",
            Deed::Tiny => "tiny-frames",
            Deed::Malformed => "malformed-requests",
        }
    }
}

/// The counts of one connection.
#[derive(Debug)]
pub struct Deeds {
    limits: Http2Flood,
    since: Moment,
    counts: [u32; 4],
    met: Option<Flood>,
}

impl Deeds {
    /// None yet.
    pub fn new(limits: Http2Flood, now: Moment) -> Deeds {
        Deeds { limits, since: now, counts: [0; 4], met: None }
    }

    /// Counts one.
    pub fn note(&mut self, deed: Deed, now: Moment) {
        if now.since(self.since) >= SPAN {
            (self.since, self.counts) = (now, [0; 4]);
        }
        let (at, most) = match deed {
            Deed::Reset => (0, self.limits.resets),
            Deed::Control => (1, self.limits.control_frames),
            Deed::Tiny => (2, self.limits.tiny_frames),
            Deed::Malformed => (3, self.limits.malformed),
        };
        self.counts[at] = self.counts[at].saturating_add(1);
        if self.counts[at] > most && self.met.is_none() {
            self.met = Some(Flood(deed));
        }
    }

    /// Somebody else's limit was met: it stands for that of what was done most. Returns whether there is any such.
    pub fn meet(&mut self) -> bool {
        let deeds = [Deed::Reset, Deed::Control, Deed::Tiny, Deed::Malformed];
        let most = self.counts.iter().zip(deeds).max_by_key(|(count, _)| **count);
        if let Some((count, deed)) = most
            && *count >= SOME
            && self.met.is_none()
        {
            self.met = Some(Flood(deed));
        }
        self.met.is_some()
    }

    /// The limit that was met first.
    pub fn met(&self) -> Option<Flood> {
        self.met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment(millis * 1_000_000)
    }

    #[test]
    fn a_limit_is_met_within_its_span_only() {
        let limits = Http2Flood { resets: 3, control_frames: 3, tiny_frames: 3, malformed: 3 };
        for deed in [Deed::Reset, Deed::Control, Deed::Tiny, Deed::Malformed] {
            let mut deeds = Deeds::new(limits, at(0));
            for second in 0..60 {
                deeds.note(deed, at(second * 4_000));
            }
            assert_eq!(deeds.met(), None, "{deed:?}: three in ten seconds are allowed");
            for _ in 0..4 {
                deeds.note(deed, at(300_000));
            }
            assert_eq!(deeds.met(), Some(Flood(deed)));
            deeds.note(Deed::Reset, at(900_000));
            assert_eq!(deeds.met(), Some(Flood(deed)), "it stays met");
            let mut deeds = Deeds::new(Http2Flood { resets: 100, ..limits }, at(0));
            assert!(!deeds.meet(), "nothing was done");
            (0..SOME).for_each(|_| deeds.note(Deed::Reset, at(1)));
            assert!(deeds.met().is_none() && deeds.meet());
            assert_eq!(deeds.met(), Some(Flood(Deed::Reset)));
        }
    }
}
