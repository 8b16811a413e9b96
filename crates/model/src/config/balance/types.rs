//! The checked configuration of load balancing: the policy, the hash key, server priorities, and the weight
//! controller's inputs. `pick` and `weigh` make the decisions.

use serde::Serialize;
use std::time::Duration;

/// The load balancing policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BalancePolicy {
    /// Smooth weighted round-robin (default for `tcp`).
    RoundRobin,
    /// Power of two choices by requests in flight, weighted (default for `http`).
    LeastRequest,
    /// The fewest requests in flight of all servers, weighted.
    LeastConnections,
    /// Power of two choices by bytes per second, weighted.
    LeastBandwidth,
    /// Power of two choices by response time.
    Fastest,
    /// Power of two choices by reported load.
    LeastLoaded,
    /// Power of two choices by the product of response time and requests in flight.
    PeakEwma,
    /// Among a few probed servers, the fastest of those that are not unusually busy (Prequal).
    Prequal,
    /// Weighted random.
    Random,
    /// Maglev table over `hash-on` with this prime size.
    Maglev {
        /// Table size, prime; default 16,381.
        size: u32,
    },
    /// Maglev table that continues with the next entry while a server has more than its share in flight.
    BoundedHash {
        /// Table size, prime; default 16,381.
        size: u32,
        /// Limit of a server's requests in flight, percent of its share of all; default 125.
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
    /// The keyword in the file.
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

    /// Whether the policy uses the servers' response times.
    pub const fn uses_latency(self) -> bool {
        matches!(self, BalancePolicy::Fastest | BalancePolicy::PeakEwma | BalancePolicy::Prequal)
    }
}

/// The key for `maglev` and `bounded-hash`. A request without the key uses the client's address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashKey {
    #[default]
    Address,
    AddressPort,
    /// The request target, query included.
    Uri,
    /// The request target without the query.
    Path,
    /// The first value of this header; the name is compared case-insensitively.
    Header(String),
    /// The value of this cookie; the name is compared case-sensitively (RFC 6265 §4.1).
    Cookie(String),
    /// The raw value of this query parameter.
    Query(String),
    /// Addresses and ports of both ends, the same in both directions; packets alone.
    Symmetric,
    /// The source address of the frame; packets alone.
    SourceMac,
}

/// The priority of a server: work is sent to the lowest priority with enough capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Priority(u8);

impl Priority {
    /// Ranks are counted from 1; a lower number takes the work first.
    pub const FIRST: Priority = Priority(1);
    /// The highest number that can be configured.
    pub const MAX: u8 = 9;
    /// `backup = true`: used after all numbered priorities.
    pub const BACKUP: Priority = Priority(Priority::MAX + 1);
    /// `last-resort = true`: used only when no other server may get work.
    pub const LAST_RESORT: Priority = Priority(Priority::MAX + 2);

    pub fn new(number: u8) -> Option<Priority> {
        (1..=Self::MAX).contains(&number).then_some(Priority(number))
    }

    /// Text for messages: `priority 2`, `backup`, `last resort`.
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

/// The inputs of the weight controller, and how fast it changes weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct WeightControllerConfig {
    /// Influence of requests in flight, percent; default 50.
    pub active: u8,
    /// Influence of requests started in the last interval, percent; default 50.
    pub new: u8,
    /// Influence of the duration of health checks, percent; default 0.
    pub latency: u8,
    /// Influence of the load that servers report, percent; default 0. The four sum to 100.
    pub agent: u8,
    /// Interval between weight calculations; default 2 s.
    pub every: Duration,
    /// Weights are published only when they change by more than this share of their sum, percent; default 5.
    pub sensitivity: u8,
    /// Each step changes a weight by the part 100/`smoothing` of the difference; default 150.
    pub smoothing: u16,
    /// The largest weight; the smallest is 1, and an unburdened server has half of the largest. Default 20.
    pub bound: u16,
}
