//! Builds the report from an analysis.
//!
//! Connections are sorted by their users' wait; when there are too many, the slowest stay.

use crate::address;
use crate::analysis::AnalysedCapture;
use crate::diagnosis::diagnose;
use crate::failure_tally::FailureTally;
use crate::ledger::{AnalysedConnection, MAX_REPORTED, keep_slowest_overall};
use crate::quic::TracedQuicConnection;
use crate::report::number::seconds;
use crate::report::{
    CaptureReport, ConnectionReport, QuicConnectionReport, QuicEndReport, QuicReport, SCHEMA,
    TraceReport,
};

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
            failures.add(failure, conversation.ends, ledger.number);
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
            failures.add(failure, conversation.ends, ledger.number);
        }
        let verdict = diagnose(&ledger.tally, failures.findings(1), connections.as_slice());
        let AnalysedConnection { conversation, ledger } = &mut connections[at];
        // Moved, not copied: the transactions are stored only once.
        let transactions = std::mem::take(&mut ledger.transactions);
        ConnectionReport::from_conversation(conversation, ledger, verdict, &transactions)
    };
    let reported = reported.into_iter().map(one).collect();
    let mut all_failures = failures.findings(connections_total as u64);
    all_failures.extend(analysed.quic_failures.findings(u64::from(analysed.quic.begun)));
    all_failures.sort_by_key(|failure| std::cmp::Reverse(failure.connections));
    TraceReport {
        schema: SCHEMA,
        capture: capture_report(&analysed, &source),
        files: source.files,
        connections_total,
        connections_left_out,
        transactions_total: tally.transactions,
        verdict: diagnose(&tally, all_failures, analysed.connections.as_slice()),
        connections: reported,
        quic: quic_report(&analysed),
    }
}

fn quic_report(analysed: &AnalysedCapture) -> QuicReport {
    let one = |connection: &TracedQuicConnection| {
        let [client, server] = [0, 1].map(|at| QuicEndReport {
            address: address::ip(connection.ends[at].address).to_string(),
            port: connection.ends[at].port,
            datagrams: connection.datagrams[at],
            bytes: connection.bytes[at],
        });
        QuicConnectionReport {
            number: connection.number,
            client,
            server,
            version: connection.version,
            start_seconds: seconds(connection.begun_ns()),
            seconds: seconds(connection.last_ns() - connection.begun_ns()),
            handshake_seconds: connection.handshake_ns().map(seconds),
            handshake_server_seconds: connection.handshake_server_ns().map(seconds),
            handshake_client_seconds: connection.handshake_client_ns().map(seconds),
            rtt_s: connection.round_trip_ns().map(seconds),
            retried: connection.retried,
            early_data: connection.early_data,
            failure: connection.failure.as_ref().map(|failure| failure.code),
        }
    };
    QuicReport {
        datagrams: analysed.quic.datagrams,
        beyond_limit: analysed.quic.beyond_limit,
        connections_total: analysed.quic.begun,
        connections: analysed.quic.connections().iter().map(one).collect(),
    }
}

fn capture_report(analysed: &AnalysedCapture, source: &CaptureSource) -> CaptureReport {
    let facts = &analysed.facts;
    CaptureReport {
        frames: facts.frames,
        captured_bytes: facts.captured_bytes,
        tcp_packets: facts.tcp_packets,
        quic_datagrams: analysed.quic.datagrams,
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
