//! A transaction in reports.

use model::limit::{Limit, TimeOwner};
use serde::Serialize;

use super::bands::{TimeLocation, TimeOwners};
use super::number::{megabits, seconds, share};
use crate::attribution::bands::TimeBands;
use crate::attribution::transaction::{
    ExchangeKind, TracedTransaction, TransferPhase, limit_owner,
};
use crate::event::ConnectionSide;

/// A request with its answer.
#[derive(Clone, Debug, Serialize)]
pub struct TransactionReport {
    /// `exchange`, `tls-handshake` or `answer-only`.
    pub kind: &'static str,
    /// Method and target, for HTTP.
    pub title: Option<String>,
    pub status: Option<u16>,
    /// Whether both messages were captured to their end.
    pub complete: bool,
    /// When its first packet passed.
    pub start_seconds: f64,
    /// The user's wait: setup, request, queue, server, response, lost, tail, latency and unknown.
    pub total_seconds: f64,
    /// Opening the connection, if this is its first transaction.
    pub setup_seconds: f64,
    pub request: PhaseReport,
    /// Time in a queue of the path, at the request's end.
    pub queue_seconds: f64,
    pub server_seconds: f64,
    pub response: Option<PhaseReport>,
    /// Time in a queue behind the capture, at the response's end.
    pub tail_seconds: f64,
    /// Between request and answer, while an answer that was probably lost before the capture was awaited.
    pub lost_seconds: f64,
    /// Round trips of the path.
    pub latency_seconds: f64,
    /// Time whose place the capture does not show.
    pub unknown_seconds: f64,
    /// The client's pause before it, which is no part of the total.
    pub pause_seconds: f64,
    /// Where the time went by.
    pub location: TimeLocation,
    pub owners: TimeOwners,
}

/// The transfer of a message.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseReport {
    /// From its first to its last packet.
    pub seconds: f64,
    pub packets: u64,
    pub bytes: u64,
    /// Number of its first packet.
    pub first_packet: u32,
    /// Number of its last packet.
    pub last_packet: u32,
    /// Most bytes in flight in the sender's view.
    pub max_in_flight: i64,
    /// The estimated size of the sender's buffer in bytes.
    pub cap_bytes: Option<i64>,
    /// Smallest effective window in bytes, where known.
    pub window_min: Option<i64>,
    /// Largest effective window in bytes, where known.
    pub window_max: Option<i64>,
    /// Rate between its first and last packet.
    pub realized_bandwidth_mbps: Option<f64>,
    /// The rate that the link or the window would allow, where known.
    pub ideal_bandwidth_mbps: Option<f64>,
    /// The limits, the longest first.
    pub causes: Vec<CauseReport>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CauseReport {
    pub code: Limit,
    pub owner: TimeOwner,
    pub seconds: f64,
    /// Share of the transfer.
    pub share: f64,
    /// Number of the packet before the longest such time.
    pub from_packet: u32,
    /// Number of the packet behind it.
    pub to_packet: u32,
}

impl TransactionReport {
    pub fn from_transaction(of: &TracedTransaction) -> TransactionReport {
        let round_trip_ns = of.near_ns.iter().sum();
        let phase =
            |side, phase: &TransferPhase| PhaseReport::from_phase(phase, side, round_trip_ns);
        let bands = TimeBands::from_transaction(of);
        TransactionReport {
            kind: match of.kind {
                ExchangeKind::Exchange => "exchange",
                ExchangeKind::TlsHandshake => "tls-handshake",
                ExchangeKind::AnswerOnly => "answer-only",
            },
            title: of.title.as_deref().map(str::to_owned),
            status: of.status,
            complete: of.complete,
            start_seconds: seconds(of.span().from_ns),
            total_seconds: seconds(of.total_ns()),
            setup_seconds: seconds(of.setup_ns),
            request: phase(ConnectionSide::Client, &of.request),
            queue_seconds: seconds(of.queue_ns),
            server_seconds: seconds(of.server_ns),
            response: of.response.as_ref().map(|response| phase(ConnectionSide::Server, response)),
            tail_seconds: seconds(of.tail_ns),
            lost_seconds: seconds(of.lost_ns),
            latency_seconds: seconds(of.latency_ns),
            unknown_seconds: seconds(of.unknown_ns),
            pause_seconds: seconds(of.pause_ns),
            location: TimeLocation::from(&bands),
            owners: TimeOwners::from(&bands),
        }
    }
}

impl PhaseReport {
    fn from_phase(
        phase: &TransferPhase,
        sender: ConnectionSide,
        round_trip_ns: i64,
    ) -> PhaseReport {
        let causes = phase.causes.iter().map(|cause| CauseReport {
            code: cause.limit,
            owner: limit_owner(cause.limit, sender),
            seconds: seconds(cause.ns),
            share: share(cause.ns, phase.ns),
            from_packet: cause.evidence.from,
            to_packet: cause.evidence.to,
        });
        PhaseReport {
            seconds: seconds(phase.to_ns - phase.from_ns),
            packets: phase.packets,
            bytes: phase.bytes,
            first_packet: phase.numbers.first,
            last_packet: phase.numbers.last,
            max_in_flight: phase.max_in_flight,
            cap_bytes: Some(phase.cap).filter(|cap| *cap > 0),
            window_min: phase.window.map(|window| window.smallest),
            window_max: phase.window.map(|window| window.largest),
            realized_bandwidth_mbps: phase.rate().map(megabits),
            ideal_bandwidth_mbps: phase.ideal_rate(round_trip_ns).map(megabits),
            causes: causes.collect(),
        }
    }
}
