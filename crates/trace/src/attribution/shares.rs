//! Seconds by limit, each with the packets that show it.
//!
//! Plain sums; other modules decide which limit applies.

use model::limit::Limit;

/// The packets between which a limit held longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitEvidence {
    /// How often it held.
    pub times: u32,
    /// The longest time at once, nanoseconds.
    pub longest_ns: i64,
    /// When that began, nanoseconds since the capture began.
    pub from_ns: i64,
    /// Number of the packet before it.
    pub from: u32,
    /// Number of the packet behind it.
    pub to: u32,
    /// Bytes sent at the ends of such times.
    pub bytes: u64,
    /// The receiver's window in force then, bytes, where known.
    pub window: Option<i64>,
    /// How long that window was well below its largest, because data in it was not read; nanoseconds.
    pub unread_ns: i64,
}

/// The sums of one transfer, or of several.
#[derive(Clone, Debug)]
pub struct LimitShares {
    ns: [i64; Limit::COUNT],
    evidence: [LimitEvidence; Limit::COUNT],
}

impl Default for LimitShares {
    fn default() -> LimitShares {
        LimitShares { ns: [0; Limit::COUNT], evidence: [LimitEvidence::default(); Limit::COUNT] }
    }
}

impl LimitShares {
    /// Adds a stretch of time.
    pub fn add(&mut self, limit: Limit, stretch: LimitEvidence) {
        self.ns[limit as usize] += stretch.longest_ns;
        self.evidence[limit as usize].merge(&stretch);
    }

    /// Adds time without packets to show.
    pub fn add_ns(&mut self, limit: Limit, ns: i64) {
        self.ns[limit as usize] += ns;
    }

    /// Nanoseconds of a limit.
    pub fn ns(&self, limit: Limit) -> i64 {
        self.ns[limit as usize]
    }

    /// Evidence of a limit.
    pub fn evidence(&self, limit: Limit) -> LimitEvidence {
        self.evidence[limit as usize]
    }

    pub fn total_ns(&self) -> i64 {
        self.ns.iter().sum()
    }

    /// Limits with a share, the longest first.
    pub fn ranked(&self) -> Vec<Limit> {
        let all = Limit::ALL.iter().copied();
        let mut held: Vec<Limit> = all.filter(|limit| self.ns(*limit) > 0).collect();
        held.sort_by_key(|limit| std::cmp::Reverse(self.ns(*limit)));
        held
    }

    /// Moves the time of back-to-back packets to the largest other limit, if there is one.
    pub fn reassign_sending(&mut self) {
        let sending = std::mem::take(&mut self.ns[Limit::Send as usize]);
        let others = Limit::ALL.iter().filter(|limit| self.ns(**limit) > 0);
        // Of several alike the first one.
        let main = others.rev().max_by_key(|limit| self.ns(**limit)).copied();
        self.ns[main.unwrap_or(Limit::Send) as usize] += sending;
    }

    /// Moves the time of one limit to another.
    pub fn reassign(&mut self, from: Limit, to: Limit) {
        let ns = std::mem::take(&mut self.ns[from as usize]);
        let evidence = std::mem::take(&mut self.evidence[from as usize]);
        self.ns[to as usize] += ns;
        self.evidence[to as usize].merge(&evidence);
    }
}

impl LimitEvidence {
    /// Adds another stretch, or other sums.
    pub fn merge(&mut self, other: &LimitEvidence) {
        let times = self.times + other.times.max(1);
        let bytes = self.bytes + other.bytes;
        let unread_ns = self.unread_ns + other.unread_ns;
        if other.longest_ns > self.longest_ns {
            *self = *other;
        }
        self.times = times;
        self.bytes = bytes;
        self.unread_ns = unread_ns;
    }
}
