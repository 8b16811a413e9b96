//! What a capture at the client shows of the transaction, as in `explain trace`.

use std::io::Read;

use trace::analysis::{Analysis, AnalysisSettings};
use trace::ingest::ingest_capture;
use trace::report::{BottleneckFinding, ConnectionReport, TraceReport};
use trace::report_builder::{self, CaptureSource};

use crate::study::context::StudyError;

/// The window field after the handshake, unscaled; 0: not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AdvertisedWindow {
    pub smallest: f64,
    pub largest: f64,
}

/// The transaction as seen in its packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransactionTrace {
    /// The round trip, seconds.
    pub round_trip: f64,
    /// Time to transfer the request, seconds.
    pub request: f64,
    pub request_packets: u64,
    /// The server's processing time, seconds.
    pub server: f64,
    /// Time to transfer the response, seconds.
    pub answer: f64,
    pub answer_mbit: f64,
    /// Largest number of response bytes in flight.
    pub in_flight: f64,
    /// What the balancer advertised.
    pub field: AdvertisedWindow,
    /// The window scale that the balancer announced.
    pub scale: Option<u8>,
    /// Time until the user has the response, seconds.
    pub total: f64,
    /// Findings, the most significant first.
    pub findings: Vec<CaseFinding>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseFinding {
    /// The phase: `request`, `server`, `response`, …
    pub phase: String,
    pub code: String,
    /// The flag of an inconsistency that explains the finding.
    pub flag: Option<String>,
    pub sentence: String,
    pub fix: String,
}

pub fn read_trace(name: &str, capture: impl Read) -> Result<TransactionTrace, StudyError> {
    let mut analysis = Analysis::new(AnalysisSettings::default());
    let mut source = CaptureSource::default();
    let unreadable = |error: &dyn std::fmt::Display| {
        StudyError::Nothing(format!("the capture of {name}: {error}"))
    };
    ingest_capture(&mut analysis, &mut source, name, capture, |_| ())
        .map_err(|error| unreadable(&error))?;
    let report = report_builder::build_report(analysis.finish(), source);
    from_report(&report).ok_or_else(|| unreadable(&"it holds no whole transaction"))
}

fn from_report(report: &TraceReport) -> Option<TransactionTrace> {
    let connection = report.connections.iter().max_by_key(|one| one.server.sent.unique_bytes)?;
    let slowest = connection.transactions.iter();
    let transaction = slowest.max_by(|a, b| a.total_seconds.total_cmp(&b.total_seconds))?;
    let answer = transaction.response.as_ref()?;
    let verdict = &connection.verdict;
    let findings = verdict.most_significant.iter().chain(&verdict.next).map(convert_finding);
    Some(TransactionTrace {
        round_trip: connection.rtt_s.unwrap_or_default(),
        request: transaction.request.seconds,
        request_packets: transaction.request.packets,
        server: transaction.server_seconds,
        answer: answer.seconds,
        answer_mbit: answer.realized_bandwidth_mbps.unwrap_or_default(),
        in_flight: answer.max_in_flight as f64,
        field: advertised_window(connection),
        scale: connection.server.window.scale.option,
        total: transaction.total_seconds,
        findings: findings.collect(),
    })
}

fn advertised_window(connection: &ConnectionReport) -> AdvertisedWindow {
    let window = &connection.server.window;
    let field = |raw: Option<u16>| raw.map_or(0.0, f64::from);
    AdvertisedWindow {
        smallest: field(window.raw_min),
        largest: field(window.raw_max.max(window.syn)),
    }
}

fn convert_finding(finding: &BottleneckFinding) -> CaseFinding {
    CaseFinding {
        phase: finding.phase.to_owned(),
        code: finding.code.code().to_owned(),
        flag: finding.flag.map(str::to_owned),
        sentence: finding.sentence.clone(),
        fix: finding.fix.clone(),
    }
}
