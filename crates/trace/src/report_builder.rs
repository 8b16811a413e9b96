//! Builds the report from an analysis.
//!
//! Connections are sorted by their users' wait; when there are too many, the slowest stay.

use crate::analysis::AnalysedCapture;
use crate::diagnosis::diagnose;
use crate::failure_tally::FailureTally;
use crate::ledger::{AnalysedConnection, MAX_REPORTED, keep_slowest_overall};
use crate::report::number::seconds;
use crate::report::{CaptureReport, ConnectionReport, SCHEMA, TraceReport};

/// Facts about the files beside their frames.
#[derive(Clone, Debug, Default)]
pub struct CaptureSource {
    /// Files, in the order read.
    pub files: Vec<String>,
    /// Packets that the capturing program reports as lost.
    pub drops: u64,
    /// The most bytes captured of a packet; 0: unlimited.
    pub snaplen: u32,
    /// The damage of a file.
    pub damage: Option<String>,
}

/// Connections with a full report at most: bounds its size.
const MAX_CONNECTIONS: usize = 20_000;

pub fn build_report(mut analysed: AnalysedCapture, source: CaptureSource) -> TraceReport {
    let mut tally = std::mem::take(&mut analysed.retired.tally);
    let mut failures = std::mem::take(&mut analysed.retired.failures);
    for AnalysedConnection { conversation, ledger } in &analysed.connections {
        tally.add_tally(&ledger.tally);
        if let Some(failure) = &ledger.failure {
            failures.add(failure, conversation, ledger.number);
        }
    }
    keep_slowest_overall(&mut analysed.connections, MAX_REPORTED);
    let connections = &mut analysed.connections;
    let mut reported: Vec<usize> = (0..connections.len()).collect();
    reported.sort_by_key(|at| {
        let ledger = &connections[*at].ledger;
        (ledger.failure.is_none(), std::cmp::Reverse(ledger.tally.total_ns))
    });
    reported.truncate(MAX_CONNECTIONS);
    reported.sort_unstable();
    let connections_total =
        connections.len() + usize::try_from(analysed.retired.connections).unwrap_or(usize::MAX);
    let connections_left_out = connections_total - reported.len();
    let one = |at: usize| {
        let mut failures = FailureTally::default();
        let AnalysedConnection { conversation, ledger } = &connections[at];
        if let Some(failure) = &ledger.failure {
            failures.add(failure, conversation, ledger.number);
        }
        let verdict = diagnose(&ledger.tally, failures.findings(1), connections.as_slice());
        let AnalysedConnection { conversation, ledger } = &mut connections[at];
        // Moved, not copied: the transactions are stored only once.
        let transactions = std::mem::take(&mut ledger.transactions);
        ConnectionReport::from_conversation(conversation, ledger, verdict, &transactions)
    };
    let reported = reported.into_iter().map(one).collect();
    TraceReport {
        schema: SCHEMA,
        capture: capture_report(&analysed, &source),
        files: source.files,
        connections_total,
        connections_left_out,
        transactions_total: tally.transactions,
        verdict: diagnose(
            &tally,
            failures.findings(connections_total as u64),
            analysed.connections.as_slice(),
        ),
        connections: reported,
    }
}

fn capture_report(analysed: &AnalysedCapture, source: &CaptureSource) -> CaptureReport {
    let facts = &analysed.facts;
    CaptureReport {
        frames: facts.frames,
        captured_bytes: facts.captured_bytes,
        tcp_packets: facts.tcp_packets,
        start_epoch_seconds: seconds(facts.first_ns),
        seconds: seconds(facts.last_ns),
        duplicates: facts.duplicates,
        drops: source.drops,
        snaplen: source.snaplen,
        filtered: facts.filtered,
        beyond_limit: facts.beyond_limit,
        unknown_link: facts.unknown_link,
        not_ip: facts.not_ip,
        not_tcp: facts.not_tcp,
        fragments: facts.fragments,
        broken: facts.broken,
        too_deep: facts.too_deep,
        backwards: facts.backwards,
        missing_bytes: facts.missing_bytes,
        missing_pieces: facts.missing_pieces,
        one_way_connections: facts.one_way_connections,
        unread: analysed.unread.report(),
        damage: source.damage.clone(),
    }
}
