//! How work is shared out, as configured: the policy, what a hash is over, which servers stand back for others, and
//! what the weight controller uses. It decides nothing: `pick` and `weigh` do.

use serde::Serialize;
use std::time::Duration;

/// How a server is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BalancePolicy {
    /// Smooth weighted round-robin (default for `tcp`).
    RoundRobin,
    /// Power of two choices over exchanges in flight, by weight (default for `http`).
    LeastRequest,
    /// The fewest exchanges in flight of all, by weight.
    LeastConnections,
    /// The one of two that moves fewer bytes a second, by weight.
    LeastBandwidth,
    /// The one of two that answers sooner.
    Fastest,
    /// The one of two that says of itself that it is less loaded.
    LeastLoaded,
    /// The one of two with the smaller product of answer time and exchanges in flight.
    PeakEwma,
    /// Among a few, the soonest to answer of those that are not unusually busy.
    Prequal,
    /// Weighted random.
    Random,
    /// Maglev table over `hash-on`, of this prime size.
    Maglev {
        /// Table size, prime; default 16,381.
        size: u32,
    },
    /// The same table, left for the next entry where a server has more than its share in flight.
    BoundedHash {
        /// Table size, prime; default 16,381.
        size: u32,
        /// What a server may have in flight, percent of its share of all; default 125.
        load_factor: u16,
    },
    /// Maglev over the client's address masked to these prefix lengths.
    Source {
        /// IPv4 prefix length, default 32.
        mask4: u8,
        /// IPv6 prefix length, default 128.
        mask6: u8,
    },
}

impl BalancePolicy {
    /// As in the file.
    pub const fn name(self) -> &'static str {
        match self {
            BalancePolicy::RoundRobin => "round-robin",
            BalancePolicy::LeastRequest => "least-request",
            BalancePolicy::LeastConnections => "least-connections",
            BalancePolicy::LeastBandwidth => "least-bandwidth",
            BalancePolicy::Fastest => "fastest",
            BalancePolicy::LeastLoaded => "least-loaded",
            BalancePolicy::PeakEwma => "peak-ewma",
            BalancePolicy::Prequal => "prequal",
            BalancePolicy::Random => "random",
            BalancePolicy::Maglev { .. } => "maglev",
            BalancePolicy::BoundedHash { .. } => "bounded-hash",
            BalancePolicy::Source { .. } => "source",
        }
    }

    /// Whether it looks at how long servers take to answer.
    pub const fn uses_latency(self) -> bool {
        matches!(self, BalancePolicy::Fastest | BalancePolicy::PeakEwma | BalancePolicy::Prequal)
    }
}

/// What `maglev` and `bounded-hash` hash. Where a request lacks it, the client's address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashKey {
    /// The client's address.
    #[default]
    Address,
    /// The client's address and port.
    AddressPort,
    /// The request's target, query included.
    Uri,
    /// The request's target without the query.
    Path,
    /// The value of this header, the first if there are several; the name is compared without case.
    Header(String),
    /// The value of this cookie; the name is compared with case (RFC 6265 §4.1).
    Cookie(String),
    /// The value of this parameter of the query, as it is written.
    Query(String),
}

/// A server's rank: work goes to the lowest that has enough capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Priority(u8);

impl Priority {
    /// Ranks are counted from 1; a lower number takes the work first.
    pub const FIRST: Priority = Priority(1);
    /// The highest number that can be written.
    pub const MAX: u8 = 9;
    /// `backup = true`: behind every number.
    pub const BACKUP: Priority = Priority(Priority::MAX + 1);
    /// `last-resort = true`: only when no other server may take work.
    pub const LAST_RESORT: Priority = Priority(Priority::MAX + 2);

    pub fn new(number: u8) -> Option<Priority> {
        (1..=Self::MAX).contains(&number).then_some(Priority(number))
    }

    /// For people: `priority 2`, `backup`, `last resort`.
    pub fn describe(self) -> String {
        match self {
            Priority::BACKUP => "backup".to_owned(),
            Priority::LAST_RESORT => "last resort".to_owned(),
            Priority(number) => format!("priority {number}"),
        }
    }
}

impl Default for Priority {
    fn default() -> Self {
        Priority::FIRST
    }
}

/// What the weight controller makes weights of, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct WeightControllerConfig {
    /// Say of exchanges in flight, percent; default 50.
    pub active: u8,
    /// Say of exchanges begun in the last interval, percent; default 50.
    pub new: u8,
    /// Say of the time that probes take, percent; default 0.
    pub latency: u8,
    /// Say of the load that servers report, percent; default 0. The four make 100.
    pub agent: u8,
    /// Between two judgements; default 2 s.
    pub every: Duration,
    /// A change of the weights, in percent of their sum, that is not worth publishing: more is; default 5.
    pub sensitivity: u8,
    /// A new weight goes the part 100/`smoothing` of the way; default 150.
    pub smoothing: u16,
    /// The largest weight; the smallest is 1, an untroubled server has half of it. Default 20.
    pub bound: u16,
}
