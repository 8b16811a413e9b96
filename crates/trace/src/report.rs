//! The report of an analysis, as written to JSON; docs/explain.md explains each field.
//!
//! Plain data. Times are seconds; those of packets count from the capture's first frame.

use serde::Serialize;

pub use bands::{TimeLocation, TimeOwners};
pub use connection::{
    ConnectionReport, DirectionReport, EndReport, FlagReport, ScalingReport, WindowReport,
};
pub use failure::{FailureEndpoint, FailureEvidence, FailureFinding, FirstCause};
pub use finding::{BottleneckFinding, EvidenceReport, TimeDiagnosis};
pub use quic::{QuicConnectionReport, QuicEndReport, QuicReport};
pub use transaction::{CauseReport, PhaseReport, TransactionReport};

pub(crate) mod bands;
pub(crate) mod connection;
pub(crate) mod failure;
pub(crate) mod finding;
pub(crate) mod number;
pub(crate) mod quic;
pub(crate) mod transaction;

/// The schema's name and version.
pub const SCHEMA: &str = "steelyard.trace/1";

#[derive(Clone, Debug, Serialize)]
pub struct TraceReport {
    pub schema: &'static str,
    /// Files, in the order read.
    pub files: Vec<String>,
    /// Facts of the capture.
    pub capture: CaptureReport,
    /// How many connections there are.
    pub connections_total: usize,
    /// The number of connections that are not in `connections`.
    pub connections_left_out: usize,
    /// How many transactions there are.
    pub transactions_total: u64,
    /// Findings over all connections.
    pub verdict: TimeDiagnosis,
    pub connections: Vec<ConnectionReport>,
    pub quic: QuicReport,
}

/// Facts of a capture.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureReport {
    pub frames: u64,
    /// The captured bytes of these frames.
    pub captured_bytes: u64,
    /// TCP packets, copies included.
    pub tcp_packets: u64,
    /// Datagrams of connections of QUIC whose beginning was captured.
    pub quic_datagrams: u64,
    /// The first frame, seconds since the epoch.
    pub start_epoch_seconds: f64,
    /// From the first to the last frame.
    pub seconds: f64,
    /// Copies that only the capture made.
    pub duplicates: u64,
    /// Packets that the capturing program reports as lost.
    pub drops: u64,
    /// The most bytes captured of a packet; 0: unlimited.
    pub snaplen: u32,
    /// TCP packets that the filter left out.
    pub filtered: u64,
    /// TCP packets of connections beyond the limit.
    pub beyond_limit: u64,
    /// Frames of unknown links.
    pub unknown_link: u64,
    pub not_ip: u64,
    pub not_tcp: u64,
    pub fragments: u64,
    /// Frames that were cut or broken before TCP's header was complete.
    pub broken: u64,
    /// Frames tunnelled too deep.
    pub too_deep: u64,
    /// Frames with an earlier time than the frame before.
    pub backwards: u64,
    /// Bytes of TCP that passed, by their acknowledgements, and that the capture lacks.
    pub missing_bytes: i64,
    /// In how many pieces; each is one packet or several.
    pub missing_pieces: u64,
    /// Connections of which only one direction was captured; nothing is blamed on the other.
    pub one_way_connections: u64,
    /// Frames without TCP that could be read, by what they are.
    pub unread: Vec<UnreadReport>,
    /// The damage of the file, which was analysed up to there.
    pub damage: Option<String>,
}

/// Frames of one kind that were seen and not read.
#[derive(Clone, Debug, Serialize)]
pub struct UnreadReport {
    /// The kind of number: `link-type`, `ethernet-type` or `ip-protocol`.
    pub kind: &'static str,
    pub number: u16,
    pub name: String,
    pub frames: u64,
}

impl CaptureReport {
    /// Whether it has frames, and TCP and QUIC in none of them.
    pub fn is_unreadable(&self) -> bool {
        self.frames > 0 && self.tcp_packets == 0 && self.filtered == 0 && self.quic_datagrams == 0
    }

    /// What was seen instead of TCP, as text.
    pub fn describe_unread(&self) -> String {
        let all = self.unread.iter().map(|one| format!("{} of {}", one.frames, one.name));
        all.collect::<Vec<_>>().join(", ")
    }
}

impl TimeDiagnosis {
    /// Number of the connection that shows the first failure, or the most significant bottleneck best.
    pub fn shown(&self) -> Option<u32> {
        let failed = self.failures.iter().find(|failure| !failure.code.is_quic());
        let failed = failed.map(|failure| failure.evidence.connection);
        failed.or(self.most_significant.as_ref().map(|finding| finding.evidence.connection))
    }
}

impl TraceReport {
    /// Number of the connection whose users waited longest.
    pub fn slowest(&self) -> Option<u32> {
        let total =
            |connection: &&ConnectionReport| (connection.verdict.total_seconds * 1e9) as i64;
        self.connections.iter().max_by_key(total).map(|connection| connection.number)
    }
}
